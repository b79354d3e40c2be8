"""Live displays of a run and of an experiment in the terminal."""

import logging
from datetime import timedelta
from pathlib import Path
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, Task, TextColumn, TimeElapsedColumn
from rich.text import Text

from langgraph_reflexion.lab.experiments.matrix import ExperimentObserver, RunOutcome
from langgraph_reflexion.lab.experiments.metrics import tokens
from langgraph_reflexion.lab.experiments.rows import TrialRow
from langgraph_reflexion.lab.experiments.runner import in_words
from langgraph_reflexion.lab.experiments.scheduler import Observer
from langgraph_reflexion.support.retries import WAITING
from langgraph_reflexion.support.text import count, printable

SHOWN = 70
"""Characters of what the run waits for."""


class LiveProgress(Observer):
    """One line on standard error: tasks done, time, solved so far, trial, tokens, cost, actions, what it waits for.

    It is drawn in terminals only, unless `hidden`.

    Attributes:
        folder: The run folder; None before the run began.
        rows: N trials recorded so far.
    """

    def __init__(self, console: Console, *, hidden: bool) -> None:
        self._hidden = hidden
        self._said: set[str] = set()
        self.folder: Path | None = None
        self.rows = 0
        self._waits = _Waits(self)
        self._waiting = ""
        drawable = console.is_terminal and not console.is_dumb_terminal
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=10),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[state]}"),
            console=console,
            transient=True,
            disable=hidden or not drawable,
        )

    def __enter__(self) -> Self:
        self._progress.start()
        self._bar = self._progress.add_task("starting", total=None, state="models, environment, record")
        WAITING.addHandler(self._waits)
        self._level = WAITING.level
        WAITING.setLevel(logging.INFO)
        return self

    def __exit__(self, *exception: object) -> None:
        WAITING.setLevel(self._level)
        WAITING.removeHandler(self._waits)
        self._progress.stop()

    def on_start(self, folder: Path, tasks: int, trials: int, played_by: str) -> None:
        if played_by and played_by not in self._said:
            self._said.add(played_by)
            line = printable(f"langgraph-reflexion: played by {played_by}")
            self._progress.console.print(Text(line), soft_wrap=True)
        self.folder = folder
        self._trials = trials
        self._trial = 1
        self._solved = 0
        self._actions = 0
        self._errors = 0
        self._tokens = 0
        self._cost = 0.0
        if self._bar in self._progress.task_ids:
            self._progress.remove_task(self._bar)
        self._bar = self._progress.add_task("tasks", total=tasks, state="")
        self._restored = 0.0
        self._update()

    def on_wait(self, what: str) -> None:
        """The run waits for a slot of the model's server, or for the next attempt."""
        self._waiting = printable(what)
        if self.folder:
            self._update()

    def on_action(self) -> None:
        # What was finished before the first action is not a measure of this process.
        if not self._actions:
            self._restored = self._task.completed
        self._actions += 1
        self._waiting = ""
        self._update()

    def on_trial(self, row: TrialRow, finished: bool) -> None:
        self.rows += 1
        if row["verdict"] and row["success"] is not False:
            self._solved += 1
        trial = row["trial"]
        if not finished:
            trial += 1
        self._trial = max(self._trial, trial)
        self._tokens += tokens(row)
        self._cost += row["cost"]
        self._update(advance=int(finished))

    def on_error(self, task: str, error: str) -> None:
        self._errors += 1
        self._say(f"langgraph-reflexion: {task}: {error}")
        self._update(advance=1)

    def on_repair(self, task: str, what: str) -> None:
        self._say(f"langgraph-reflexion: {task}: {what}")

    def _say(self, line: str) -> None:
        if not self._hidden:
            self._progress.console.print(Text(printable(line)), soft_wrap=True)

    def _update(self, advance: int = 0) -> None:
        parts: list[str] = []
        left = self._left()
        if left:
            parts.append(left)
        parts.append(f"solved {self._solved}")
        parts.append(f"trial {self._trial} of {self._trials}")
        parts.append(f"{_short(self._tokens)} tokens")
        if self._cost:
            parts.append(f"cost {self._cost:.4f}")
        parts.append(f"{self._actions} actions")
        if self._errors:
            parts.append(count(self._errors, "error"))
        if self._waiting:
            parts.append(_cut(self._waiting))
        self._progress.update(self._bar, advance=advance, state=" · ".join(parts))

    @property
    def _task(self) -> Task:
        return next(each for each in self._progress.tasks if each.id == self._bar)

    def _left(self) -> str:
        """Return the likely time to the end, from the tasks that this process has finished; empty without one."""
        task = self._task
        done = task.completed - self._restored
        if not done or not task.total:
            return ""
        waiting = task.total - task.completed
        if waiting <= 0:
            return ""
        elapsed = task.elapsed or 0.0
        seconds = round(elapsed * waiting / done)
        return f"{timedelta(seconds=seconds)} left"


def _short(number: int) -> str:
    """Return a number in few characters."""
    if number >= 1_000_000:
        return f"{number / 1e6:.1f}M"
    if number >= 1000:
        return f"{number / 1000:.1f}k"
    return str(number)


def _cut(text: str) -> str:
    """Return what the run waits for, cut to `SHOWN` characters."""
    if len(text) <= SHOWN:
        return text
    return f"{text[: SHOWN - 1]}…"


class _Waits(logging.Handler):
    """Passes on what is logged as waiting."""

    def __init__(self, progress: LiveProgress) -> None:
        super().__init__()
        self._progress = progress

    def emit(self, record: logging.LogRecord) -> None:
        self._progress.on_wait(record.getMessage())


class ExperimentProgress(LiveProgress, ExperimentObserver):
    """Two lines on standard error, and one that stays for each of the N `runs` that has ended."""

    def __init__(self, console: Console, *, hidden: bool, runs: int) -> None:
        super().__init__(console, hidden=hidden)
        self._runs = runs
        self._ended = 0
        self._all = self._progress.add_task("runs", total=runs, state="")

    def on_run(self, name: str) -> None:
        self._progress.update(self._all, state=printable(name))

    def on_outcome(self, outcome: RunOutcome) -> None:
        self._ended += 1
        for task in self._progress.task_ids:
            if task != self._all:
                self._progress.remove_task(task)
        self._progress.update(self._all, completed=self._ended, state="")
        what = f"{in_words(outcome.tasks)} in {outcome.seconds:.1f} s"
        if outcome.why:
            what = f"{outcome.status}: {outcome.why}"
        self._say(f"{self._ended} of {self._runs}  {outcome.name}: {what}")
