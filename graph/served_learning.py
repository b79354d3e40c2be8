"""Learning over a LangGraph server: a graph that clients call with what a person says of an answer.

Whoever calls it is a stranger. The answer's thread is read through the server itself, in the name of the caller: a
thread that the caller may not read is not found. The lesson is the caller's, whoever the input names.
"""

import json
from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import asynccontextmanager
from typing import Annotated, Any, TypeVar, cast
from uuid import UUID

from httpx import HTTPStatusError
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langgraph.channels import EphemeralValue
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import get_runtime
from langgraph.types import StateSnapshot
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.schema import Checkpoint, ThreadState
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from typing_extensions import TypedDict  # pydantic makes schemas of these alone before Python 3.12

from langgraph_reflexion.agents.middleware import ReflexionMiddleware
from langgraph_reflexion.errors import ConfigurationError, Fault, explain
from langgraph_reflexion.graph.compiled import check_input
from langgraph_reflexion.graph.learning import (
    Found,
    Learning,
    Threads,
    ThreadsOfGraph,
    found_in_messages,
    found_in_thread,
    news_of,
    reflect_of,
    store_of,
    up_to,
)
from langgraph_reflexion.loop.context import ReflexionContext
from langgraph_reflexion.memory.records import MAX_CHARACTERS
from langgraph_reflexion.nodes.learn import Learn, Learned
from langgraph_reflexion.nodes.reflect import Reflect
from langgraph_reflexion.state import ReflexionState
from langgraph_reflexion.support.files import is_deeper
from langgraph_reflexion.support.sync import run_blocking

Answer = TypeVar("Answer")

MOST_MESSAGES = 1000
"""Messages that a client may send."""
MOST_CHARACTERS = 1_000_000
"""Characters that they may have as JSON, all together."""
DEEPEST = 50
"""Levels of lists and objects that they may have."""
LONGEST_ID = 200
"""Characters of an id."""

REFUSED = (400, 403, 404, 409, 422)
"""HTTP statuses with which the server says that a thread is not there, or is not the caller's."""

NEEDED = (
    "task",
    "trial",
    "trials",
    "trajectory",
    "episode",
    "evaluation",
    "reflections",
    "notes",
    "usage",
    "prompt_budget",
)
"""The keys of a state that is learned from."""


class FeedbackForm(BaseModel):
    """What a person says of an answer."""

    # No field is called `checkpoint_id`, which LangGraph reserves.

    model_config = ConfigDict(extra="forbid", strict=True)

    thread_id: str | None = Field(None, max_length=LONGEST_ID, description="The thread of the answer.")
    message_id: str | None = Field(
        None, max_length=LONGEST_ID, description="The message that is the answer; the last one unless given."
    )
    checkpoint: str | None = Field(
        None,
        max_length=LONGEST_ID,
        description="The id of the checkpoint at its end, in place of a message.",
    )
    run_id: str | None = Field(
        None, max_length=LONGEST_ID, description="The run that gave the answer, in place of a message."
    )
    messages: list[Any] | None = Field(
        None, description="A conversation that ends with the answer, in place of a thread."
    )
    success: bool | None = Field(
        None, description="Whether the answer was right; the evaluator's verdict unless given."
    )
    words: str = Field("", max_length=MAX_CHARACTERS, description="What the person said of it.")

    def __init__(self, **given: Any) -> None:
        # LangGraph makes the form of a client's input: only here can an error be put into words that name the field.
        try:
            super().__init__(**given)
        except ValidationError as error:
            raise ConfigurationError(explain(error, "field", model=FeedbackForm)) from error


class _Output(TypedDict):
    learned: Learned


class _State(_Output):
    """The fields of the form, each for one step: a later call on the same thread begins with an empty form."""

    thread_id: Annotated[str | None, EphemeralValue]
    message_id: Annotated[str | None, EphemeralValue]
    checkpoint: Annotated[str | None, EphemeralValue]
    run_id: Annotated[str | None, EphemeralValue]
    messages: Annotated[list[Any] | None, EphemeralValue]
    success: Annotated[bool | None, EphemeralValue]
    words: Annotated[str, EphemeralValue]


