"""The cache of model replies, by call, so that no two trials share a reply."""

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
from langgraph_reflexion.models.calls import CallId

_log = logging.getLogger(__name__)

NAMESPACE = ("langgraph-reflexion", "answers")
"""The namespace of replies in a LangGraph cache."""

_IRRELEVANT = ("max_retries", "timeout", "request_timeout", "openai_api_key", "api_key")


class ReplyCache:
    """A model's replies in a LangGraph cache.

    The key of a reply is its `CallId`, the model and the prompt: a retry of a task is a new sample with a cache, too.

    Args:
        cache: The cache.
        model: The model.
    """

    def __init__(self, cache: BaseCache[Any], model: BaseChatModel) -> None:
        self._cache = cache
        self._model = _identity(model)

    async def find(
        self, messages: Sequence[BaseMessage], call: CallId, tools: Sequence[dict[str, Any]]
    ) -> AIMessage | None:
        """Return the reply to this call, or None."""
        key = self._key(messages, call, tools)
        try:
            found = (await self._cache.aget([key])).get(key)
        except Exception:
            _log.warning("the cache of model replies cannot be read", exc_info=True)
            return None
        return cast(AIMessage, messages_from_dict([found])[0]) if found else None

    async def keep(
        self, messages: Sequence[BaseMessage], call: CallId, tools: Sequence[dict[str, Any]], reply: AIMessage
    ) -> None:
        """Store a reply. A failure is logged only, as it costs one more call in another run."""
        try:
            await self._cache.aset({self._key(messages, call, tools): (message_to_dict(reply), None)})
        except Exception:
            _log.warning("a model reply could not be cached", exc_info=True)

    def _key(
        self, messages: Sequence[BaseMessage], call: CallId, tools: Sequence[dict[str, Any]]
    ) -> tuple[tuple[str, ...], str]:
        prompt = [[m.type, m.content, getattr(m, "tool_calls", None)] for m in messages]
        text = json.dumps([self._model, prompt, call, tools], default=str)
        return NAMESPACE, hashlib.blake2b(text.encode(), digest_size=20).hexdigest()


def open_cache(path: Path | str) -> BaseCache[Any]:
    """Open a cache of model replies in a SQLite file, which several runs may share.

    Raises:
        ConfigurationError: the file cannot be created, or is no database.
    """
    import sqlite3

    from langgraph.cache.sqlite import SqliteCache

    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return SqliteCache(path=str(path))
    except (OSError, sqlite3.Error) as error:
        raise ConfigurationError(f"cannot cache model replies in {path}: {error}") from error


def _identity(model: BaseChatModel) -> Any:
    """Return the class and the settings on which a model's replies depend."""
    if not (hasattr(model, "is_lc_serializable") and model.is_lc_serializable()):
        return [type(model).__qualname__, getattr(model, "model_name", getattr(model, "model", ""))]
    made = cast(dict[str, Any], dumpd(model))
    settings = {name: value for name, value in made.get("kwargs", {}).items() if name not in _IRRELEVANT}
    return [made["id"], settings]
