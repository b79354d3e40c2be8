"""Answers that were given before: kept by call, so that no two trials share one."""

import hashlib
import json
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.load import dumpd
from langchain_core.messages import AIMessage, BaseMessage, message_to_dict, messages_from_dict
from langgraph.cache.base import BaseCache

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.models.calls import Call

_log = logging.getLogger(__name__)

NAMESPACE = ("langgraph-reflexion", "answers")
"""Under which the answers are, in a cache that may hold other things, too."""

_OF_NO_MATTER = ("max_retries", "timeout", "request_timeout", "openai_api_key", "api_key")


class Answers:
    """A model's answers in a LangGraph cache.

    An answer is found again only by the same call (run seed, task, trial, which call) of the same model with the same
    prompt: a retry of a task is a new sample with a cache, too.

    Args:
        cache: Where they are kept.
        model: Whose they are.
    """

    def __init__(self, cache: BaseCache[Any], model: BaseChatModel) -> None:
        self._cache = cache
        self._model = _identity(model)

    async def find(
        self, messages: Sequence[BaseMessage], call: Call, tools: Sequence[dict[str, Any]]
    ) -> AIMessage | None:
        """The answer that was given to this call; None where there is none."""
        key = self._key(messages, call, tools)
        try:
            found = (await self._cache.aget([key])).get(key)
        except Exception:
            _log.warning("the cache of model answers cannot be read", exc_info=True)
            return None
        return cast(AIMessage, messages_from_dict([found])[0]) if found else None

    async def keep(
        self, messages: Sequence[BaseMessage], call: Call, tools: Sequence[dict[str, Any]], reply: AIMessage
    ) -> None:
        """Keep an answer. One that cannot be kept is only asked for again another time."""
        try:
            await self._cache.aset({self._key(messages, call, tools): (message_to_dict(reply), None)})
        except Exception:
            _log.warning("an answer of the model's could not be kept", exc_info=True)

    def _key(
        self, messages: Sequence[BaseMessage], call: Call, tools: Sequence[dict[str, Any]]
    ) -> tuple[tuple[str, ...], str]:
        prompt = [[m.type, m.content, getattr(m, "tool_calls", None)] for m in messages]
        text = json.dumps([self._model, prompt, call, tools], default=str)
        return NAMESPACE, hashlib.blake2b(text.encode(), digest_size=20).hexdigest()


def open_cache(path: Path | str) -> BaseCache[Any]:
    """A cache of model answers in an SQLite file, which several runs may use at once.

    Raises:
        ConfigurationError: the file cannot be made, or is something else.
    """
    import sqlite3

    from langgraph.cache.sqlite import SqliteCache

    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return SqliteCache(path=str(path))
    except (OSError, sqlite3.Error) as error:
        raise ConfigurationError(f"cannot keep model answers in {path}: {error}") from error


def _identity(model: BaseChatModel) -> Any:
    """What tells a model from others whose answers differ."""
    if not (hasattr(model, "is_lc_serializable") and model.is_lc_serializable()):
        return [type(model).__qualname__, getattr(model, "model_name", getattr(model, "model", ""))]
    made = cast(dict[str, Any], dumpd(model))
    settings = {name: value for name, value in made.get("kwargs", {}).items() if name not in _OF_NO_MATTER}
    return [made["id"], settings]
