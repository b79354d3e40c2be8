"""The budgets of a run that several processes share."""

from collections.abc import Callable
from dataclasses import fields

from langchain_core.runnables import RunnableConfig

from langgraph_reflexion.budgets import Budget, Budgets, Spent, account_key
from langgraph_reflexion.state import ReflexionState


class SharedBudgets(Budgets):
    """Budgets whose run is spread over several processes.

    The driver keeps the run's account: it hears from the workers what each task has spent, and sends them the total.

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
        """The amounts that the run has spent, without the time."""
        return self._total

    @property
    def limits_run(self) -> bool:
        """True if the run has limits that one process cannot watch alone."""
        limits = [getattr(self.run, kind.name) for kind in fields(self.run) if kind.name != "seconds"]
        return any(limit is not None for limit in limits)

    def spent(self, task: str, config: RunnableConfig) -> Spent:
        """Return what a task has spent, as far as this process knows."""
        return self._seen.get(account_key(task, config), Spent())

    def account(self, task: str, config: RunnableConfig, spent: Spent) -> None:
        """Add what a task has spent in another process."""
        with self._lock:
            self._total = self._total.plus(spent.since(self.spent(task, config)))
            self._seen[account_key(task, config)] = spent

    def take_over(self, task: str, config: RunnableConfig, spent: Spent) -> None:
        """Resume a task of which the run's account holds this much."""
        with self._lock:
            self._seen[account_key(task, config)] = spent

    def hear(self, total: Spent, seconds: float) -> None:
        """Take over the run's total and clock. What was spent here in the meantime stays."""
        with self._lock:
            self._total = Spent._make(max(pair) for pair in zip(self._total, total, strict=True))
            self.start_clock(seconds)
