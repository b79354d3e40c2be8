"""Learning later: the trials that `Lessons(learn="later")` has queued in the store are worked off."""

import asyncio
from collections import Counter

from langgraph.store.base import BaseStore

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.graph.learning import Learning, reflect_of, store_of
from langgraph_reflexion.memory.store import LessonStore
from langgraph_reflexion.memory.users import users_with_queues
from langgraph_reflexion.nodes.learn import Learn
from langgraph_reflexion.nodes.learning import learning_node, work_off
from langgraph_reflexion.support.sync import run_blocking


def learn_queued(
    graph: Learning, store: BaseStore | None = None, *, concurrency: int = 4, budget: float | None = None
) -> dict[str, int]:
    """Learn from the trials of all users that are in the queue.

    A process does so by itself after each answer; this is for what a killed process has left, and for processes of
    your own that only learn. Several may do so at once: a trial is left to the one that has begun with it.

    Args:
        graph: A compiled graph with `Lessons`, or a `ReflexionMiddleware`.
        store: The store of the lessons; that of the graph unless given.
        concurrency: Users whose trials are learned from at the same time.
        budget: The money that learning may cost for each user altogether, at the prices of `ModelOptions`; a user
            who has spent it learns nothing more, and the trials stay in the queue. That of `Lessons` unless given.

    Returns:
        The number of trials by what became of them: `learned`, `known` (something was said of them meanwhile),
        `leased` (another process has begun with them), `given up` (after five attempts), and `over budget`.

    Raises:
        ConfigurationError: the graph has no lessons, there is no store, or a budget and no price.
        Fault: the model or the store failed; call again.
    """
    return run_blocking(alearn_queued(graph, store, concurrency=concurrency, budget=budget))


async def alearn_queued(
    graph: Learning, store: BaseStore | None = None, *, concurrency: int = 4, budget: float | None = None
) -> dict[str, int]:
    """Do the same as `learn_queued`, asynchronously."""
    if concurrency < 1:
        raise ConfigurationError(f"learn_queued: concurrency={concurrency}: at least 1 is needed")
    reflect = reflect_of(graph)
    memory = reflect.memory.lessons
    learn = Learn(reflect)
    # Checked before anything is read.
    learn.expect_lessons()
    opened = store or store_of(graph)
    if opened is None:
        raise ConfigurationError("learn_queued needs the store of the lessons: pass it as store=")
    if budget is None:
        budget = memory.budget
    if budget is not None:
        reflect.client.require_price()
    node = learning_node(learn, opened)
    users = await users_with_queues(opened, memory.namespace)
    if memory.fixed_user is not None:
        # Whatever the lessons of others in this store: they are not this graph's.
        users = [memory.fixed_user]
    room = asyncio.Semaphore(concurrency)

    async def of_user(user: str | None) -> Counter[str]:
        lessons = LessonStore(opened, memory.namespace, user, limit=memory.limit)
        async with room:
            return await work_off(node, lessons, budget)

    found = Counter[str]()
    # One user's trouble keeps nobody from learning from the trials of others.
    outcomes = await asyncio.gather(*map(of_user, users), return_exceptions=True)
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
        found.update(outcome)
    return dict(found)
