"""The uninterrupted reference run that the crash tests compare with: its command and its record."""

from pathlib import Path
from typing import Any

from langgraph_reflexion.experiments.record import TRAJECTORIES, TRIALS, read_run
from langgraph_reflexion.experiments.rows import Key, TrialRow, key_of


def command(url: str, out: str, *, tasks: int, trials: int, concurrency: int) -> list[str]:
    """Return the command line's arguments for a run of ALFWorld tasks under `reflexion`."""
    return [
        *("run", "alfworld", "--option", "engine=native", "--limit", str(tasks), "--max-trials", str(trials)),
        *("--strategy", "reflexion", "--concurrency", str(concurrency)),
        *("--model", "openai:demo", "--base-url", url, "--out", out),
    ]


def recorded(folder: Path) -> dict[Key, dict[str, Any]]:
    """Return the rows of a run by task and trial, without times."""
    return {key_of(row): timeless(row) for row in read_run(folder).trials}


def timeless(row: TrialRow) -> dict[str, Any]:
    """Return a row without its time."""
    return {**row, "seconds": 0}


def differences(folder: Path, reference: Path) -> list[str]:
    """Return the differences between two records, except times, a line each."""
    found, expected = recorded(folder), recorded(reference)
    lines = []
    for key in sorted(expected.keys() | found.keys()):
        if found.get(key) != expected.get(key):
            what = "is missing" if key not in found else "is new" if key not in expected else "differs"
            lines.append(f"trial {key[1]} of {key[0]} {what}")
    for name in (TRIALS, TRAJECTORIES):
        ours, theirs = ((each / name).read_bytes().splitlines() for each in (folder, reference))
        if len(ours) != len(theirs):
            lines.append(f"{name} has {len(ours)} rows, not {len(theirs)}")
        if name == TRAJECTORIES and ours != theirs:
            lines.append(f"{name} differs")
    return lines
