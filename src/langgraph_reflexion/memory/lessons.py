"""Lessons across tasks as `Memory(lessons=...)` takes them, and their use in nodes."""

from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from weakref import WeakKeyDictionary

from langchain_core.runnables import RunnableConfig
from langgraph.config import get_store
from langgraph.store.base import BaseStore
from rapidfuzz import fuzz

from langgraph_reflexion.envs.base import Task
from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.memory.bank import Bank
from langgraph_reflexion.memory.book import Lesson
from langgraph_reflexion.memory.items import Use, plain
from langgraph_reflexion.memory.quoting import quoted
from langgraph_reflexion.state import RecalledLesson, ReflexionState, Step, TrialRecord

USERS = 32
"""The lessons of so many users are kept ready."""


@dataclass(frozen=True)
class Lessons:
    """Lessons across tasks, in the store that the graph is compiled with.

    Attributes:
        environment: Where they are from; the environment's name unless given.
        user: Whose they are; who `config["configurable"]["user_id"]` names unless given, and everyone's where it
            names nobody.
        count: At most so many are recalled for a task.
        recall: Whether any are.
        learn: Whether lessons, and what came of them, are written.
        held_out: The ids of tasks that write nothing, and are not told what they themselves have taught.
    """

    environment: str = ""
    user: str | None = None
    count: int = 3
    recall: bool = True
    learn: bool = True
    held_out: Collection[str] = ()
    _banks: WeakKeyDictionary[BaseStore, OrderedDict[tuple[str, str | None], Bank]] = field(
        default_factory=WeakKeyDictionary, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        if self.count < 1:
            raise ConfigurationError(f"Lessons(count={self.count}): at least 1 is needed, or recall=False")

    def bank(self, config: RunnableConfig, environment: str) -> Bank:
        """The lessons that a run reads and writes.

        Args:
            config: A node's config.
            environment: The environment's name, where the settings have none.

        Raises:
            ConfigurationError: the graph was compiled without a store.
        """
        store = get_store()
        if store is None:
            raise ConfigurationError("lessons need a store: create_reflexion(...).compile(store=...)")
        user = config.get("configurable", {}).get("user_id") if self.user is None else self.user
        key = self.environment or environment, None if user is None else str(user)
        banks = self._banks.setdefault(store, OrderedDict())
        if key not in banks:
            banks[key] = Bank(store, *key)
        banks.move_to_end(key)
        while len(banks) > USERS:
            banks.popitem(last=False)
        return banks[key]

    async def recalled(self, bank: Bank, task: Task, observation: str) -> list[RecalledLesson]:
        """What is recalled for a task, as the state keeps it.

        Args:
            bank: The lessons.
            task: The task.
            observation: What is seen first.
        """
        if not self.recall:
            return []
        own = task["id"] if task["id"] in self.held_out else None

        def without(lesson: Lesson) -> bool:
            return own in lesson.tasks

        found = await bank.recall(task, observation, self.count, without)
        return [RecalledLesson(id=lesson.id, text=quoted(lesson.text)) for lesson in found]

    def learns(self, task: Task) -> bool:
        """Whether a task writes what it teaches."""
        return self.learn and task["id"] not in self.held_out


async def seen_tasks(store: BaseStore, environment: str, user: str | None, tasks: Collection[str]) -> list[str]:
    """Those of some tasks that have taught a lesson already.

    Args:
        store: Where lessons are.
        environment: The environment's name.
        user: Whose they are.
        tasks: The tasks' ids.
    """
    book = await Bank(store, environment, user).book()
    taught = {task for lesson in book.lessons.values() for task in lesson.tasks}
    return [task for task in tasks if task in taught]


def source_of(
    state: ReflexionState, config: RunnableConfig, *, text: str, outcome: str, profile: str, model: str
) -> dict[str, Any]:
    """Where a lesson is from, but for the lesson itself.

    Args:
        state: After the trial that taught it.
        config: A node's config.
        text: What the lesson says.
        outcome: How the trial ended.
        profile: The profile that it ran under.
        model: What wrote it.
    """
    step, evidence = evidence_of(text, state["trajectory"])
    return {
        "outcome": outcome,
        "task": state["task"]["id"],
        "kind": state["task"].get("kind") or "",
        "instruction": plain(state["task"]["instruction"]),
        "observation": plain(state["episode"]["observation"]),
        "trial": state["trial"],
        "profile": profile,
        "model": model,
        "step": step,
        "evidence": evidence,
        "run": run_of(config),
        "date": now(),
    }


def use_of(state: ReflexionState, record: TrialRecord, config: RunnableConfig) -> Use:
    """How a trial went, and what it was told."""
    return Use(
        lessons=[lesson["id"] for lesson in state.get("lessons", [])],
        success=bool(record["verdict"]),
        task=state["task"]["id"],
        kind=state["task"].get("kind") or "",
        trial=state["trial"],
        run=run_of(config),
        date=now(),
    )


def evidence_of(text: str, steps: Sequence[Step]) -> tuple[int, str]:
    """The step that a lesson speaks of most, by the words that they share; the latest among equals.

    Returns:
        Its number, and what was done and seen there; 0 and nothing where there are no steps.
    """
    shown = [(step["number"], _told(step)) for step in steps]
    if not shown:
        return 0, ""
    return max(shown, key=lambda each: (fuzz.token_set_ratio(text[:2000], each[1]), each[0]))


def run_of(config: Mapping[str, Any]) -> str:
    """The thread of a run; empty where it has none."""
    return str(config.get("configurable", {}).get("thread_id") or "")


def now() -> str:
    """The time, as it is kept."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def _told(step: Step) -> str:
    action = step["action"]["text"] if step["action"] else step["thought"]
    return plain(f"{action} -> {step['observation']}", 300)
