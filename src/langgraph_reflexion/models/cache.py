"""The cache of model replies, by call, so that no two trials share a reply."""

import hashlib
import json
import math
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from langchain_core.language_models import BaseChatModel
from langchain_core.load import dumpd
from langchain_core.messages import AIMessage, BaseMessage, message_to_dict, messages_from_dict
from langchain_core.runnables import RunnableConfig
from langgraph.cache.base import BaseCache, FullKey
from langgraph.cache.sqlite import SqliteCache

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.models.calls import CallId, note
from langgraph_reflexion.models.usage import Usage, out_of_cache
from langgraph_reflexion.support.serializer import StrictSerializer

REMOVE = "someone else wrote it; remove the file, or give another one"
"""What to do about a file with something else than replies in it."""

_NAMESPACE = ("langgraph-reflexion", "answers")

# No reply depends on these: with another key or timeout, the replies are found again.
_IRRELEVANT = ("max_retries", "timeout", "request_timeout", "openai_api_key", "api_key")


class CachedReply(NamedTuple):
    """A reply out of a cache."""

    reply: AIMessage
    usage: Usage
    """What the reply cost, if the step that now finds it has paid for it: that step was killed before its checkpoint
    could record the cost, and begins again. Otherwise another step has paid, and the reply is free."""


class ReplyCache:
    """A model's replies in a LangGraph cache, or in a SQLite file, which several runs may share.

    The key of a reply is its `CallId`, the model, the prompt and the tools. Each trial has ids of its own, so that a
    retry of a task never gets the replies of the trial before.
    A file is read strictly: whoever can write to it can choose the model's replies, and can run nothing.

    Raises:
        ConfigurationError: the file cannot be created, or is not a database.
    """

    def __init__(self, cache: BaseCache[Any] | Path | str, model: BaseChatModel) -> None:
        if isinstance(cache, BaseCache):
            self._cache = cache
            self._name = f"the cached replies in {type(cache).__name__}"
        else:
            path = Path(cache)
            self._cache = _open(path)
            self._name = _name_of(path)
        self._model = _identity(model)

    def key(self, messages: Sequence[BaseMessage], call: CallId, tools: Sequence[dict[str, Any]]) -> FullKey:
        """Return the key of a reply: it depends on the model, the prompt, the call and the tools."""
        prompt = []
        for message in messages:
            calls = getattr(message, "tool_calls", None)
            # Not the whole message: LangChain gives it another id in each run.
            prompt.append([message.type, message.content, calls])
        # A setting of a user's class may be of any type, also of one that JSON lacks.
        text = json.dumps([self._model, prompt, call, tools], default=str)
        digest = hashlib.blake2b(text.encode(), digest_size=20).hexdigest()
        return _NAMESPACE, digest

    async def find(self, key: FullKey, config: RunnableConfig) -> CachedReply | None:
        """Return the reply with this key, or None.

        Raises:
            ConfigurationError: what is stored is not a reply.
        """
        stored = await self._cache.aget([key])
        if key not in stored:
            return None
        found: Any = stored[key]
        try:
            [reply] = messages_from_dict([found])
            step = found["step"]
            paid = _usage_in(found["paid"])
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise ConfigurationError(f"{self._name} hold a value that is not a reply: {REMOVE}") from error
        if not isinstance(reply, AIMessage):
            raise ConfigurationError(f"{self._name} hold a message that is not a reply: {REMOVE}")
        if step is not None and step == _step(config):
            return CachedReply(reply, paid)
        # Another step has paid for it, and has recorded that.
        return CachedReply(reply, out_of_cache(paid))

    async def keep(self, key: FullKey, reply: AIMessage, paid: Usage, config: RunnableConfig) -> None:
        """Store a reply, what it has cost, and the step that has paid for it.

        If SQLite cannot store it (the disk is full, the file is locked), only a note is left.
        """
        stored = message_to_dict(reply)
        stored["paid"] = paid
        stored["step"] = _step(config)
        never_expires = None
        try:
            await self._cache.aset({key: (stored, never_expires)})
        except sqlite3.Error as error:
            note(f"a reply could not be cached: {error}")


def _identity(model: BaseChatModel) -> tuple[Any, dict[str, Any]]:
    """Return a model's class and its settings, as far as a reply depends on them."""
    # LangChain writes the names of secrets, and not the secrets.
    dumped: dict[str, Any] = dumpd(model)
    if "kwargs" in dumped:
        settings = dumped["kwargs"]
    else:
        # LangChain writes no settings of a user's class.
        settings = {"name": getattr(model, "model_name", getattr(model, "model", ""))}
    relevant = {name: value for name, value in settings.items() if name not in _IRRELEVANT}
    return dumped["id"], relevant


def _usage_in(stored: Any) -> Usage:
    """Return the usage that is stored with a reply.

    Raises:
        KeyError, TypeError, ValueError, OverflowError: it is not one.
    """
    paid = Usage(
        llm_calls=int(stored["llm_calls"]),
        cached_calls=int(stored["cached_calls"]),
        input_tokens=int(stored["input_tokens"]),
        output_tokens=int(stored["output_tokens"]),
        cost=float(stored["cost"]),
    )
    if "reused_input_tokens" in stored:
        paid["reused_input_tokens"] = int(stored["reused_input_tokens"])
        paid["reused_output_tokens"] = int(stored["reused_output_tokens"])
    amounts: list[Any] = list(paid.values())
    # `nan` is neither less nor more than any number.
    if not all(0 <= amount < math.inf for amount in amounts):
        raise ValueError("not an amount")
    return paid


def _step(config: RunnableConfig) -> Any:
    """Return the id of the step of the graph, which is the same only if the step begins again from its checkpoint."""
    return config.get("metadata", {}).get("langgraph_checkpoint_ns")


def _name_of(path: Path) -> str:
    return f"the cached replies in {path}"


def _open(path: Path) -> BaseCache[Any]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return SqliteCache(path=str(path), serde=StrictSerializer(_name_of(path), REMOVE))
    except (OSError, sqlite3.Error) as error:
        raise ConfigurationError(f"cannot cache model replies in {path}: {error}") from error
