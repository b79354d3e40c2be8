"""How long a reply may be: a model that runs on blocks its server, and fills the next prompts."""

from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage

LIMITS: Mapping[str, int] = {"reflect": 512, "evaluate": 1024, "tests": 1024, "condense": 512, "lesson": 512}
"""Tokens of a reply by what is asked for. An environment says how long its actions are (`reply_tokens`).

Six tests with their comments take about 300 tokens, and the original code allows 1,024. A small model that does not
stop writes some 20 tokens a second on one core of a laptop, so that 4,096 took more than three minutes of each task.
"""

_FIELDS = ("max_tokens", "max_output_tokens", "num_predict")
"""The limit in LangChain's chat models: most of them, Google's, Ollama's."""

_CUT = {"length", "max_tokens", "max_output_tokens"}
"""The reasons by which servers say that a reply was cut off at its limit."""


class ReplyLimits(NamedTuple):
    """What limits a reply: fields of the model, and options of the call."""

    fields: dict[str, Any]
    options: dict[str, Any]


def limiting(model: BaseChatModel, tokens: int, *, overriding: bool = False) -> ReplyLimits | None:
    """Return what limits a model's replies; None where it has its own limit, or cannot have one.

    Args:
        model: The chat model.
        tokens: The limit.
        overriding: Whether it replaces the model's own, which may be no more than its client's default.
    """
    name = _field_of(model)
    if name is None:
        return None
    if getattr(model, name) is not None and not overriding:
        return None
    if not _is_compatible_server(model):
        return ReplyLimits({name: tokens}, {})
    # The integration sends `max_completion_tokens`, which few compatible servers know.
    body = dict(getattr(model, "extra_body", None) or {})
    body[name] = tokens
    return ReplyLimits({name: None}, {"extra_body": body})


def _field_of(model: BaseChatModel) -> str | None:
    """Return the name of the field that limits a model's replies."""
    for name in _FIELDS:
        if name in type(model).model_fields:
            return name
    return None


def _is_compatible_server(model: BaseChatModel) -> bool:
    """Return whether OpenAI's integration calls the chat completions of a server that is not OpenAI's."""
    if not type(model).__module__.startswith("langchain_openai"):
        return False
    address = str(getattr(model, "openai_api_base", None) or "")
    host = urlsplit(address).hostname
    # Without an address, the integration calls OpenAI.
    if host in (None, "api.openai.com"):
        return False
    # Responses have a field of their own for the limit, which the integration knows.
    return not getattr(model, "use_responses_api", None)


def is_cut(reply: AIMessage) -> bool:
    """Return whether a reply ends at its limit."""
    ended = reply.response_metadata
    reasons = [ended.get("finish_reason"), ended.get("stop_reason"), ended.get("done_reason")]
    # OpenAI's Responses.
    incomplete = ended.get("incomplete_details")
    if isinstance(incomplete, Mapping):
        reasons.append(incomplete.get("reason"))
    return any(str(reason).lower() in _CUT for reason in reasons)


def has_reasoned(reply: AIMessage) -> bool:
    """Return whether reasoning took a part of the limit: a cut reply may then be no answer.

    Clients that drop reasoning leave an empty text. A blank one was written by a model that runs on.
    """
    usage: Mapping[str, Any] = reply.usage_metadata or {}
    details = usage.get("output_token_details") or {}
    shown = reply.additional_kwargs.get("reasoning_content")
    return bool(shown or details.get("reasoning") or not reply.text)
