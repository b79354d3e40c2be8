"""Learning after the fact: from a thread or a trace that has ended, with a person's words if there are any."""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, cast

from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph
from langgraph.store.base import BaseStore
from langgraph.types import StateSnapshot

from langgraph_reflexion.agents.middleware import ReflexionMiddleware
from langgraph_reflexion.agents.transcript import as_message, is_cut_off, is_message, result_of, steps_of
from langgraph_reflexion.agents.world import AgentEnvironment
from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.graph.reflexion import ReflexionGraph
from langgraph_reflexion.loop.episodes import new_episode
from langgraph_reflexion.nodes.learn import LateNews, Learn, Learned, verdict_of
from langgraph_reflexion.nodes.learning import learning_node
from langgraph_reflexion.nodes.reflect import Reflect
from langgraph_reflexion.state import Attempt, Evaluation, ReflexionState
from langgraph_reflexion.support.copies import digest_of
from langgraph_reflexion.support.sync import run_blocking, to_thread
from langgraph_reflexion.support.text import call_text

Learning = CompiledStateGraph[Any, Any, Any, Any] | ReflexionMiddleware
"""What learns: a compiled graph of `create_reflexion`, or the middleware of an agent."""

NOT_SAID = "say whether the answer was right (success=True or False): {}"
NO_CHECKPOINTER = (
    "learn_from reads the thread of an answer, and this graph has no checkpointer: "
    "create_reflexion(...).compile(checkpointer=...), or pass messages="
)
UNTRUSTED = "the evaluator's criteria came with the task, and its verdicts teach nothing"


def learn_from(
    graph: Learning,
    config: RunnableConfig | None = None,
    *,
    messages: Sequence[Any] | None = None,
    success: bool | None = None,
    words: str = "",
    store: BaseStore | None = None,
) -> Learned:
    """Learn from an answer after the fact: write a lesson for later tasks, and correct the numbers of those shown.

    The reflection is on the trajectory of that very answer, even if a later trial was worse, or the conversation has
    gone on since. If the checkpointer has lost it, the lesson is learned from question, answer and words, and its
    source says so. The thread itself stays as it is. Learning from the same news twice changes nothing.

    Args:
        graph: A compiled graph with `Lessons`, whose model writes the lesson, or a `ReflexionMiddleware` with
            `messages`.
        config: The config of the thread, with the `user_id` whose lesson it is. If the thread has several answers,
            the last one is meant, unless `configurable` names one by `checkpoint_id`, by `message_id` (the answer's
            message) or by `run_id`.
        messages: A conversation from anywhere in place of a thread, which ends with the answer.
        success: The late verdict; that of the evaluator unless given.
        words: What a person said of the answer.
        store: The store of the lessons; that of the graph unless given.

    Raises:
        ConfigurationError: there is no such answer, no verdict, no store, or the graph has no lessons.
        Fault: the model or the store failed; call again.
    """
    return run_blocking(alearn_from(graph, config, messages=messages, success=success, words=words, store=store))


async def alearn_from(
    graph: Learning,
    config: RunnableConfig | None = None,
    *,
    messages: Sequence[Any] | None = None,
    success: bool | None = None,
    words: str = "",
    store: BaseStore | None = None,
) -> Learned:
    """Do the same as `learn_from`, asynchronously."""
    config = config or {}
    reflect = reflect_of(graph)
    if messages is not None:
        found = found_in_messages(reflect, messages, "messages=")
    elif isinstance(graph, ReflexionMiddleware):
        raise ConfigurationError(
            "learn_from: a middleware keeps no trial; pass messages=agent.get_state(config).values['messages']"
        )
    else:
        found = await found_in_thread(reflect, ThreadsOfGraph(graph), config)
    news = news_of(reflect, found, success, words)
    learning = learning_node(Learn(reflect), store or store_of(graph))
    # The config does not run the thread: the lesson's source names it.
    done = await learning.ainvoke({"news": news}, config)
    return cast(Learned, done["learned"])


class Found(NamedTuple):
    """What is known of an answer."""

    state: ReflexionState
    partial: bool
    """Whether the trajectory is gone."""
    has_lessons: bool
    """Whether it is known which lessons the trial was shown, so that their numbers can be corrected."""


