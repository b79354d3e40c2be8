"""Budgets of a run whose tasks are advanced by several processes."""

from langchain_core.runnables import RunnableConfig

from langgraph_reflexion.budgets import Budgets, Consumption, account_key


class SharedBudgets(Budgets):
    """Budgets whose account can be read, and continued in another process.

    The driver of a run keeps its account; a worker takes it over with each trial that it is asked for.
    """

    @property
    def total(self) -> Consumption:
        """What the run has spent, without the time."""
        return self._total

    def spent(self, task: str, config: RunnableConfig) -> Consumption:
        """Return what a task has spent, as far as this process knows."""
        return self._seen.get(account_key(task, config), Consumption())

    def account(self, task: str, config: RunnableConfig, spent: Consumption) -> None:
        """Add what a task has spent in another process."""
        with self._lock:
            self._total = self._total + (spent - self.spent(task, config))
            self._seen[account_key(task, config)] = spent

    def take_over(
        self, task: str, config: RunnableConfig, spent: Consumption, total: Consumption, seconds: float
    ) -> None:
        """Continue an account: what the task and the run have spent, and the seconds on the run's clock."""
        with self._lock:
            self._seen[account_key(task, config)] = spent
            self._total = Consumption._make(max(pair) for pair in zip(self._total, total, strict=True))
            self.start_clock(seconds)
