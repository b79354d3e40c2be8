"""The budget of an experiment as a whole, beside those of its runs."""

from collections.abc import Sequence
from pathlib import Path
from time import monotonic

from langgraph_reflexion.budgets import Budget, Spent
from langgraph_reflexion.experiments.record import Run
from langgraph_reflexion.experiments.rows import TrialRow, key_of
from langgraph_reflexion.experiments.scheduler import Observer


class SpentAll(Exception):
    """The experiment's budget is used up. The message says which limit."""


class Purse:
    """Counts what all runs spend, and stops the one that is at work when it is too much. An `Observer` of each run.

    Money, tokens, calls and actions are counted when a trial is recorded; time at any moment. What a stopped run had
    in flight is in its checkpoints, and counted when it goes on.

    Args:
        budget: What may be spent.
        observer: Sees everything, too.
        runs: What was recorded before.
    """

    def __init__(self, budget: Budget, observer: Observer, runs: Sequence[Run]) -> None:
        self._budget, self._observer = budget, observer
        self._rows: dict[tuple[str, str, int], Spent] = {}
        self._total = Spent()
        self._earlier = sum(run.info.get("seconds", 0.0) for run in runs)
        self._began = monotonic()
        for run in runs:
            for row in run.trials:
                self._count(run.folder.name, row)

    def begin(self, name: str) -> None:
        """A run begins, and rows are its own from now on."""
        self._name = name

    def seconds_left(self) -> float | None:
        """Return the seconds that are left; None without a limit."""
        if self._budget.seconds is None:
            return None
        return max(0.0, self._budget.seconds - self._seconds)

    def used_up(self) -> str | None:
        """Which limit is reached, in words; None while there is something left."""
        limit = self._budget.used_up(self._total._replace(seconds=self._seconds))
        return f"the experiment's budget of {limit} is used up" if limit else None

    def on_start(self, folder: Path, tasks: int, trials: int, played_by: str) -> None:
        """Pass it on."""
        self._observer.on_start(folder, tasks, trials, played_by)

    def on_action(self) -> None:
        """Pass it on."""
        self._observer.on_action()

    def on_trial(self, row: TrialRow, finished: bool) -> None:
        """Count it.

        Raises:
            SpentAll: it was the last one that there is money for.
        """
        self._observer.on_trial(row, finished)
        self._count(self._name, row)
        if limit := self.used_up():
            raise SpentAll(limit)

    def on_error(self, task: str, error: str) -> None:
        """Pass it on."""
        self._observer.on_error(task, error)

    @property
    def _seconds(self) -> float:
        return float(self._earlier) + monotonic() - self._began

    def _count(self, name: str, row: TrialRow) -> None:
        # A trial is reported again when its run is resumed, and when it is repeated after a fault.
        key = (name, *key_of(row))
        spent = Spent(row["actions"], row["llm_calls"], row["input_tokens"] + row["output_tokens"], row["cost"])
        self._total = self._total.plus(spent.since(self._rows.get(key, Spent())))
        self._rows[key] = spent
