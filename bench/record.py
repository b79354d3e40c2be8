"""The run folder: what a run was, and one row for each finished trial.

    run.json            settings, tasks in their order, versions
    trials.jsonl        one row per finished trial
    trajectories.jsonl  the same trials, every step whole

A trial's trajectory is written before its row, so that a row in `trials.jsonl` means that the trial is
complete.
"""

import contextlib
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict, cast

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.graph.state import Evaluation, Step

RUN, TRIALS, TRAJECTORIES = "run.json", "trials.jsonl", "trajectories.jsonl"


class TrialRow(TypedDict):
    """A finished trial, as a row of `trials.jsonl`."""

    task_id: str
    trial: int
    """Counted from 1."""
    success: bool | None
    """The truth; None where it is not known."""
    verdict: bool | None
    """What the evaluator said; None for a fault."""
    score: float | None
    stop_reason: str
    actions: int
    llm_calls: int
    """The trial's, its verdict's and its reflection's, and so are the tokens."""
    input_tokens: int
    output_tokens: int
    reflection: str | None
    """The reflection that followed this trial."""
    fault: str
    """What went wrong outside the agent; empty when nothing did."""
    seconds: float


class TrajectoryRow(TypedDict):
    """A finished trial, as a row of `trajectories.jsonl`."""

    task_id: str
    trial: int
    observation: str
    """What the actor saw first."""
    steps: list[Step]
    evaluation: Evaluation | None


class RunRecord:
    """Writes a run folder, one row at a time.

    Args:
        folder: The folder; it is made. It must not hold a run already.
        info: What `run.json` says; `info["tasks"]` gives the order of the rows at the end.
        secrets: What is blotted out wherever it turns up, such as a key that a server's error message quotes.

    Raises:
        ConfigurationError: the folder holds a run, or cannot be made.
    """

    def __init__(self, folder: Path, info: dict[str, Any], secrets: Sequence[str] = ()) -> None:
        self.folder = folder
        self.rows = 0
        self._secrets = secrets
        self._tasks: list[str] = info["tasks"]
        self._descriptors: list[int] = []
        if any((folder / name).exists() for name in (RUN, TRIALS, TRAJECTORIES)):
            raise ConfigurationError(f"{folder} already holds a run: choose another --out")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with (folder / RUN).open("x", encoding="utf-8") as file:
                file.write(self.without_secrets(json.dumps(info, indent=2, ensure_ascii=False)) + "\n")
            self._trials, self._trajectories = self._open(TRIALS), self._open(TRAJECTORIES)
        except OSError as error:
            raise ConfigurationError(f"cannot write the run to {folder}: {error.strerror}") from error

    def append(self, row: TrialRow, trajectory: TrajectoryRow) -> None:
        """Add a finished trial: its trajectory first, as its row says that all of it is there."""
        self._write(self._trajectories, trajectory)
        self._write(self._trials, row)
        self.rows += 1

    def close(self) -> None:
        """Put the rows in task-then-trial order, whatever order they finished in.

        A run without a row leaves nothing behind.
        """
        while self._descriptors:
            os.close(self._descriptors.pop())
        if self.rows:
            order = row_order(self._tasks)
            for name in (TRIALS, TRAJECTORIES):
                _sort(self.folder / name, order)
            return
        for name in (TRIALS, TRAJECTORIES, RUN):
            (self.folder / name).unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # it held something else before
            self.folder.rmdir()

    def without_secrets(self, text: str) -> str:
        """A text with every secret blotted out."""
        for secret in self._secrets:
            for written in (secret, json.dumps(secret, ensure_ascii=False)[1:-1]):
                text = text.replace(written, "[secret]")
        return text

    def _open(self, name: str) -> int:
        descriptor = os.open(self.folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)
        self._descriptors.append(descriptor)
        return descriptor

    def _write(self, descriptor: int, row: TrialRow | TrajectoryRow) -> None:
        line = (self.without_secrets(json.dumps(row, ensure_ascii=False)) + "\n").encode("utf-8", "replace")
        # One write, so that whoever reads at the same time finds at most its last line torn.
        if os.write(descriptor, line) != len(line):
            raise OSError(f"the disk of {self.folder} is full")


@dataclass(frozen=True)
class Run:
    """A run folder as read: its `run.json`, and its trials in task-then-trial order."""

    folder: Path
    info: dict[str, Any]
    trials: list[TrialRow]

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that it ran under."""
        return cast(dict[str, Any], self.info["settings"])


def read_run(folder: Path) -> Run:
    """Read a run folder, finished or not.

    Raises:
        ConfigurationError: there is no run in it.
    """
    try:
        info = json.loads((folder / RUN).read_text(encoding="utf-8"))
        lines = (folder / TRIALS).read_bytes().splitlines(keepends=True)
        order = row_order(info["tasks"])
        rows = {(row["task_id"], row["trial"]): row for row in (json.loads(line) for line in whole(lines))}
        trials = sorted(rows.values(), key=order)
        info["settings"]["environment"]
    except FileNotFoundError as error:
        raise ConfigurationError(f"{folder} holds no run: there is no {Path(error.filename).name}") from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigurationError(f"{folder} holds no run that can be read: {error}") from error
    return Run(folder, info, cast(list[TrialRow], trials))


def whole(lines: list[bytes]) -> list[bytes]:
    """The lines without the last one, should the writer have been killed while it wrote it."""
    return lines[:-1] if lines and not lines[-1].endswith(b"\n") else lines


def row_order(tasks: Sequence[str]) -> Callable[[Any], tuple[int, int]]:
    """A sort key for rows: the tasks as they stand in `run.json`, then the trial."""
    position = {task: index for index, task in enumerate(tasks)}
    return lambda row: (position[row["task_id"]], row["trial"])


def free_folder(base: Path, stem: str) -> Path:
    """The first of `base/stem-1`, `base/stem-2`, ... that is free."""
    number = 1
    while (base / f"{stem}-{number}").exists():
        number += 1
    return base / f"{stem}-{number}"


def _sort(path: Path, order: Callable[[Any], tuple[int, int]]) -> None:
    lines = whole(path.read_bytes().splitlines(keepends=True))
    lines.sort(key=lambda line: order(json.loads(line)))
    temporary = path.with_suffix(".tmp")
    with temporary.open("wb") as file:
        file.writelines(lines)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
