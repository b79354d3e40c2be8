"""Budgets as they are written on the command line and in `run.json`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from langchain_core.runnables import RunnableConfig

from langgraph_reflexion.budgets import Budget, Budgets, Spent
from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.state import ReflexionState

SCOPES = ("trial", "task", "run")
KINDS = {field.name: int if "int" in str(field.type) else float for field in fields(Budget)}
"""What can be limited, and the kind of number that a limit on it is."""


def read_budgets(pairs: Sequence[str]) -> dict[str, dict[str, float | None]]:
    """Read limits such as `task.tokens=100000`; `none` lifts one.

    Raises:
        ConfigurationError: one cannot be read.
    """
    budgets: dict[str, dict[str, float | None]] = {}
    for pair in pairs:
        name, _, value = pair.partition("=")
        scope, _, what = name.partition(".")
        try:
            kind = KINDS[what]
            limit = None if value.lower() == "none" else kind(value)
            if scope not in SCOPES:
                raise KeyError(scope)
        except (KeyError, ValueError) as error:
            raise ConfigurationError(
                f"--budget {pair!r}: write it as SCOPE.WHAT=NUMBER, with a scope of {', '.join(SCOPES)} "
                f"and one of {', '.join(KINDS)}"
            ) from error
        budgets.setdefault(scope, {})[what] = limit
    return budgets


def raised(
    budgets: Mapping[str, Mapping[str, float]], new: Mapping[str, Mapping[str, float | None]]
) -> dict[str, dict[str, float]]:
    """Limits with some of them put in place of others, and those that are None lifted."""
    merged: dict[str, dict[str, Any]] = {scope: {**limits} for scope, limits in budgets.items()}
    for scope, limits in new.items():
        merged[scope] = merged.get(scope, {}) | dict(limits)
    kept = {
        scope: {what: limit for what, limit in limits.items() if limit is not None}
        for scope, limits in merged.items()
    }
    return {scope: limits for scope, limits in kept.items() if limits}


class SharedBudgets(Budgets):
    """Budgets whose run is spread over several processes.

    One of them, the driver, keeps the run's account. It is told what each task has spent, and tells the others what
    all of them have.

    Attributes:
        on_note: Called with a task's id and what it has spent, whenever that is looked at.
    """

    def __init__(self, **budgets: Budget) -> None:
        super().__init__(**budgets)
        self.on_note: Callable[[str, Spent], None] = lambda task, spent: None

    def note(self, state: ReflexionState, config: RunnableConfig) -> Spent:
        """See `Budgets.note`."""
        spent = super().note(state, config)
        self.on_note(state["task"]["id"], spent)
        return spent

    @property
    def total(self) -> Spent:
        """What the run has spent, but for the time."""
        return self._total

    @property
    def limits_run(self) -> bool:
        """Whether the run has limits that one process cannot watch alone."""
        limits = [getattr(self.run, kind.name) for kind in fields(self.run) if kind.name != "seconds"]
        return any(limit is not None for limit in limits)

    def spent(self, task: str, config: RunnableConfig) -> Spent:
        """What a task has spent, as far as it is known here."""
        return self._seen.get(self._name(task, config), Spent())

    def account(self, task: str, config: RunnableConfig, spent: Spent) -> None:
        """Hear what a task has spent at another process: at the driver."""
        with self._lock:
            self._total = self._total.plus(spent.since(self.spent(task, config)))
            self._seen[self._name(task, config)] = spent

    def take_over(self, task: str, config: RunnableConfig, spent: Spent) -> None:
        """Go on with a task of which the run's account has so much already."""
        with self._lock:
            self._seen[self._name(task, config)] = spent

    def hear(self, total: Spent, seconds: float) -> None:
        """Hear what the whole run has spent, and what its clock shows. What was spent here meanwhile stays."""
        with self._lock:
            self._total = Spent._make(max(pair) for pair in zip(self._total, total, strict=True))
            self.start_clock(seconds)

    @staticmethod
    def _name(task: str, config: RunnableConfig) -> tuple[str, str]:
        return str(config["configurable"]["thread_id"]), task


def make_budgets(budgets: Mapping[str, Mapping[str, Any]]) -> SharedBudgets:
    """The graph's budgets.

    Raises:
        ConfigurationError: a limit is not above 0.
    """
    return SharedBudgets(**{scope: Budget(**limits) for scope, limits in budgets.items()})