class Threads(Protocol):
    """Where the states of threads are read."""

    async def state(self, config: RunnableConfig) -> StateSnapshot:
        """Return the newest state of a thread, or that of `checkpoint_id`."""
        ...

    def history(self, config: RunnableConfig) -> AsyncIterator[StateSnapshot]:
        """Yield the states of a thread, the newest first."""
        ...


@dataclass(frozen=True)
class ThreadsOfGraph:
    """The threads in a graph's own checkpointer."""

    graph: CompiledStateGraph[Any, Any, Any, Any]

    async def state(self, config: RunnableConfig) -> StateSnapshot:
        """Return the newest state of a thread, or that of `checkpoint_id`."""
        self._expect_checkpointer()
        try:
            return await self.graph.aget_state(config)
        except NotImplementedError:
            # A checkpointer without coroutines, such as SqliteSaver.
            return await to_thread(self.graph.get_state, config)

    async def history(self, config: RunnableConfig) -> AsyncIterator[StateSnapshot]:
        """Yield the states of a thread, the newest first."""
        self._expect_checkpointer()
        try:
            async for snapshot in self.graph.aget_state_history(config):
                yield snapshot
            return
        except NotImplementedError:
            # A checkpointer without coroutines raises it before the first state.
            pass

        def read() -> list[StateSnapshot]:
            return list(self.graph.get_state_history(config))

        for snapshot in await to_thread(read):
            yield snapshot

    def _expect_checkpointer(self) -> None:
        if not self.graph.checkpointer:
            raise ConfigurationError(NO_CHECKPOINTER)


def reflect_of(graph: Learning) -> Reflect:
    """Return the node that reflects.

    Raises:
        ConfigurationError: it is not such a graph, or its node is another.
    """
    if isinstance(graph, ReflexionMiddleware):
        return graph.reflect
    builder = getattr(graph, "builder", None)
    if not isinstance(builder, ReflexionGraph):
        raise ConfigurationError(
            f"learn_from needs a compiled graph of create_reflexion or a ReflexionMiddleware; got {graph!r:.200}"
        )
    reflect = builder.loop["reflect"]
    if not isinstance(reflect, Reflect):
        raise ConfigurationError("learn_from: the graph's node `reflect` was replaced, and cannot be asked")
    return reflect


def store_of(graph: Learning) -> BaseStore | None:
    """Return the store that a graph was compiled with, if it has one."""
    if isinstance(graph, ReflexionMiddleware):
        return None
    store: BaseStore | None = graph.store
    return store


def news_of(reflect: Reflect, found: Found, success: bool | None, words: str) -> LateNews:
    """Return what is learned from, with the evaluator's verdict where no other is given.

    Raises:
        ConfigurationError: there is no verdict.
    """
    if success is None:
        success = _verdict_of(found.state)
        if success is None:
            raise ConfigurationError(NOT_SAID.format("no evaluator has judged it"))
        if not reflect.memory.lessons.trusts_verdicts:
            raise ConfigurationError(NOT_SAID.format(UNTRUSTED))
    return LateNews(found.state, success, words, partial=found.partial, has_lessons=found.has_lessons)


def _verdict_of(state: ReflexionState) -> bool | None:
    """Return the evaluator's verdict on the last trial; None without any."""
    verdict = verdict_of(state)
    if verdict is not None:
        return verdict
    # A conversation has no trials, but its answer may say how it was judged.
    judged = state["evaluation"]
    if judged and not state["trials"]:
        return judged["success"]
    return None


