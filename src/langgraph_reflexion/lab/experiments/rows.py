"""Rows of a run's record, and the JSON Lines files that hold them."""

import errno
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, NotRequired

from typing_extensions import TypedDict  # pydantic makes schemas of these alone before Python 3.12

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.models.recorded import SentCall, Usage

# A record is read without LangGraph, which the state imports.
if TYPE_CHECKING:
    from langgraph_reflexion.state import Evaluation, RecalledLesson, Step


class TrialRow(Usage):
    """A finished trial, as a row of `trials.jsonl`, with the usage of the trial, its verdict and its reflection."""

    task_id: str
    trial: int
    """Counted from 1."""
    success: bool | None
    """The truth; None if it is unknown."""
    gradable: NotRequired[bool]
    """False if the task's truth cannot be known, so that no rate counts it."""
    verdict: bool | None
    """The evaluator's; None for a fault or on a budget."""
    score: float | None
    unverified: NotRequired[bool]
    """True if nothing could be checked, so that the verdict says nothing about the trial; absent otherwise."""
    stop_reason: str
    actions: int
    usage: dict[str, Usage]
    """Calls, tokens and cost by node."""
    measures: dict[str, float]
    """The environment's measures besides the truth, such as F1."""
    reflection: str | None
    """The reflection that followed this trial."""
    notes: list[str]
    """Irregularities."""
    lessons: NotRequired["list[RecalledLesson]"]
    """The lessons in its prompts, in runs with lessons."""
    fault: str
    """A failure outside the agent; empty without one."""
    seconds: float
    """Wall time spent in the trial's nodes, in all processes."""
    observation: NotRequired[str]
    """The first observation."""
    steps: NotRequired["list[Step]"]
    evaluation: NotRequired["Evaluation | None"]
    result: NotRequired[Any]
    """The result of an agent's trial."""
    prepared: NotRequired[dict[str, Any]]
    """In the row of a first trial: what was prepared for the task in its environment."""


TrajectoryField = Literal["observation", "steps", "evaluation", "result", "prepared"]
TRAJECTORY: tuple[TrajectoryField, ...] = ("observation", "steps", "evaluation", "result", "prepared")
"""The fields of a row that hold what happened, and may be large."""


def add_trajectory(row: TrialRow, state: Mapping[str, Any]) -> None:
    """Add to a row what happened in its trial, which is the current one of a state, and its lessons."""
    row["observation"] = state["episode"]["observation"]
    row["steps"] = state["trajectory"]
    row["evaluation"] = None
    if _is_judged(state):
        row["evaluation"] = state["evaluation"]
    if "lessons" in state:
        row["lessons"] = state["lessons"]
    # What is prepared for a wrapped agent is its world, and may be large.
    of_agent = "attempt" in state
    if of_agent and state["attempt"]:
        row["result"] = state["attempt"]["result"]
    prepared = state["task"].get("prepared")
    if state["trial"] == 1 and prepared and not of_agent:
        row["prepared"] = prepared


def add_reused_tokens(row: TrialRow, usage: Usage) -> None:
    """Add to a row the tokens of its cached calls, if it had any."""
    if "reused_input_tokens" in usage and "reused_output_tokens" in usage:
        row["reused_input_tokens"] = usage["reused_input_tokens"]
        row["reused_output_tokens"] = usage["reused_output_tokens"]


def _is_judged(state: Mapping[str, Any]) -> bool:
    """Return whether the evaluation in a state is that of its current trial, and not of the trial before."""
    if not state["trials"]:
        return False
    last = state["trials"][-1]
    return last["trial"] == state["trial"] and last["verdict"] is not None


class Finished(NamedTuple):
    """A finished trial, as it is recorded."""

    row: TrialRow
    files: dict[str, str] = {}
    """Files that belong to it: the path below the run folder, and the text."""
    calls: list[SentCall] = []
    """Its model calls."""


class CallsRow(TypedDict):
    """The model calls of a finished trial, as a row of `prompts.jsonl`; `experiments.read_prompts` reads them."""

    task_id: str
    trial: int
    calls: list[SentCall]


Key = tuple[str, int]
"""A task's id and the number of a trial."""


def key_of(row: Any) -> Key:
    """Return the key of a row. Of several rows with the same key, the last one counts."""
    return row["task_id"], row["trial"]


LONGEST_NOTE = 1000
"""Characters of a note that reports show."""


def brief(row: TrialRow) -> TrialRow:
    """Return a row without its trajectory, with notes that a report can show."""
    short = row.copy()
    for name in TRAJECTORY:
        short.pop(name, None)
    short["notes"] = [note[:LONGEST_NOTE] for note in row["notes"]]
    return short


def row_order(tasks: Sequence[str]) -> Callable[[Key], tuple[int, int]]:
    """Return a sort key: the tasks in the order of `run.json`, then the trial. Other tasks come last."""
    position = {task: index for index, task in enumerate(tasks)}
    last = len(position)

    def order(key: Key) -> tuple[int, int]:
        task, trial = key
        return position.get(task, last), trial

    return order


def complete_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file if it exists, except an incomplete last one, whose writer was killed."""
    if not path.exists():
        return
    with path.open("rb") as file:
        for line in file:
            if line.endswith(b"\n"):
                yield line


def row_of(line: bytes) -> Any:
    """Return the row in a line; None if it is not JSON, or has no key, as after a power cut."""
    with suppress(ValueError, KeyError, TypeError, RecursionError):
        row = json.loads(line)
        task, trial = key_of(row)
        # `true` is not a number of a trial, though Python takes it for 1.
        if type(task) is str and type(trial) is int:
            return row
    return None


class JsonlFile:
    """A file of JSON lines, to which rows are added one at a time.

    An incomplete last line, left by a killed process, is removed when the file is opened.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        size = sum(map(len, complete_lines(path)))
        if size < path.stat().st_size:
            os.ftruncate(self._descriptor, size)

    def rows(self) -> Iterator[tuple[bytes, Any]]:
        """Yield every line that can be read, with its content; a power cut may leave others."""
        for line in complete_lines(self.path):
            row = row_of(line)
            if row is not None:
                yield line, row

    def append(self, line: bytes) -> None:
        """Add a line in one write, so that a concurrent reader finds at most the last line incomplete."""
        with writing(self.path):
            written = os.write(self._descriptor, line)
            if written != len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def remove(self, task: str) -> None:
        """Remove the rows of a task."""
        kept = [line for line, row in self.rows() if row["task_id"] != task]
        atomic_write(self.path, kept)
        os.close(self._descriptor)
        self._descriptor = os.open(self.path, os.O_RDWR | os.O_APPEND)

    def close(self, order: Callable[[Key], tuple[int, int]]) -> None:
        """Keep one row of each trial, in this order."""
        os.close(self._descriptor)
        # Of several rows of a trial, the last one counts.
        lines = {key_of(row): line for line, row in self.rows()}
        final = [lines[key] for key in sorted(lines, key=order)]
        written = list(complete_lines(self.path))
        if final != written:
            atomic_write(self.path, final)


def atomic_write(path: Path, lines: Iterable[bytes]) -> None:
    """Replace a file so that a crash leaves either the old or the new one."""
    temporary = path.with_name(f"{path.name}.tmp")
    with writing(path):
        # One that a crash has left, or a link, through which another file would be written.
        temporary.unlink(missing_ok=True)
        with temporary.open("xb") as file:
            file.writelines(lines)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Name the file in the error if it cannot be written."""
    try:
        yield
    except OSError as error:
        why = error.strerror or error
        raise ConfigurationError(f"cannot write {path}: {why}: mend that, and resume the run") from error
