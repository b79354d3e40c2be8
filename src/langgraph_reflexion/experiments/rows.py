"""The rows of a run's record, and the files that they are added to."""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NotRequired, TypedDict

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.models.usage import Usage
from langgraph_reflexion.state import Evaluation, Step


class TrialRow(TypedDict):
    """A finished trial, as a row of `trials.jsonl`."""

    task_id: str
    trial: int
    """Counted from 1."""
    success: bool | None
    """The truth; None where it is not known."""
    gradable: NotRequired[bool]
    """False where the task has no truth that could be known, and counts for no rate."""
    verdict: bool | None
    """The evaluator's; None for a fault or on a budget."""
    score: float | None
    stop_reason: str
    actions: int
    llm_calls: int
    """The trial's, its verdict's and its reflection's, and so are the tokens."""
    cached_calls: int
    input_tokens: int
    output_tokens: int
    cost: float
    usage: dict[str, Usage]
    """Calls, tokens and cost by node."""
    measures: dict[str, float]
    """The environment's measures besides the truth, such as F1."""
    reflection: str | None
    """The reflection that followed this trial."""
    notes: list[str]
    """Irregularities."""
    lessons: NotRequired[list[str]]
    """The ids of the lessons that it was told, in runs with lessons."""
    fault: str
    """The trouble outside the agent; empty without any."""
    seconds: float
    """Wall time spent in the trial's nodes, by whatever process."""


class TrajectoryRow(TypedDict):
    """A finished trial, as a row of `trajectories.jsonl`."""

    task_id: str
    trial: int
    observation: str
    """The first observation."""
    steps: list[Step]
    evaluation: Evaluation | None


class Finished(NamedTuple):
    """A finished trial, as it is recorded."""

    row: TrialRow
    trajectory: TrajectoryRow
    files: dict[str, str] = {}
    """Files that belong to it: the path below the run folder, and the text."""


Key = tuple[str, int]
"""The subject of a row: a task, by its id, and a trial."""


def key_of(row: Any) -> Key:
    """Return the subject of a row. Of several rows about the same trial the last one counts."""
    return row["task_id"], row["trial"]


def row_order(tasks: Sequence[str]) -> Callable[[Key], tuple[int, int]]:
    """A sort key: the tasks as they stand in `run.json`, then the trial."""
    position = {task: index for index, task in enumerate(tasks)}
    return lambda key: (position[key[0]], key[1])


def whole_lines(path: Path) -> Iterator[bytes]:
    """The lines of a file, if it is there, without the last one where its writer was killed while it wrote it."""
    if path.exists():
        with path.open("rb") as file:
            yield from (line for line in file if line.endswith(b"\n"))


class RowFile:
    """A file of JSON lines, to which rows are added one at a time.

    A line that a killed process left unfinished is cut off when the file is opened.

    Args:
        path: The file; it is made.

    Raises:
        OSError: it cannot be written to.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        size = sum(map(len, whole_lines(path)))
        if size < path.stat().st_size:
            os.ftruncate(self._descriptor, size)

    def rows(self) -> Iterator[tuple[bytes, Any]]:
        """Every line, and what it says.

        Raises:
            ConfigurationError: a line cannot be read.
        """
        for number, line in enumerate(whole_lines(self.path), 1):
            try:
                row = json.loads(line)
                key_of(row)
            except (ValueError, KeyError, TypeError) as error:
                raise ConfigurationError(f"{self.path}, line {number}, cannot be read: {error}") from error
            yield line, row

    def append(self, line: bytes) -> None:
        """Add a line, in one write, so that whoever reads at the same time finds at most the last line torn."""
        if os.write(self._descriptor, line) != len(line):
            raise OSError(f"the disk of {self.path.parent} is full")

    def close(self, order: Callable[[Key], tuple[int, int]]) -> None:
        """Leave one row of each trial, in this order, whatever order they were added in."""
        os.close(self._descriptor)
        keys = [key_of(row) for _, row in self.rows()]
        lines = dict(zip(keys, whole_lines(self.path), strict=True))
        final = sorted(lines, key=order)
        if final != keys:
            write_whole(self.path, (lines[key] for key in final))


def write_whole(path: Path, lines: Iterable[bytes]) -> None:
    """Write a file so that, whenever this process is killed, either the old or the new one is there."""
    temporary = path.with_name(f"{path.name}.tmp")
    with temporary.open("wb") as file:
        file.writelines(lines)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
