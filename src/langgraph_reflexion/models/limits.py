"""How long a reply may be: a model that runs on blocks its server, and fills the next prompts."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage

LIMITS: Mapping[str, int] = {"reflect": 512, "evaluate": 1024, "tests": 4096, "condense": 512, "lesson": 512}
"""Tokens of a reply by what is asked for. An environment says how long its actions are (`reply_tokens`)."""

_FIELDS = ("max_tokens", "max_output_tokens", "num_predict")
"""The limit in LangChain's chat models: most of them, Google's, Ollama's."""

_CUT = {"length", "max_tokens", "max_output_tokens"}
"""The reasons by which servers say that a reply was cut off at its limit."""


def limiting(model: BaseChatModel, tokens: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the model's fields and the call's options that limit a reply; none where the model has its own limit.

    Args:
        model: The chat model.
        tokens: The limit.
    """
    name = next((name for name in _FIELDS if name in type(model).model_fields), None)
    if name is None or getattr(model, name) is not None:
        return {}, {}
    host = urlsplit(str(getattr(model, "openai_api_base", None) or "")).hostname
    if type(model).__module__.startswith("langchain_openai") and host not in (None, "api.openai.com"):
        # The integration sends `max_completion_tokens`, which few compatible servers know.
        return {}, {"extra_body": {**(getattr(model, "extra_body", None) or {}), name: tokens}}
    return {name: tokens}, {}


def is_cut(reply: AIMessage) -> bool:
    """Return whether a reply ends at its limit."""
    ended = reply.response_metadata
    reasons = [ended.get(key) for key in ("finish_reason", "stop_reason", "done_reason")]
    incomplete = ended.get("incomplete_details")
    reasons += [incomplete.get("reason")] if isinstance(incomplete, Mapping) else []
    return any(str(reason).lower() in _CUT for reason in reasons)


def has_reasoned(reply: AIMessage) -> bool:
    """Return whether reasoning took a part of the limit: a cut reply may then be no answer."""
    usage: Mapping[str, Any] = reply.usage_metadata or {}
    details = usage.get("output_token_details") or {}
    shown = reply.additional_kwargs.get("reasoning_content")
    return bool(shown or details.get("reasoning") or not reply.text.strip())
