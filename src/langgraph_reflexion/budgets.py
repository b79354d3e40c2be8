"""Budgets: what a trial, a task and a whole run may spend."""

import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import NamedTuple

from langchain_core.runnables import RunnableConfig

from langgraph_reflexion.errors import ConfigurationError, expect
from langgraph_reflexion.models.usage import Usage
from langgraph_reflexion.state import ReflexionState


@dataclass(frozen=True)
class Budget:
    """Limits; None is no limit. Whoever has spent as much stops, within one action.

    Attributes:
        actions: Actions taken in the environment.
        llm_calls: Model calls that were answered; answers out of a cache are free.
        tokens: Tokens sent and received.
        cost: Money, at the prices that were given.
        seconds: Wall time. A trial's and a task's is the time spent in nodes, pauses excluded; a run's is the time
            since it was started, and what it had taken before that.
    """

    actions: int | None = None
    llm_calls: int | None = None
    tokens: int | None = None
    cost: float | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            limit = getattr(self, field.name)
            if limit is not None and not limit > 0:
                raise ConfigurationError(f"a budget of {limit} {field.name}: more than 0 is needed, or none at all")

    def used_up(self, spent: "Spent") -> str | None:
        """Which limit is reached, such as `100 tokens`; None while there is something left."""
        for field in fields(self):
            limit = getattr(self, field.name)
            if limit is not None and getattr(spent, field.name) >= limit:
                return f"{limit} {field.name}"
        return None


class Spent(NamedTuple):
    """What was spent, in the units of a `Budget`."""

    actions: int = 0
    llm_calls: int = 0
    tokens: int = 0
    cost: float = 0.0
    seconds: float = 0.0

    def plus(self, other: "Spent") -> "Spent":
        """The sum of both."""
        return Spent._make(a + b for a, b in zip(self, other, strict=True))

    def since(self, before: "Spent") -> "Spent":
        """What came on top of what was spent before; nothing where the task has gone back to an earlier state."""
        return Spent._make(max(type(a)(0), a - b) for a, b in zip(self, before, strict=True))


class Budgets:
    """The budgets of a graph, and what its run has spent so far.

    A task's own account is in its state. The run's is here, and grows by what each task has spent since it was last
    seen: resuming a task counts nothing twice, and doing it again counts again.

    Args:
        trial: Of each trial.
        task: Of each task, all of its trials together.
        run: Of everything that is done with the graph.
    """

    def __init__(self, *, trial: Budget | None = None, task: Budget | None = None, run: Budget | None = None) -> None:
        for scope, budget in {"trial": trial, "task": task, "run": run}.items():
            expect(f"Budgets.{scope}", budget, Budget | None)
        self.trial, self.task, self.run = (budget or Budget() for budget in (trial, task, run))
        self._seen: dict[tuple[str, str], Spent] = {}
        self._total = Spent()
        # Several threads may run the same graph.
        self._lock = threading.Lock()
        self.start_clock()

    @property
    def limits_cost(self) -> bool:
        """Whether money is limited anywhere, so that prices are needed."""
        return any(budget.cost is not None for budget in (self.trial, self.task, self.run))

    def start_clock(self, seconds: float = 0.0) -> None:
        """Start the run's clock.

        Args:
            seconds: What it had shown before.
        """
        self._began = time.monotonic() - seconds

    @property
    def seconds(self) -> float:
        """What the run's clock shows."""
        return time.monotonic() - self._began

    def begin(self, task: str, config: RunnableConfig) -> None:
        """A task begins: what it spends from now on comes on top.

        Args:
            task: Its id.
            config: Names its thread.
        """
        with self._lock:
            self._seen.pop(account_key(task, config), None)

    def note(self, state: ReflexionState, config: RunnableConfig) -> Spent:
        """Bring the run's account up to date, and say what the task has spent.

        Args:
            state: Of one of its tasks.
            config: Names the task's thread.
        """
        spent = _task(state)
        key = account_key(state["task"]["id"], config)
        with self._lock:
            self._total = self._total.plus(spent.since(self._seen.get(key, Spent())))
            self._seen[key] = spent
        return spent

    def used_up(self, state: ReflexionState, config: RunnableConfig, *, trial: bool = True) -> str | None:
        """Note what was spent, and say which budget is used up, such as `task budget of 100 tokens used up`.

        Args:
            state: Of one of the run's tasks.
            config: Names the task's thread.
            trial: Whether the trial's own budget matters; not once it has ended.
        """
        accounts = [("trial", self.trial, _trial(state))] if trial else []
        for scope, budget, done in [*accounts, ("task", self.task, self.note(state, config))]:
            if limit := budget.used_up(done):
                return f"{scope} budget of {limit} used up"
        return self.run_used_up()

    def run_used_up(self) -> str | None:
        """The same for the run's budget alone."""
        limit = self.run.used_up(self._total._replace(seconds=self.seconds))
        return f"run budget of {limit} used up" if limit else None


def account_key(task: str, config: RunnableConfig) -> tuple[str, str]:
    """Return the name of a task's account: its thread, empty where it has none, and its id."""
    return str(config.get("configurable", {}).get("thread_id", "")), task


def _trial(state: ReflexionState) -> Spent:
    actions = sum(step["action"] is not None for step in state["trajectory"])
    return _spent(actions, state["usage"], state["seconds"] - state["episode"]["began"])


def _task(state: ReflexionState) -> Spent:
    earlier = [record for record in state["trials"] if record["trial"] != state["trial"]]
    spent = _trial(state)
    for record in earlier:
        spent = spent.plus(_spent(record["actions"], record["usage"], 0.0))
    return spent._replace(seconds=state["seconds"])


def _spent(actions: int, usage: Mapping[str, Usage], seconds: float) -> Spent:
    nodes: Iterable[Usage] = usage.values()
    return Spent(
        actions=actions,
        llm_calls=sum(node["llm_calls"] for node in nodes),
        tokens=sum(node["input_tokens"] + node["output_tokens"] for node in nodes),
        cost=sum(node["cost"] for node in nodes),
        seconds=seconds,
    )
