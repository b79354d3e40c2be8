"""Trials that are to be learned from later: how they are stored, and the task of the process that works them off."""

import asyncio
import contextvars
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast
from weakref import WeakKeyDictionary

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    messages_from_dict,
    messages_to_dict,
)

from langgraph_reflexion.errors import Fault
from langgraph_reflexion.loop.prompting import bounded_trial
from langgraph_reflexion.memory.failure import KNOWN_FACTS
from langgraph_reflexion.memory.store import LessonStore
from langgraph_reflexion.state import ReflexionState, TrialRecord
from langgraph_reflexion.support.text import as_text, plain

Facts = Callable[[ReflexionState], Sequence[str]]
"""Finds what is certain about a failed trial, in sentences."""

MOST_MESSAGES = 50
"""Messages of a conversation that are kept for a lesson: the newest."""

LONGEST_KEPT = 20_000
"""Characters of an answer and of a message that are kept for a lesson."""

KEPT = ("task", "trial", "evaluation", "reflections", "stop_reason", "episode", "lessons", "lesson_key", "answers")
"""The parts of a state that are kept as they are."""

_log = logging.getLogger(__name__)

_running: set[asyncio.Task[None]] = set()

Work = Callable[[LessonStore], Awaitable[object]]
"""Works off the queue of a user."""

_TYPES: dict[str, type[BaseMessage]] = {"human": HumanMessage, "ai": AIMessage, "system": SystemMessage}

MOST_WORKERS = 4
"""Users of one process whose queues are worked off at the same time."""


class LearningQueue:
    """Starts background tasks that work off what was queued, a few at a time.

    Attributes:
        work: What works off the queue of a user; nothing is started while it is None.
    """

    def __init__(self) -> None:
        self.work: Work | None = None
        # A task belongs to the event loop that it was made on, and a graph may be called from one loop after another.
        self._of_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, _Waiting] = WeakKeyDictionary()

    def start(self, store: LessonStore) -> None:
        """Start to work off the queue of a user, or have it worked off after those of others."""
        if self.work is None:
            return
        loop = asyncio.get_running_loop()
        waiting = self._of_loop.setdefault(loop, _Waiting())
        queue = _queue_of(store)
        waiting.stores[queue] = store
        at_work = [task for task in waiting.tasks if not task.done()]
        if len(at_work) >= MOST_WORKERS or queue in waiting.at_work:
            # A worker looks for further queues when it has finished with its own.
            return
        # Neither callbacks nor traces of the run, which may be over before.
        outside = contextvars.Context()
        task = loop.create_task(self._work_off(self.work, waiting), context=outside)
        waiting.tasks.add(task)
        task.add_done_callback(waiting.tasks.discard)
        # Event loops hold their tasks weakly, and a graph may be made for one request.
        _running.add(task)
        task.add_done_callback(_running.discard)

    async def _work_off(self, work: Work, waiting: "_Waiting") -> None:
        while store := waiting.next():
            queue = _queue_of(store)
            # No other task runs between `next` and this, as nothing is awaited.
            waiting.at_work.add(queue)
            try:
                await work(store)
            except Fault as fault:
                # Such as a store that was closed meanwhile. What is left is learned the next time.
                _log.warning("lessons are left to be learned later: %s", fault)
            except Exception:
                _log.exception("a lesson could not be learned in the background; the trial stays in the queue")
            finally:
                waiting.at_work.discard(queue)


_Queue = tuple[int, tuple[str, ...]]
"""What tells a queue from others: its store, as a graph may be compiled with several, and its namespace."""


def _queue_of(store: LessonStore) -> _Queue:
    return id(store.store), store.namespace


@dataclass
class _Waiting:
    """The queues that wait for a worker on an event loop."""

    stores: dict[_Queue, LessonStore] = field(default_factory=dict)
    at_work: set[_Queue] = field(default_factory=set)
    """The queues that a worker has taken: two at the same queue would pay twice."""
    tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def next(self) -> LessonStore | None:
        """Return a queue that no other worker has taken, and that waits no longer; None if there is none."""
        for queue in self.stores:
            if queue not in self.at_work:
                return self.stores.pop(queue)
        return None


def to_json(state: ReflexionState, record: TrialRecord, facts: Facts) -> dict[str, Any]:
    """Return what a lesson is learned from, as plain JSON of bounded size.

    Args:
        state: The state at the end of the trial.
        record: The record of the trial.
        facts: What is certain about it if it has failed.
    """
    given = cast(dict[str, Any], state)
    kept: dict[str, Any] = {}
    for name in KEPT:
        if name in given:
            kept[name] = given[name]
    # What an environment or an evaluator has prepared is of no use, and may be large or secret.
    kept["task"] = {
        "id": state["task"]["id"],
        "instruction": state["task"]["instruction"][:LONGEST_KEPT],
        "kind": state["task"].get("kind") or "",
    }
    evaluation = state["evaluation"]
    if evaluation:
        shortened = evaluation.copy()
        shortened["feedback"] = evaluation["feedback"][:LONGEST_KEPT]
        kept["evaluation"] = shortened
    # A snapshot may be large, and nobody plays on.
    episode = state["episode"].copy()
    episode["snapshot"] = None
    kept["episode"] = episode
    recorded = state.copy()
    recorded["trials"] = [*state["trials"], record]
    # With the record before, which says whether tools were called until then (`attempt_facts`).
    kept["trials"] = recorded["trials"][-2:]
    if not record["verdict"]:
        # Found now, as the task is kept without its data.
        kept[KNOWN_FACTS] = [fact[:LONGEST_KEPT] for fact in facts(recorded)]
    kept["trajectory"] = bounded_trial(state["trajectory"])
    kept["messages"] = messages_to_dict(_said(state.get("messages") or []))
    attempt = state.get("attempt")
    if attempt:
        answer = as_text(attempt["result"])[:LONGEST_KEPT]
        # Without the agent's own messages and state, which are in the trajectory as far as a prompt shows them.
        kept["attempt"] = {
            "messages": [],
            "ended": attempt["ended"],
            "result": answer,
            "state": {},
            "cut_off": bool(attempt.get("cut_off")),
        }
    # Some stores refuse lone surrogates, others NULs.
    return cast(dict[str, Any], plain(kept))


def from_json(kept: dict[str, Any]) -> ReflexionState:
    """Return the state that `to_json` has kept."""
    state = kept.copy()
    state["messages"] = messages_from_dict(kept["messages"])
    # What `to_json` leaves out and the nodes expect in every state.
    state.update(status="failed", notes=[], usage={}, prompt_budget=None)
    return cast(ReflexionState, state)


def _said(messages: Sequence[AnyMessage]) -> list[BaseMessage]:
    """Return the newest messages of people and of the agent, as text."""
    newest = [message for message in messages if message.type in _TYPES][-MOST_MESSAGES:]
    kept: list[BaseMessage] = []
    for message in newest:
        text = message.text[:LONGEST_KEPT]
        kept.append(_TYPES[message.type](text, id=message.id))
    return kept
