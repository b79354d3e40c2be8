"""The files of a task's trials in a run folder, for people to read.

task-ID/
    reflections.jsonl       one row per trial: its error, its reflection, what failed
    attempts/               trial-N.patch: the trial's changes
    verification/           trial-N.txt: the whole output of the verification commands
    final-output/           of a solved task: result.patch and verification.txt
"""

import json
import os
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from pydantic import TypeAdapter

from langgraph_reflexion.envs.base import FinishedTrial, Review
from langgraph_reflexion.envs.workspace.verification import Verification

_FORM = TypeAdapter(Verification)
_NOT_VERIFIED = "The trial was not verified.\n"


class TrialFiles:
    """Stores verifications as they happen, and collects the files of each trial.

    A trial is reviewed after its end, perhaps by another process, so its verification is kept in the store.

    Args:
        folder: The folder in the store for this run of the task.
        task: The task's id.
    """

    def __init__(self, folder: Path, task: str) -> None:
        self._folder = folder
        self._task = task

    def keep(self, tree: str, verification: Verification) -> None:
        """Store the verification of a state."""
        _write(self._folder / f"{tree}.json", json.dumps(asdict(verification)))

    def verification(self, tree: str) -> Verification | None:
        """Return the last verification of a state, or None."""
        with suppress(FileNotFoundError):
            return _FORM.validate_python(json.loads((self._folder / f"{tree}.json").read_text(encoding="utf-8")))
        return None

    def review(self, trial: FinishedTrial, patch: str, verification: Verification | None, changed: int) -> Review:
        """Return the files and measures of a trial.

        Args:
            trial: The trial.
            patch: Its changes.
            verification: The verification of its last state.
            changed: The number of changed files.
        """
        number, base = trial["number"], f"task-{self._task}"
        row = {
            "trial": number,
            "error": verification.error if verification else f"not verified: {trial['stop_reason']}",
            "reflection": trial["reflection"],
            "timestamp": self._time(number, trial),
            "verification_context": verification.context
            if verification
            else {"test_failures": [], "linter_errors": []},
        }
        _write(self._folder / f"trial-{number}.json", json.dumps(row, ensure_ascii=False))
        rows = [self._row(n) for n in range(1, number + 1)]
        whole = verification.transcript if verification else _NOT_VERIFIED
        files = {
            f"{base}/reflections.jsonl": "".join(f"{text}\n" for text in rows if text),
            f"{base}/attempts/trial-{number}.patch": patch,
            f"{base}/verification/trial-{number}.txt": whole,
        }
        if trial["verdict"]:
            files[f"{base}/final-output/result.patch"] = patch
            files[f"{base}/final-output/verification.txt"] = whole
        lines = patch.split("\n")
        measures = {
            "files_changed": float(changed),
            "lines_added": float(sum(line.startswith("+") and not line.startswith("+++ ") for line in lines)),
            "lines_removed": float(sum(line.startswith("-") and not line.startswith("--- ") for line in lines)),
            "protected_changed": float(len(verification.reverted)) if verification else 0.0,
        }
        return Review(measures=measures, files=files)

    def _row(self, number: int) -> str:
        with suppress(FileNotFoundError):
            return (self._folder / f"trial-{number}.json").read_text(encoding="utf-8")
        return ""

    def _time(self, number: int, trial: FinishedTrial) -> str:
        """Return when the trial was first reviewed; another review changes nothing."""
        before = self._row(number)
        if before and (row := json.loads(before))["reflection"] == trial["reflection"]:
            return str(row["timestamp"])
        return datetime.now(UTC).isoformat(timespec="seconds")


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    temporary.write_text(text, encoding="utf-8", errors="replace")
    temporary.replace(path)
