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
        kept = {"error": verification.error, "context": verification.context, "transcript": verification.transcript}
        self._write(f"{tree}.json", kept | {"reverted": len(verification.reverted)})

    def review(self, trial: FinishedTrial, patch: str, changed: int) -> Review:
        """Return the files and measures of a trial whose patch changes N files."""
        # It becomes part of a file's name.
        number, base = operator.index(trial["number"]), f"task-{self.task}"
        kept = self._read(f"{(trial['snapshot'] or {})['tree']}.json") or {
            "error": f"not verified: {trial['stop_reason']}",
            "context": {"test_failures": [], "linter_errors": []},
            "transcript": "The trial was not verified.\n",
            "reverted": 0,
        }
        before = self._read(f"trial-{number}.json")
        row = {
            "trial": number,
            "error": kept["error"],
            "reflection": trial["reflection"],
            "timestamp": datetime.now(UTC).isoformat(timespec="seconds"),
            "verification_context": kept["context"],
        }
        if before and before["reflection"] == row["reflection"]:
            # Another review changes nothing.
            row["timestamp"] = before["timestamp"]
        self._write(f"trial-{number}.json", row)
        rows = filter(None, (self._read(f"trial-{n}.json") for n in range(1, number + 1)))
        files = {
            f"{base}/reflections.jsonl": "".join(f"{json.dumps(each, ensure_ascii=False)}\n" for each in rows),
            f"{base}/attempts/trial-{number}.patch": patch,
            f"{base}/verification/trial-{number}.txt": kept["transcript"],
        }
        if trial["verdict"]:
            files[f"{base}/final-output/result.patch"] = patch
            files[f"{base}/final-output/verification.txt"] = kept["transcript"]
        lines = patch.split("\n")
        measures = {
            "files_changed": float(changed),
            "lines_added": float(sum(line.startswith("+") and not line.startswith("+++ ") for line in lines)),
            "lines_removed": float(sum(line.startswith("-") and not line.startswith("--- ") for line in lines)),
            "protected_changed": float(kept["reverted"]),
        }
        return Review(measures=measures, files=files)

    def _read(self, name: str) -> Any:
        with suppress(FileNotFoundError):
            return json.loads((self.folder / name).read_text(encoding="utf-8"))
        return None

    def _write(self, name: str, content: Any) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        temporary = self.folder / f"{name}.{os.getpid()}.tmp"
        temporary.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8", errors="replace")
        temporary.replace(self.folder / name)
