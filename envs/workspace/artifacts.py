"""The files of a task's trials in a run folder, for people to read.

task-ID/
    reflections.jsonl       one row per trial: its error, its reflection, what failed
    attempts/               trial-N.patch: the trial's changes
    verification/           trial-N.txt: the whole output of the verification commands
    final-output/           of a solved task: result.patch and verification.txt
"""

import json
import operator
import os
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from langgraph_reflexion.envs.base import FinishedTrial, Review
from langgraph_reflexion.envs.workspace.verification import Verification


@dataclass(frozen=True)
class TrialFiles:
    """Stores verifications as they happen, and collects the files of each trial.

    A trial is reviewed after its end, perhaps by another process, so what verification said is kept in the store.
    """

    folder: Path
    """The folder in the store for this run of the task."""
    task: str
    """The task's id."""

    def keep(self, tree: str, verification: Verification) -> None:
        """Store the verification of a tree."""
        kept = {
            "error": verification.error,
            "context": verification.context,
            "transcript": verification.transcript,
            "reverted": len(verification.reverted),
        }
        self._write(f"{tree}.json", kept)

    def review(self, trial: FinishedTrial, patch: str, changed: int) -> Review:
        """Return the files and measures of a trial whose patch changes N files."""
        # It becomes part of a file's name.
        number = operator.index(trial["number"])
        snapshot = trial["snapshot"] or {}
        kept = self._read(f"{snapshot['tree']}.json")
        if not kept:
            kept = {
                "error": f"not verified: {trial['stop_reason']}",
                "context": {"test_failures": [], "linter_errors": []},
                "transcript": "The trial was not verified.\n",
                "reverted": 0,
            }
        self._add_row(number, trial, kept)
        base = f"task-{self.task}"
        files = {
            f"{base}/reflections.jsonl": self._reflections(number),
            f"{base}/attempts/trial-{number}.patch": patch,
            f"{base}/verification/trial-{number}.txt": kept["transcript"],
        }
        if trial["verdict"]:
            files[f"{base}/final-output/result.patch"] = patch
            files[f"{base}/final-output/verification.txt"] = kept["transcript"]
        measures = {
            "files_changed": float(changed),
            "lines_added": float(_count_lines(patch, "+", "+++ ")),
            "lines_removed": float(_count_lines(patch, "-", "--- ")),
            "protected_changed": float(kept["reverted"]),
        }
        return Review(measures=measures, files=files)

    def _add_row(self, number: int, trial: FinishedTrial, kept: dict[str, Any]) -> None:
        """Store the row of a trial."""
        row = {
            "trial": number,
            "error": kept["error"],
            "reflection": trial["reflection"],
            "timestamp": datetime.now(UTC).isoformat(timespec="seconds"),
            "verification_context": kept["context"],
        }
        before = self._read(f"trial-{number}.json")
        if before and before["reflection"] == row["reflection"]:
            # Another review changes nothing.
            row["timestamp"] = before["timestamp"]
        self._write(f"trial-{number}.json", row)

    def _reflections(self, last: int) -> str:
        """Return the rows of the trials up to the last one, as JSON lines."""
        text = ""
        for number in range(1, last + 1):
            row = self._read(f"trial-{number}.json")
            if row:
                text += f"{json.dumps(row, ensure_ascii=False)}\n"
        return text

    def _read(self, name: str) -> Any:
        with suppress(FileNotFoundError):
            return json.loads((self.folder / name).read_text(encoding="utf-8"))
        return None

    def _write(self, name: str, content: Any) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        # Another process may read it, so it changes as a whole.
        temporary = self.folder / f"{name}.{os.getpid()}.tmp"
        text = json.dumps(content, ensure_ascii=False)
        temporary.write_text(text, encoding="utf-8", errors="replace")
        temporary.replace(self.folder / name)


def _count_lines(patch: str, sign: str, header: str) -> int:
    """Return the number of a patch's lines that begin with a sign, without those that name a file."""
    count = 0
    for line in patch.split("\n"):
        if line.startswith(sign) and not line.startswith(header):
            count += 1
    return count
