"""Where a sample of Inspect's stands: what is kept in its store, and what outlasts the process."""

import json
import weakref
from collections.abc import Sequence
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
from langgraph_reflexion.experiments.metrics import returned
from langgraph_reflexion.experiments.record import CHECKPOINTS, TRIALS
from langgraph_reflexion.experiments.rows import RowFile, TrialRow

Row = dict[str, Any]
"""A finished trial: a row of a run's record (`experiments.rows.TrialRow`), with the `answer` that the trial gave."""


def answer_of(rows: Sequence[Row]) -> Row | None:
    """Of a task's trials the one whose answer the loop returns; None before there is any."""
    return cast(Row, returned(cast(Sequence[TrialRow], rows))) if rows else None


class Sampled(StoreModel):
    """What the sample is, and what came of it. The store goes into the log, so that a log can be scored again."""

    sample: str = ""
    """The sample's id; empty where `place` has not been run."""
    epoch: int = 1
    task: dict[str, Any] = Field(default_factory=dict)
    """The environment's task."""
    status: str = "running"
    """How the task stands (`state.Status`)."""
    has_truth: bool = True
    """Whether there is an environment, which knows what is right."""
    max_trials: int = 0
    resumed: int = 0
    """With how many finished trials it was taken over from an earlier process."""
    rows: list[dict[str, Any]] = Field(default_factory=list)
    """The finished trials, in order."""


class Kept:
    """What an agent keeps of an evaluation: its graphs, and beside the log the checkpoints and the finished trials.

    Args:
        folder: Where they are kept; None for memory.

    Attributes:
        graphs: The graph of each epoch. They are the evaluation's own, as they learn what its models refuse.
    """

    def __init__(self, folder: Path | None) -> None:
        self.graphs: dict[int, StateGraph[Any, None, Any, Any]] = {}
        self.saver: BaseCheckpointSaver[Any] = InMemorySaver()
        self._trials: dict[str, dict[int, Row]] = {}
        self._file: RowFile | None = None
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            opened = ExitStack()
            self.saver = opened.enter_context(LatestSaver.open(folder / CHECKPOINTS))
            self._file = RowFile(folder / TRIALS)
            for _, row in self._file.rows():
                self._note(row)
            weakref.finalize(self, opened.close)

    def rows(self, thread: str, upto: int) -> list[Row]:
        """The first trials of a sample, in order, as far as they are known."""
        known = self._trials.get(thread, {})
        return [known[trial] for trial in range(1, upto + 1) if trial in known]

    def add(self, thread: str, row: Row) -> None:
        """Keep a finished trial; of several rows of the same trial the last one counts."""
        line = json.dumps({**row, "thread": thread}, ensure_ascii=False)
        row = json.loads(line)
        # What a checkpoint still holds of a sample that is taken up again is mostly here.
        if self._trials.get(thread, {}).get(row["trial"]) == row:
            return
        if self._file is not None:
            self._file.append(f"{line}\n".encode("utf-8", "replace"))
        self._note(row)

    def _note(self, row: Row) -> None:
        self._trials.setdefault(row["thread"], {})[row["trial"]] = row


class Shelf:
    """What is kept of each evaluation that an agent takes part in."""

    def __init__(self) -> None:
        self._kept: dict[str, Kept] = {}

    async def kept(self) -> Kept:
        """What is kept of the evaluation that is running here.

        It lies beside the log, under the id that a retried evaluation shares with the first one, so that a retry
        finds it. Where the log is on no local disk, it is in memory.
        """
        location = _log()
        if location not in self._kept:
            folder = _local(location)
            if folder is not None:
                header = await read_eval_log_async(location, header_only=True)
                folder /= f"reflexion-{header.eval.task_id}"
            # Another sample may have been quicker.
            if location not in self._kept:
                self._kept[location] = Kept(folder)
        return self._kept[location]


def _log() -> str:
    """Where the log of the running sample is; empty where that is not known: then a retried sample begins anew."""
    try:
        # Nothing public says it.
        from inspect_ai.log._samples import sample_active
    except ImportError:
        return ""
    return str(getattr(sample_active(), "log_location", ""))


def _local(location: str) -> Path | None:
    """The folder of a log, where it is a local one."""
    parts = urlsplit(location)
    if parts.scheme == "file":
        return Path(url2pathname(parts.path)).parent
    return Path(location).parent if location and "://" not in location else None
