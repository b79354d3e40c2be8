"""The cache of model replies, by call, so that no two trials share a reply."""

import hashlib
import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.load import dumpd
from langchain_core.messages import AIMessage, BaseMessage, message_to_dict, messages_from_dict
from langgraph.cache.base import BaseCache, FullKey
from langgraph.cache.sqlite import SqliteCache

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.models.calls import CallId

_IRRELEVANT = ("max_retries", "timeout", "request_timeout", "openai_api_key", "api_key")


class ReplyCache:
    """A model's replies in a LangGraph cache, or in a SQLite file, which several runs may share.

    The key of a reply is its `CallId`, the model and the prompt: a retry of a task is a new sample with a cache, too.

    Raises:
        ConfigurationError: the file cannot be created, or is not a database.
    """

    def __init__(self, cache: BaseCache[Any] | Path | str, model: BaseChatModel) -> None:
        self._cache = cache if isinstance(cache, BaseCache) else _open(Path(cache))
        made = cast(dict[str, Any], dumpd(model))
        # LangChain writes no settings of a user's class.
        settings = made.get("kwargs", {"name": getattr(model, "model_name", getattr(model, "model", ""))})
        self._model = made["id"], {name: value for name, value in settings.items() if name not in _IRRELEVANT}

    def key(self, messages: Sequence[BaseMessage], call: CallId, tools: Sequence[dict[str, Any]]) -> FullKey:
        """Return the key of the reply to a call."""
        prompt = [[m.type, m.content, getattr(m, "tool_calls", None)] for m in messages]
        text = json.dumps([self._model, prompt, call, tools], default=str)
        return ("langgraph-reflexion", "answers"), hashlib.blake2b(text.encode(), digest_size=20).hexdigest()

    async def find(self, key: FullKey) -> AIMessage | None:
        """Return the reply with this key, or None."""
        found = (await self._cache.aget([key])).get(key)
        return cast(AIMessage, messages_from_dict([found])[0]) if found else None

    async def keep(self, key: FullKey, reply: AIMessage) -> None:
        """Store a reply."""
        await self._cache.aset({key: (message_to_dict(reply), None)})


def _open(path: Path) -> BaseCache[Any]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return SqliteCache(path=str(path))
    except (OSError, sqlite3.Error) as error:
        raise ConfigurationError(f"cannot cache model replies in {path}: {error}") from error