async def found_in_thread(reflect: Reflect, threads: Threads, config: RunnableConfig) -> Found:
    """Return the state at the end of the answer that a config names.

    Raises:
        ConfigurationError: there is no such answer.
    """
    named = config.get("configurable", {})
    thread = named.get("thread_id")
    if thread is None:
        raise ConfigurationError(
            "learn_from needs a thread, config={'configurable': {'thread_id': ...}}, or messages="
        )
    if named.get("checkpoint_id"):
        snapshot = await threads.state(config)
        return await _found_at(reflect, threads, snapshot, f"checkpoint {named['checkpoint_id']!r}")
    message_id = named.get("message_id")
    run_id = named.get("run_id")
    whole = config.copy()
    # These two names are ours: checkpointers know nothing of them.
    whole["configurable"] = {key: value for key, value in named.items() if key not in ("message_id", "run_id")}
    newest: StateSnapshot | None = None
    async for snapshot in threads.history(whole):
        newest = newest or snapshot
        if _is_meant(snapshot, message_id, run_id):
            return await _found_at(reflect, threads, snapshot, f"thread {thread!r}")
    if newest is None:
        raise ConfigurationError(f"learn_from: the checkpointer has no thread {thread!r}")
    # A checkpointer may keep the newest state alone, which still has the whole conversation.
    if message_id is not None:
        said = up_to(newest.values.get("messages") or [], message_id)
        state = _state_of_answer(reflect, said, f"the answer {message_id!r}")
        return Found(state, partial=True, has_lessons=False)
    what = "an answer"
    if run_id is not None:
        what = f"the answer of run {run_id!r}"
    raise ConfigurationError(f"learn_from: thread {thread!r} has not {what}")


def _is_meant(snapshot: StateSnapshot, message_id: str | None, run_id: str | None) -> bool:
    """Return whether a state is the end of the answer that is named; if none is, whether it has a trial."""
    values = snapshot.values
    if not _has_trial(values):
        return False
    # Not `snapshot.next`, which is empty as well while nodes that have run wait for the end of their step.
    ended = not snapshot.tasks
    if message_id is not None:
        return ended and _answer_id(values) == message_id
    if run_id is not None:
        metadata = snapshot.metadata or {}
        return ended and str(metadata.get("run_id")) == str(run_id)
    # One that was cut off is learned from as far as it went.
    return True


async def _found_at(reflect: Reflect, threads: Threads, snapshot: StateSnapshot, where: str) -> Found:
    """Return what is known of the answer at the end of a task, or of the trial under way.

    The answer is that of the best trial, which need not be the last one.

    Raises:
        ConfigurationError: there is no trial in the state, or the answer is gone with its trial.
    """
    last = _state_in(snapshot, where)
    values = snapshot.values
    best = values.get("best")
    is_over = values.get("status") != "running"
    if not is_over or best in (None, values.get("trial")):
        return Found(last, partial=False, has_lessons=True)
    answered = await _state_of_trial(threads, snapshot, best)
    if answered is not None:
        return Found(answered, partial=False, has_lessons=True)
    said = list(values.get("messages") or [])
    if _answer_id(values) is None:
        raise ConfigurationError(
            f"learn_from: the answer in {where} is that of trial {best}, and the checkpointer no longer has it"
        )
    instruction = last["task"]["instruction"]
    asked = [message.text for message in said if isinstance(message, HumanMessage)]
    if not asked or asked[-1] != instruction:
        # The task was given by itself, and what was said before belongs to another one.
        said = [HumanMessage(instruction), said[-1]]
    state = _state_of_answer(reflect, said, where)
    state["task"] = last["task"]
    return Found(state, partial=True, has_lessons=False)


async def _state_of_trial(threads: Threads, snapshot: StateSnapshot, trial: int) -> ReflexionState | None:
    """Return the state at the end of an earlier trial of the same task; None if it is gone."""
    task = snapshot.values.get("lesson_key")
    # By the states before it, as a forked thread has trials of the same number that led to other answers.
    while snapshot.parent_config is not None:
        try:
            snapshot = await threads.state(snapshot.parent_config)
        except ConfigurationError:
            # A server says so of a checkpoint that it has deleted; others return an empty state.
            return None
        values = snapshot.values
        if not values or values.get("lesson_key") != task:
            return None
        recorded = [record["trial"] for record in values.get("trials", [])]
        # The newest of that trial is the first: it has the reflection as well.
        if values.get("trial") == trial and trial in recorded:
            return cast(ReflexionState, values)
    return None


def _has_trial(values: Mapping[str, Any]) -> bool:
    """Return whether a state has anything of a trial: steps, or a wrapped agent's attempt."""
    return bool(values.get("trajectory") or values.get("attempt"))


def _answer_id(values: Mapping[str, Any]) -> str | None:
    """Return the id of the message that ends a conversation; None if that is not an answer."""
    said = values.get("messages") or []
    if not said or not isinstance(said[-1], AIMessage):
        return None
    return said[-1].id


