"""The live display of an experiment in the terminal: all its runs, and the current one."""

from pathlib import Path

from rich.console import Console
from rich.text import Text

from langgraph_reflexion.experiments.matrix import Outcome
from langgraph_reflexion.experiments.printable import printable
from langgraph_reflexion.experiments.progress import LiveProgress


class ExperimentProgress(LiveProgress):
    """Two lines on standard error, and one that stays for every run that has ended. A `Watcher`.

    Args:
        console: Where to draw. Where it is no terminal, only the lines that stay are written.
        hidden: Write nothing at all.
        runs: How many runs there are.
    """

    def __init__(self, console: Console, *, hidden: bool, runs: int) -> None:
        super().__init__(console, hidden=hidden)
        self._console, self._hidden, self._runs = console, hidden, runs
        self._ended = 0
        self._name = ""
        self._all = self._progress.add_task("runs", total=runs, state="")

    def on_run(self, name: str) -> None:
        """Name the run."""
        self._name = printable(name)
        self._progress.update(self._all, state=self._name)

    def on_start(self, folder: Path, tasks: int, trials: int, played_by: str) -> None:
        """Draw its empty bar."""
        self._solved = self._actions = self._errors = 0
        self._trial = 1
        super().on_start(folder, tasks, trials, played_by)

    def on_outcome(self, outcome: Outcome) -> None:
        """Take the bar away, and say how it went."""
        self._ended += 1
        for task in self._progress.task_ids:
            if task != self._all:
                self._progress.remove_task(task)
        self._progress.update(self._all, completed=self._ended, state="")
        if not self._hidden:
            line = f"{self._ended} of {self._runs}  {outcome.name}: {told(outcome)}"
            self._console.print(Text(printable(line)), soft_wrap=True)


def told(outcome: Outcome) -> str:
    """An outcome in words."""
    counts = ", ".join(f"{count} {status}" for status, count in (outcome.tasks or {}).items() if count)
    if outcome.why:
        return f"{outcome.status}: {outcome.why}"
    return f"{counts} in {outcome.seconds:.1f} s" if counts else f"{outcome.status} before"
