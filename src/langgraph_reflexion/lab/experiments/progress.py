"""Live displays of a run and of an experiment in the terminal."""

import logging
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from time import monotonic
from typing import Self

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.text import Text

from langgraph_reflexion.lab.experiments.live_lines import InFlight, bar, cut, headline, rows
from langgraph_reflexion.lab.experiments.matrix import ExperimentObserver, RunOutcome
from langgraph_reflexion.lab.experiments.rows import TrialRow
from langgraph_reflexion.lab.experiments.scheduler import Observer
from langgraph_reflexion.lab.experiments.trial_view import VERDICTS, reason_of
from langgraph_reflexion.state import Step
from langgraph_reflexion.support.retries import WAITING
from langgraph_reflexion.support.text import count, printable


@dataclass
class _Tally:
    """The numbers of a run that goes on."""

    tasks: int
    trials: int
    """N trials that each task has at most."""
    ended: int = 0
    """N tasks that have ended."""
    restored: int = 0
    """N of them that an earlier process has ended."""
    solved: int = 0
    actions: int = 0
    """N actions of this process."""
    errors: int = 0
    tokens: int = 0
    cost: float = 0.0
    began: float = field(default_factory=monotonic)
    at_work: bool = False
    """Whether this process has begun a trial."""
    in_flight: dict[str, InFlight] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        return monotonic() - self.began

    @property
    def seconds_left(self) -> float | None:
        """The likely time to the end, from the tasks that this process has ended; None without one."""
        ended_here = self.ended - self.restored
        waiting = self.tasks - self.ended
        if not ended_here or not waiting:
            return None
        return self.seconds * waiting / ended_here


class LiveProgress(Observer):
    """A headline on standard error, and below it a row for each task in flight, as many as fit the terminal.

    The headline has the tasks that have ended, the time, the tasks that are solved, tokens, cost and actions. The
    display is drawn in terminals only, unless `hidden`. Events only leave values, which are read when it is drawn.

    Attributes:
        folder: The run folder; None before the run began.
        rows: N trials recorded so far.
    """

    def __init__(self, console: Console, *, hidden: bool) -> None:
        self._console = console
        self._hidden = hidden
        self._said: set[str] = set()
        self.folder: Path | None = None
        self.rows = 0
        self._waits = _Waits(self)
        self._waiting = ""
        self._created = monotonic()
        self._tally: _Tally | None = None
        self._live: Live | None = None
        drawable = console.is_terminal and not console.is_dumb_terminal
        if drawable and not hidden:
            self._live = Live(self, console=console, transient=True)

    def __enter__(self) -> Self:
        if self._live:
            self._live.start()
        WAITING.addHandler(self._waits)
        self._level = WAITING.level
        WAITING.setLevel(logging.INFO)
        return self

    def __exit__(self, *exception: object) -> None:
        WAITING.setLevel(self._level)
        WAITING.removeHandler(self._waits)
        if self._live:
            self._live.stop()

    def on_start(self, folder: Path, tasks: int, trials: int, played_by: str) -> None:
        if played_by and played_by not in self._said:
            self._said.add(played_by)
            line = printable(f"langgraph-reflexion: played by {played_by}")
            self._console.print(Text(line), soft_wrap=True)
        self.folder = folder
        self._tally = _Tally(tasks, trials)

    def on_wait(self, what: str) -> None:
        """The run waits for a slot of the model's server, or for the next attempt."""
        self._waiting = what

    def on_trial_start(self, task: str, trial: int) -> None:
        tally = self._begun
        if not tally.at_work:
            # What was ended before is not a measure of this process.
            tally.at_work = True
            tally.restored = tally.ended
        verdict = ""
        if task in tally.in_flight:
            verdict = tally.in_flight[task].verdict
        tally.in_flight[task] = InFlight(task, trial, verdict=verdict)

    def on_action(self, task: str, step: Step) -> None:
        tally = self._begun
        tally.actions += 1
        self._waiting = ""
        now = tally.in_flight[task]
        now.step = step["number"]
        if step["action"]:
            now.action = step["action"]["text"]

    def on_trial(self, row: TrialRow, finished: bool) -> None:
        self.rows += 1
        tally = self._begun
        if row["verdict"] and row["success"] is not False:
            tally.solved += 1
        self._waiting = ""
        # What is spent now: replies out of a cache are free.
        tally.tokens += row["input_tokens"] + row["output_tokens"]
        tally.cost += row["cost"]
        if finished:
            tally.ended += 1
            tally.in_flight.pop(row["task_id"], None)
            return
        tally.in_flight[row["task_id"]] = InFlight(row["task_id"], row["trial"], verdict=_words(row), waits=True)

    def on_error(self, task: str, error: str) -> None:
        tally = self._begun
        tally.errors += 1
        tally.ended += 1
        tally.in_flight.pop(task, None)
        self._say(f"langgraph-reflexion: {task}: {error}")

    def on_repair(self, task: str, what: str) -> None:
        self._say(f"langgraph-reflexion: {task}: {what}")

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = options.max_width
        # The run goes on in another thread, which may replace its numbers.
        tally = self._tally
        lines = [headline(parts, width) for parts in self._headlines(tally)]
        if self._waiting:
            lines.append(cut(Text(printable(self._waiting), "dim"), width))
        if tally:
            # A copy in one step.
            tasks = tuple(tally.in_flight.values())
            going_on = [task for task in tasks if not task.waits]
            # One line is left for the cursor.
            free = options.size.height - len(lines) - 1
            lines += rows(going_on, tally.trials, free, width)
        yield from lines

    @property
    def _begun(self) -> _Tally:
        assert self._tally  # `on_start` comes first
        return self._tally

    def _say(self, line: str) -> None:
        if not self._hidden:
            self._console.print(Text(printable(line)), soft_wrap=True)

    def _headlines(self, tally: _Tally | None) -> list[dict[str, Text]]:
        """Return the parts of each headline."""
        if tally:
            return [_parts(tally)]
        elapsed = _time(monotonic() - self._created)
        return [{"count": Text("starting: models, environment, record"), "elapsed": elapsed}]


