"""The live display of a run in the terminal."""

from pathlib import Path
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from langgraph_reflexion.experiments.printable import printable
from langgraph_reflexion.experiments.rows import TrialRow


class LiveProgress:
    """One line on standard error: tasks done, solved so far, the current trial, actions taken. An `Observer`.

    Args:
        console: Where to draw. Nothing is drawn where it is no terminal.
        hidden: Draw nothing at all.
        notice: What is said when the run begins, in one line, drawing or not.

    Attributes:
        folder: Where the run is recorded; None before it began.
        rows: How many trials were recorded so far.
    """

    def __init__(self, console: Console, *, hidden: bool, notice: str = "") -> None:
        self._notice, self._hidden = notice, hidden
        self._said: set[str] = set()
        self.folder: Path | None = None
        self.rows = 0
        self._solved = self._actions = self._trials = self._errors = 0
        self._trial = 1
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            MofNCompleteColumn(),
            TextColumn("· {task.fields[state]} ·"),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=hidden or not console.is_terminal or console.is_dumb_terminal,
        )

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._progress.stop()

    def on_start(self, folder: Path, tasks: int, trials: int, played_by: str) -> None:
        """Draw the empty bar, below the notice and the name of the engine."""
        for notice in (self._notice, printable(f"played by {played_by}") if played_by else ""):
            if notice and notice not in self._said:
                self._said.add(notice)
                self._progress.console.print(Text(f"langgraph-reflexion: {notice}"), soft_wrap=True)
        self.folder, self._trials = folder, trials
        self._bar = self._progress.add_task("tasks", total=tasks, state=self._state())

    def on_action(self) -> None:
        """Count an action."""
        self._actions += 1
        self._progress.update(self._bar, state=self._state())

    def on_trial(self, row: TrialRow, finished: bool) -> None:
        """Count a trial, and its task where it is finished."""
        self.rows += 1
        self._solved += bool(row["verdict"]) and row["success"] is not False
        self._trial = max(self._trial, row["trial"] + (not finished))
        self._progress.update(self._bar, advance=int(finished), state=self._state())

    def on_error(self, task: str, error: str) -> None:
        """Count a task that ended by an error, and say which in a line that stays."""
        self._errors += 1
        if not self._hidden:
            self._progress.console.print(Text(printable(f"langgraph-reflexion: {task}: {error}")), soft_wrap=True)
        self._progress.update(self._bar, advance=1, state=self._state())

    def _state(self) -> str:
        errors = f" · {self._errors} error{'s' * (self._errors > 1)}" if self._errors else ""
        return f"solved {self._solved} · trial {self._trial} of {self._trials} · {self._actions} actions{errors}"