class ServedLearning(CompiledStateGraph[Any, Any, Any, Any]):
    """A compiled graph that refuses unknown fields of its input, which LangGraph would ignore."""

    def stream(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> Iterator[Any]:
        check_input(FeedbackForm, input)
        return super().stream(input, config, **options)

    def astream(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> AsyncIterator[Any]:
        check_input(FeedbackForm, input)
        return super().astream(input, config, **options)


def learning_graph(graph: Learning) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Return a graph that learns from an answer of another one after the fact, to be served beside it.

    Its input has the fields of `FeedbackForm`: `thread_id` with `message_id`, `checkpoint` or `run_id`, or else
    `messages`; `success` and `words`. Its output is `learned`, as `learn_from` returns it. On a LangGraph server the
    thread is read in the name of the client, and the lesson is that of the user who is logged in.

    Args:
        graph: The compiled graph whose answers are learned from, with `Lessons`; or the `ReflexionMiddleware` of an
            agent on the same server.

    Raises:
        ConfigurationError: it is not such a graph.
    """
    reflect = reflect_of(graph)

    async def learn(given: FeedbackForm, config: RunnableConfig) -> dict[str, Any]:
        found = await _found(graph, reflect, given, config)
        news = news_of(reflect, found, given.success, given.words)
        # The lesson's source is the answer's thread, and not that of this run.
        about = _with(config, thread_id=given.thread_id or "")
        return {"learned": await Learn(reflect)(news, about)}

    def blocking(given: FeedbackForm, config: RunnableConfig) -> dict[str, Any]:
        return run_blocking(learn(given, config))

    builder = StateGraph(_State, input_schema=FeedbackForm, output_schema=_Output, context_schema=ReflexionContext)
    # With both functions, as LangGraph refuses a coroutine function under `invoke`.
    node: Any = RunnableLambda(blocking, afunc=learn, name="learn")
    builder.add_node("learn", node, input_schema=FeedbackForm)
    builder.add_edge(START, "learn")
    builder.add_edge("learn", END)
    compiled = builder.compile(store=store_of(graph), name="learn_from")
    # As LangGraph's own `copy` makes another graph of the same parts.
    return ServedLearning(**vars(compiled))


def _with(config: RunnableConfig, **changes: Any) -> RunnableConfig:
    configurable = dict(config.get("configurable", {}))
    configurable.update(changes)
    changed = config.copy()
    changed["configurable"] = configurable
    return changed


async def _found(graph: Learning, reflect: Reflect, given: FeedbackForm, config: RunnableConfig) -> Found:
    """Return what is known of the answer that a client names.

    Raises:
        ConfigurationError: there is no such answer, or the client may not read it.
    """
    ways = {"message_id": given.message_id, "checkpoint": given.checkpoint, "run_id": given.run_id}
    chosen = [name for name, value in ways.items() if value is not None]
    if len(chosen) > 1:
        raise ConfigurationError(f"learn_from: name the answer by one of {', '.join(chosen)}")
    if given.messages is not None:
        if given.thread_id is not None or chosen:
            raise ConfigurationError("learn_from: give thread_id or messages, and not both")
        check_size(given.messages)
        return found_in_messages(reflect, given.messages, "messages")
    if given.thread_id is None:
        raise ConfigurationError("learn_from: name the answer by thread_id, or give messages")
    # A config of its own, as that of this run leads to the checkpoints of this run.
    named = {"thread_id": given.thread_id, "checkpoint_id": given.checkpoint}
    thread = cast(RunnableConfig, {"configurable": named})
    async with _threads(graph) as threads:
        if isinstance(graph, ReflexionMiddleware):
            return await _found_in_talk(reflect, threads, given, thread)
        answer = _with(thread, message_id=given.message_id, run_id=given.run_id)
        found = await found_in_thread(reflect, threads, answer)
    # Any graph of the server may have played the thread that the client names.
    missing = [key for key in NEEDED if key not in found.state]
    if missing:
        raise ConfigurationError(
            f"learn_from: thread {given.thread_id!r} was not played by this graph: its state has no {missing[0]}"
        )
    return found


async def _found_in_talk(reflect: Reflect, threads: Threads, given: FeedbackForm, thread: RunnableConfig) -> Found:
    """Return what is known of an answer of an agent with the middleware, whose thread has the conversation alone."""
    if given.run_id is not None:
        raise ConfigurationError("learn_from: the thread of a middleware has no run_id: give the answer's message_id")
    snapshot = await threads.state(thread)
    said = snapshot.values.get("messages") or []
    if given.message_id is not None:
        said = up_to(said, given.message_id)
    return found_in_messages(reflect, said, f"thread {given.thread_id!r}")


def check_size(messages: list[Any]) -> None:
    """Refuse messages from a stranger that nobody has said.

    Raises:
        ConfigurationError: they are too large, or nested too deeply.
    """
    if len(messages) > MOST_MESSAGES:
        raise ConfigurationError(f"learn_from: messages has {len(messages):,} of them: at most {MOST_MESSAGES:,}")
    # Before the size is taken: `json.dumps` fails on data that is nested too deeply.
    if is_deeper(messages, DEEPEST):
        raise ConfigurationError(f"learn_from: messages is nested more than {DEEPEST} levels deep")
    size = len(json.dumps(messages, default=str))
    if size > MOST_CHARACTERS:
        raise ConfigurationError(
            f"learn_from: messages has {size:,} characters: at most {MOST_CHARACTERS:,} are learned from"
        )


@asynccontextmanager
async def _threads(graph: Learning) -> AsyncIterator[Threads]:
    """Open the threads that an answer may be in: the server's, or the graph's own where there is no server.

    Raises:
        ConfigurationError: there are none.
    """
    if get_runtime().server_info is not None:
        # The client inside the server, whose requests are those of the user of this run. Without `api_key=None`, it
        # would send a key that it finds in the environment, which is the host's.
        async with get_client(api_key=None) as client:
            yield _ThreadsOfServer(client)
        return
    if isinstance(graph, ReflexionMiddleware):
        raise ConfigurationError(
            "learn_from: a middleware keeps no thread outside of a LangGraph server; give messages"
        )
    yield ThreadsOfGraph(graph)


_STATE: TypeAdapter[ReflexionState] = TypeAdapter(ReflexionState)


class _ThreadsOfServer:
    """The threads of a LangGraph server that the user of this run may read."""

    def __init__(self, client: LangGraphClient) -> None:
        self._client = client

    async def state(self, config: RunnableConfig) -> StateSnapshot:
        """Return the newest state of a thread, or that of `checkpoint_id`.

        Raises:
            ConfigurationError: there is none, or it is not the user's.
        """
        named = config.get("configurable", {})
        thread = named["thread_id"]
        checkpoint = named.get("checkpoint_id")
        not_found = f"learn_from: there is no thread {thread!r}"
        at: Checkpoint | None = None
        if checkpoint is not None:
            not_found = f"{not_found} with a checkpoint {checkpoint!r}"
            name = _uuid(checkpoint, not_found)
            # The server takes no null for a map.
            at = Checkpoint(thread_id=thread, checkpoint_ns="", checkpoint_id=name, checkpoint_map={})
        read = self._client.threads.get_state(_uuid(thread, not_found), checkpoint=at)
        served = await _asked(read, not_found)
        return _snapshot(served, thread)

    async def history(self, config: RunnableConfig) -> AsyncIterator[StateSnapshot]:
        """Yield the newest state of a thread, the one before it, and so on: of a forked thread, those of this branch.

        Raises:
            ConfigurationError: there is none, or it is not the user's.
        """
        # State by state: the server's list of them, if it is to begin anywhere but at the newest, is an error.
        snapshot = await self.state(config)
        yield snapshot
        while snapshot.parent_config is not None:
            snapshot = await self.state(snapshot.parent_config)
            yield snapshot


def _uuid(name: str, not_found: str) -> str:
    """Return the id of a thread or a checkpoint, which is part of the path of a request.

    Raises:
        ConfigurationError: nothing on the server has such an id.
    """
    try:
        return str(UUID(name))
    except ValueError:
        raise ConfigurationError(not_found) from None


async def _asked(request: Awaitable[Answer], not_found: str) -> Answer:
    """Return the server's answer to a request of the user.

    Raises:
        ConfigurationError: it is not there, or not the user's: in the same words, which do not tell which.
        Fault: the server failed.
    """
    try:
        return await request
    except HTTPStatusError as error:
        status = error.response.status_code
        if status in REFUSED:
            raise ConfigurationError(not_found) from None
        raise Fault(f"learn_from: the server could not read the thread: status {status}") from error


def _snapshot(served: ThreadState, thread: str) -> StateSnapshot:
    """Return a state as a graph returns it, with messages in place of their JSON.

    Raises:
        ConfigurationError: it is not the state of a graph of this package, or somebody has edited it.
    """
    try:
        values = _STATE.validate_python(served["values"] or {})
    except ValidationError as error:
        raise ConfigurationError(
            f"learn_from: the state of thread {thread!r} cannot be read: {explain(error)}"
        ) from error
    before: RunnableConfig | None = None
    if served["parent_checkpoint"]:
        before = {"configurable": dict(served["parent_checkpoint"])}
    return StateSnapshot(
        values=values,
        next=tuple(served["next"]),
        config={"configurable": dict(served["checkpoint"] or {})},
        metadata=cast(Any, served["metadata"]),
        created_at=served["created_at"],
        parent_config=before,
        # As JSON: of these it counts only whether there are any.
        tasks=cast(Any, tuple(served["tasks"])),
        interrupts=(),
    )