def _state_in(snapshot: StateSnapshot, where: str) -> ReflexionState:
    values = cast(ReflexionState, snapshot.values)
    if not _has_trial(values):
        raise ConfigurationError(f"learn_from: {where} has nothing of a trial")
    return values


def found_in_messages(reflect: Reflect, messages: Sequence[Any], what: str) -> Found:
    """Return what a conversation that ends with an answer says of it; `what` names the conversation in errors.

    Raises:
        ConfigurationError: there is no question in it, or it is not of an agent.
    """
    return Found(_state_of_messages(reflect, messages, what), partial=False, has_lessons=False)


def up_to(said: Sequence[Any], message: str) -> list[Any]:
    """Return a conversation up to the message with this id.

    Raises:
        ConfigurationError: the conversation does not have it.
    """
    ids = [each.id for each in said]
    if message not in ids:
        raise ConfigurationError(f"learn_from: the conversation has no message {message!r}")
    return list(said[: ids.index(message) + 1])


def _state_of_answer(reflect: Reflect, said: Sequence[Any], what: str) -> ReflexionState:
    """Return what is known of an answer whose checkpoint is gone, by the conversation that ends with it.

    Raises:
        ConfigurationError: there is no question in it, or it is not of an agent.
    """
    state = _state_of_messages(reflect, said, what)
    # The graph has written into its answer how the task ended, but not what the evaluator said.
    outcome = getattr(said[-1], "response_metadata", {}).get("reflexion", {})
    if outcome.get("status") in ("solved", "failed"):
        state["evaluation"] = Evaluation(success=outcome["status"] == "solved", score=0.0, feedback="")
    return state


def _state_of_messages(reflect: Reflect, messages: Sequence[Any], what: str) -> ReflexionState:
    """Return a conversation that ends with an answer as the state at the end of a trial.

    Raises:
        ConfigurationError: there is no question in it, or it is not of an agent.
    """
    environment = reflect.environment
    if not isinstance(environment, AgentEnvironment):
        raise ConfigurationError(
            f"learn_from: {what} is a conversation, and this graph plays {environment.name}: pass a thread"
        )
    said = _read(messages)
    questions = [place for place, message in enumerate(said) if isinstance(message, HumanMessage)]
    if not questions:
        raise ConfigurationError(f"learn_from: {what} has no human message, which is the task")
    place = questions[-1]
    question = said[place]
    attempt = said[place + 1 :]
    if not attempt:
        raise ConfigurationError(f"learn_from: {what} has no answer after its last human message")
    task = environment.task_of(cast(HumanMessage, question))
    in_words = "\n".join(_in_words(each) for each in said)
    return cast(
        ReflexionState,
        {
            "status": "failed",
            # What tells this conversation from another one with the same question.
            "lesson_key": digest_of(in_words),
            "task": task,
            "messages": said[: place + 1],
            "trial": 1,
            "trials": [],
            "evaluation": None,
            "reflections": [],
            "trajectory": steps_of(attempt),
            "episode": new_episode(task, 0.0, question.text, None),
            "stop_reason": "terminated",
            "notes": [],
            "usage": {},
            "prompt_budget": None,
            "answers": [],
            "attempt": Attempt(
                messages=attempt,
                ended="terminated",
                result=result_of({"messages": attempt}, attempt),
                state={},
                cut_off=is_cut_off(attempt),
            ),
        },
    )


def _in_words(message: Any) -> str:
    """Return what tells a message from others: two calls of tools, or two pictures, may be all that differs."""
    words = f"{message.type} {message.id} {message.text}"
    for call in getattr(message, "tool_calls", []):
        words += f" {call_text(call['name'], call['args'])}"
    if isinstance(message.content, str):
        return words
    for block in message.content:
        if isinstance(block, dict) and block.get("type") != "text":
            words += f" {json.dumps(block, sort_keys=True, default=str)}"
    return words


def _read(messages: Sequence[Any]) -> list[Any]:
    """Return messages, which may be dicts.

    Raises:
        ConfigurationError: one of them is not a message.
    """
    for message in messages:
        if not is_message(message):
            raise ConfigurationError(f"learn_from: {message!r:.200} is not a message")
    return [as_message(message) for message in messages]
