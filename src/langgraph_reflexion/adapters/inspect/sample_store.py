"""The progress of a sample: in Inspect's store, and beside the log, where it outlasts the process."""

import json
import weakref
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit
from urllib.request import url2pathname

from inspect_ai.log import read_eval_log_async
from inspect_ai.util import StoreModel
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import StateGraph
from pydantic import Field

from langgraph_reflexion.checkpoints import LatestSaver
from langgraph_reflexion.experiments.metrics import final_answer
from langgraph_reflexion.experiments.record import CHECKPOINTS, TRIALS
from langgraph_reflexion.experiments.rows import JsonlFile, TrialRow

sample_active: Callable[[], Any] | None
try:
    # No public function returns the log of the running sample.
    from inspect_ai.log._samples import sample_active
except ImportError:
    sample_active = None

Row = dict[str, Any]
"""A finished trial: a row of a run's record (`experiments.rows.TrialRow`), with the `answer` that the trial gave."""


def answer_of(rows: Sequence[Row]) -> Row | None:
    """Return the trial whose answer the loop returns, or None before the first."""
    return cast(Row, final_answer(cast(Sequence[TrialRow], rows))) if rows else None


class SampleStore(StoreModel):
    """The sample and its result. Inspect writes the store into the log, so that a log can be scored again."""

    sample: str = ""
    """The sample's id; empty unless `sample_context` has run."""
    epoch: int = 1
    task: dict[str, Any] = Field(default_factory=dict)
    """The environment's task."""
    status: str = "running"
    """The task's status (`state.Status`)."""
    has_truth: bool = True
    """Whether there is an environment, which knows the truth."""
    max_trials: int = 0
    resumed: int = 0
    """Trials that an earlier process had finished."""
    rows: list[dict[str, Any]] = Field(default_factory=list)
    """The finished trials, in order."""


class EvalRecord:
    """An agent's part of an evaluation: its graphs, and beside the log the checkpoints and the finished trials.

    Args:
        folder: The folder of both; None for memory.

    Attributes:
        graphs: The graph of each epoch. They are the evaluation's own, as they learn which options its models refuse.
    """

    def __init__(self, folder: Path | None) -> None:
        self.graphs: dict[int, StateGraph[Any, None, Any, Any]] = {}
        self.saver: BaseCheckpointSaver[Any] = InMemorySaver()
        self._trials: dict[str, dict[int, Row]] = {}
        self._file: JsonlFile | None = None
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            opened = ExitStack()
            self.saver = opened.enter_context(LatestSaver.open(folder / CHECKPOINTS))
            self._file = JsonlFile(folder / TRIALS)
            for row in self._file.rows():
                self._note(row)
            weakref.finalize(self, opened.close)

    def rows(self, thread: str, upto: int) -> list[Row]:
        """Return the first trials of a sample, in order, as far as they are known."""
        known = self._trials.get(thread, {})
        return [known[trial] for trial in range(1, upto + 1) if trial in known]

    def add(self, thread: str, row: Row) -> None:
        """Record a finished trial. Of several rows about the same trial, the last one counts."""
        line = json.dumps({**row, "thread": thread}, ensure_ascii=False)
        row = json.loads(line)
        # The trial that a resumed sample's checkpoint holds is usually recorded already.
        if self._trials.get(thread, {}).get(row["trial"]) == row:
            return
        if self._file is not None:
            self._file.append(f"{line}\n".encode("utf-8", "replace"))
        self._note(row)

    def _note(self, row: Row) -> None:
        self._trials.setdefault(row["thread"], {})[row["trial"]] = row


class EvalRecords:
    """The records of the evaluations that an agent takes part in."""

    def __init__(self) -> None:
        self._records: dict[str, EvalRecord] = {}

    async def current(self) -> EvalRecord:
        """Return the record of the running evaluation.

        Its folder is beside the log, named after the id that a retried evaluation shares with the first, so that a
        retry finds it. If the log is not on a local disk, the record is in memory.
        """
        location = log_location()
        if location not in self._records:
            folder = _local(location)
            if folder is not None:
                header = await read_eval_log_async(location, header_only=True)
                folder /= f"reflexion-{header.eval.task_id}"
            # Another sample may have opened it meanwhile.
            if location not in self._records:
                self._records[location] = EvalRecord(folder)
        return self._records[location]


def log_location() -> str:
    """Return the path or URL of the running sample's log, or "" if it is unknown. Then a retry cannot resume."""
    return str(getattr(sample_active(), "log_location", "")) if sample_active else ""


def _local(location: str) -> Path | None:
    """Return the folder of a log on a local disk."""
    parts = urlsplit(location)
    if parts.scheme == "file":
        return Path(url2pathname(parts.path)).parent
    return Path(location).parent if location and "://" not in location else None
