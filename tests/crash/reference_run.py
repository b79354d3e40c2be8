"""The uninterrupted reference run that the crash tests compare with: its command and its record."""

from pathlib import Path
from typing import Any

from langgraph_reflexion.experiments.record import TRAJECTORIES, TRIALS, read_run
from langgraph_reflexion.experiments.rows import Key, TrialRow, key_of


def command(url: str, out: str, *, tasks: int, trials: int, concurrency: int) -> list[str]:
    """The command line's arguments for a run of ALFWorld tasks under `reflexion`.

    Args:
        url: The model server's address.
        out: The run folder.
        tasks: How many tasks.
        trials: At most so many trials per task.
        concurrency: How many tasks at once.
    """
    return [
        *("run", "alfworld", "--option", "engine=native", "--limit", str(tasks), "--max-trials", str(trials)),
        *("--strategy", "reflexion", "--concurrency", str(concurrency)),
        *("--model", "openai:demo", "--base-url", url, "--out", out),
    ]


def recorded(folder: Path) -> dict[Key, dict[str, Any]]:
    """What a run has recorded, by task and trial, times apart."""
    return {key_of(row): timeless(row) for row in read_run(folder).trials}


def timeless(row: TrialRow) -> dict[str, Any]:
    """A row, its time apart."""
    return {**row, "seconds": 0}


def differences(folder: Path, peace: Path) -> list[str]:
    """What a run has recorded otherwise than the one in peace, times apart; a line each."""
    found, expected = recorded(folder), recorded(peace)
    told = []
    for key in sorted(expected.keys() | found.keys()):
        if found.get(key) != expected.get(key):
            what = "is missing" if key not in found else "is new" if key not in expected else "differs"
            told.append(f"trial {key[1]} of {key[0]} {what}")
    for name in (TRIALS, TRAJECTORIES):
        ours, theirs = ((each / name).read_bytes().splitlines() for each in (folder, peace))
        if len(ours) != len(theirs):
            told.append(f"{name} has {len(ours)} rows, not {len(theirs)}")
        if name == TRAJECTORIES and ours != theirs:
            told.append(f"{name} differs")
    return told