def _parts(tally: _Tally) -> dict[str, Text]:
    """Return the parts of a run's headline, in their order."""
    parts = {"count": Text(f"tasks {tally.ended}/{tally.tasks}"), "bar": bar(tally.ended, tally.tasks)}
    parts["elapsed"] = _time(tally.seconds)
    left = tally.seconds_left
    if left is not None:
        parts["left"] = _time(left).append(" left")
    parts["solved"] = Text(f"solved {tally.solved}")
    parts["tokens"] = Text(f"{_short(tally.tokens)} tokens")
    if tally.cost:
        parts["cost"] = Text(f"cost {tally.cost:.4f}")
    parts["actions"] = Text(f"{tally.actions} actions")
    if tally.errors:
        parts["errors"] = Text(count(tally.errors, "error"))
    return parts


def _words(row: TrialRow) -> str:
    """Return the verdict on a trial that is not its task's last."""
    reason = reason_of(row)
    if reason:
        return f"failed: {reason}"
    return VERDICTS[row["verdict"]]


def _time(seconds: float) -> Text:
    return Text(str(timedelta(seconds=round(seconds))))


def _short(number: int) -> str:
    """Return a number in few characters."""
    if number >= 1_000_000:
        return f"{number / 1e6:.1f}M"
    if number >= 1000:
        return f"{number / 1000:.1f}k"
    return str(number)


class _Waits(logging.Handler):
    """Passes on what is logged as waiting."""

    def __init__(self, progress: LiveProgress) -> None:
        super().__init__()
        self._progress = progress

    def emit(self, record: logging.LogRecord) -> None:
        self._progress.on_wait(record.getMessage())


class ExperimentProgress(LiveProgress, ExperimentObserver):
    """The same below a headline of the N `runs`, and a line that stays for each run that has ended."""

    def __init__(self, console: Console, *, hidden: bool, runs: int) -> None:
        super().__init__(console, hidden=hidden)
        self._runs = runs
        self._ended = 0
        self._name = ""

    def on_run(self, name: str) -> None:
        self._name = name

    def on_outcome(self, outcome: RunOutcome) -> None:
        self._ended += 1
        self._name = ""
        self._tally = None
        what = f"{outcome.in_words} in {outcome.seconds:.1f} s"
        if outcome.why:
            what = f"{outcome.status}: {outcome.why}"
        self._say(f"{self._ended} of {self._runs}  {outcome.name}: {what}")

    def _headlines(self, tally: _Tally | None) -> list[dict[str, Text]]:
        parts = {"count": Text(f"runs {self._ended}/{self._runs}"), "bar": bar(self._ended, self._runs)}
        parts["elapsed"] = _time(monotonic() - self._created)
        if self._name:
            parts["name"] = Text(printable(self._name))
        headlines = super()._headlines(tally)
        headlines.insert(0, parts)
        return headlines
