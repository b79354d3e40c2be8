"""Model calls: their ids, their replies, and their cost."""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, LLMResult

from langgraph_reflexion.errors import Fault
from langgraph_reflexion.models.replies import bounded, storable
from langgraph_reflexion.models.usage import NO_USAGE, Usage, add_usage
from langgraph_reflexion.support.text import sanitize

TASK = "reflexion_task"
"""Key of the task's id in the metadata of a call's run."""
TRIAL = "reflexion_trial"
"""Key of the trial's number there."""
NAME = "reflexion_call"
"""Key of the call's name there."""


class CallId(NamedTuple):
    """The place of a model call in a run."""

    run_seed: int
    task: str
    """The task's id."""
    trial: int
    """Counted from 1."""
    name: str
    """The call within the trial: "act 3", "reflect"."""

    @property
    def kind(self) -> str:
        """What is asked for: the first word of the name."""
        return self.name.split()[0]

    def seed(self, again: int = 0) -> int:
        """Return the call's seed, below 2**31, after `again` empty replies: a rerun repeats the run."""
        name = self.name
        if again:
            name = f"{name} again {again}"
        text = f"{self.run_seed}\n{self.task}\n{self.trial}\n{name}"
        # A task's id may have a lone surrogate, which cannot be encoded.
        digest = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=4).digest()
        # Servers take signed numbers of 32 bits.
        return int.from_bytes(digest, "big") >> 1

    @property
    def metadata(self) -> dict[str, str | int]:
        """The id for traces and callbacks, under the keys `TASK`, `TRIAL` and `NAME`."""
        return {TASK: self.task, TRIAL: self.trial, NAME: self.name}


@dataclass
class ModelCall:
    """A model call, as it was made.

    Attributes:
        id: Its place in the run.
        messages: The prompt that was sent last.
        tools: The tools that the model was offered, as schemas.
        reply: The reply to this prompt; None as long as there is none.
    """

    id: CallId
    messages: Sequence[BaseMessage]
    tools: Sequence[dict[str, Any]] = ()
    reply: AIMessage | None = None


LONGEST_NOTE = 300
"""Characters of a note on a fault."""


@dataclass
class Account:
    """The account of a node's model calls.

    Attributes:
        usage: Calls, tokens and cost.
        notes: Irregularities for the record, such as an option that the server refuses.
        calls: The calls, in the order in which they began.
    """

    usage: Usage = field(default_factory=lambda: NO_USAGE)
    notes: list[str] = field(default_factory=list)
    calls: list[ModelCall] = field(default_factory=list)
    replies: set[str] = field(default_factory=set)
    """The keys of the cached replies that it was charged for."""


_account: ContextVar[Account | None] = ContextVar("account", default=None)
"""The account of the node that is running; None outside of a node.

There, nothing is charged or noted, and that is not an error: evaluators, actors and clients may be called by hand,
such as in a test, where there is no trial whose record and whose budget the calls could belong to.
"""


@contextmanager
def open_account() -> Iterator[Account]:
    """Open the account that `charge` and `note` write to inside `with`; of two, the inner one."""
    account = Account()
    token = _account.set(account)
    try:
        yield account
    finally:
        _account.reset(token)


def charge(usage: Usage) -> None:
    """Charge a model call to the node that is running, at once: a call that ends as a fault may be paid for, too."""
    account = _account.get()
    if account is not None:
        account.usage = add_usage(account.usage, usage)


def was_charged_for(reply: str) -> bool:
    """Return whether the node that is running has paid for the cached reply with this key.

    A node that asks again after trouble finds the replies that it has paid for.
    """
    account = _account.get()
    return account is not None and reply in account.replies


def remember_charge(reply: str) -> None:
    """Remember that the node that is running has paid for the cached reply with this key."""
    account = _account.get()
    if account is not None:
        account.replies.add(reply)


def begin_call(call: CallId, messages: Sequence[BaseMessage], tools: Sequence[dict[str, Any]] = ()) -> ModelCall:
    """Enter a call in the account of the node that is running, and return it for its reply to be added."""
    begun = ModelCall(call, messages, tools)
    account = _account.get()
    if account is not None:
        account.calls.append(begun)
    return begun


def note(*texts: str) -> None:
    """Note irregularities for the record of the trial that is running, if one is."""
    account = _account.get()
    if account is not None:
        account.notes.extend(texts)


class CallsOf(BaseCallbackHandler):
    """A LangChain callback that enters the calls of a library in the account of the node that is running.

    Args:
        call: Their id.
    """

    run_inline = True  # in the node's context, which has the account

    def __init__(self, call: CallId) -> None:
        self._call = call
        self._begun: dict[UUID, ModelCall] = {}

    def on_chat_model_start(
        self, serialized: Any, messages: list[list[BaseMessage]], *, run_id: UUID, **more: Any
    ) -> None:
        tools = more.get("invocation_params", {}).get("tools") or ()
        self._begun[run_id] = begin_call(self._call, messages[0], tools)

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **more: Any) -> None:
        # Of one prompt there is one reply.
        generation = response.generations[0][0]
        if isinstance(generation, ChatGeneration) and isinstance(generation.message, AIMessage):
            self._begun[run_id].reply = storable(bounded(generation.message))


class Reply(NamedTuple):
    """A model's reply."""

    message: AIMessage
    prompt_budget: int | None = None
    """The characters that fit into a prompt; None if none was too long."""

    @property
    def text(self) -> str:
        """The text, stripped."""
        return self.message.text.strip()


def as_data(fault: Fault) -> str:
    """Return a fault's words for the state; raise it if it is permanent."""
    if fault.permanent:
        raise fault
    return sanitize(str(fault))
