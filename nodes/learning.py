"""Learning outside of a run: a graph of the node `learn` alone, and what works off the trials that are queued."""

import contextlib
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.store.base import BaseStore
from typing_extensions import TypedDict

from langgraph_reflexion.errors import Fault
from langgraph_reflexion.loop.context import ReflexionContext
from langgraph_reflexion.memory.queue import from_json
from langgraph_reflexion.memory.records import QueuedTrial
from langgraph_reflexion.memory.store import LessonStore
from langgraph_reflexion.nodes.learn import LateNews, Learn, Learned
from langgraph_reflexion.nodes.reflect import Reflect

LEASE = timedelta(minutes=10)
"""How long a trial is left to the worker that has begun with it."""

MOST_ATTEMPTS = 5
"""How often it is begun to learn from a trial."""


class _LearningState(TypedDict):
    """The state of the graph of one node in which a trial is learned from."""

    news: LateNews
    learned: Learned


def learning_node(learn: Learn, store: BaseStore | None) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Return a graph that only learns: in it, store, context and tracing are those of any node."""

    async def run(state: _LearningState, config: RunnableConfig) -> dict[str, Any]:
        return {"learned": await learn(state["news"], config)}

    builder = StateGraph(_LearningState, context_schema=ReflexionContext)
    builder.add_node("learn", run)
    builder.add_edge(START, "learn")
    builder.add_edge("learn", END)
    # Inside a node of another graph it would write to that graph's checkpointer.
    return builder.compile(checkpointer=False, store=store, name="learn_from")


def learn_in_background(reflect: Reflect) -> None:
    """Let the process work off what its graph queues, with the node that reflects."""
    lessons = reflect.memory.lessons

    async def work(store: LessonStore) -> None:
        await work_off(learning_node(Learn(reflect), store.store), store, lessons.budget)

    lessons.queue.work = work


async def work_off(
    node: CompiledStateGraph[Any, Any, Any, Any], store: LessonStore, budget: float | None = None
) -> Counter[str]:
    """Learn from the queued trials of a user, the oldest first.

    Args:
        node: The graph that learns, `learning_node`.
        store: The lessons of the user.
        budget: As for `learn_queued`.

    Raises:
        Fault: the model or the store failed.
        Exception: the first bug, after the other trials have been learned from.
    """
    outcomes = Counter[str]()
    errors: list[Exception] = []
    for queued in await store.queued():
        try:
            outcome = await _learned(node, store, budget, queued)
        except Fault:
            raise
        except Exception as error:
            # A bug that this trial brings to light keeps nobody from learning from the others.
            errors.append(error)
            outcome = "failed"
        outcomes[outcome] += 1
    if errors:
        raise errors[0]
    return outcomes


async def _learned(
    node: CompiledStateGraph[Any, Any, Any, Any], store: LessonStore, budget: float | None, queued: QueuedTrial
) -> str:
    """Learn from a queued trial, and return what became of it."""
    # Another worker may have been at it since the queue was read.
    now_queued = await store.still_queued(queued.key)
    if now_queued is None:
        return "known"
    queued = now_queued
    if await store.late_verdict(queued.key):
        # A person was faster, or a worker was killed before it could remove the trial.
        await store.dequeue(queued)
        return "known"
    now = datetime.now(UTC)
    # Both are times in UTC in the same form, whose texts are in the order of time.
    if queued.leased_until > now.isoformat():
        return "leased"
    if queued.attempts >= MOST_ATTEMPTS:
        return "given up"
    if budget is not None and await store.spent() >= budget:
        return "over budget"
    attempts = queued.attempts + 1
    leased_until = (now + LEASE).isoformat()
    # Before the model is asked, so that other workers leave the trial alone.
    await store.add([queued.model_copy(update={"attempts": attempts, "leased_until": leased_until})])
    # The node reads the user from the config, and the lesson is that of who was answered.
    configurable = {"thread_id": queued.thread}
    if store.user is not None:
        configurable["user_id"] = store.user
    config: RunnableConfig = {"configurable": configurable}
    news = LateNews(from_json(queued.state), queued.success, queued=True, review=queued.review)
    try:
        await node.ainvoke({"news": news}, config)
    except BaseException as error:
        # Only a bug counts as an attempt: a server that is down and a process that ends say nothing about the trial.
        is_bug = isinstance(error, Exception) and not isinstance(error, Fault)
        if not is_bug:
            attempts = queued.attempts
        # The error that is raised is the one that matters.
        with contextlib.suppress(Fault):
            await _end_lease(store, queued, attempts)
        raise
    await store.dequeue(queued)
    return "learned"


async def _end_lease(store: LessonStore, queued: QueuedTrial, attempts: int) -> None:
    """Leave a trial in the queue without a lease, so that whoever comes next need not wait for its end."""
    # What was to be learned may have been taken back meanwhile, and would come back with this record.
    if await store.still_queued(queued.key):
        await store.add([queued.model_copy(update={"attempts": attempts, "leased_until": ""})])
