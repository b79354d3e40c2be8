"""The uninterrupted reference run that the crash tests compare with: its command, its record and its requests."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from langgraph_reflexion.experiments.record import TRAJECTORIES, TRIALS, read_run
from langgraph_reflexion.experiments.rows import Key, key_of
from tests.support.demo_server import Request


def command(url: str, out: str, *, tasks: int, trials: int, concurrency: int) -> list[str]:
    """Return the command line's arguments for a run of ALFWorld tasks under `reflexion`."""
    return [
        *("run", "alfworld", "--option", "engine=native", "--limit", str(tasks), "--max-trials", str(trials)),
        *("--strategy", "reflexion", "--concurrency", str(concurrency)),
        *("--model", "openai:demo", "--base-url", url, "--out", out),
    ]


def recorded(folder: Path) -> dict[Key, dict[str, Any]]:
    """Return the rows of a run by task and trial, without times."""
    return {key_of(row): {**row, "seconds": 0} for row in read_run(folder).trials}


def differences(folder: Path, reference: Path) -> list[str]:
    """Return the differences between two records, except times, a line each."""
    found, expected = recorded(folder), recorded(reference)
    lines = [f"{key} differs" for key in found.keys() | expected.keys() if found.get(key) != expected.get(key)]
    for name in (TRIALS, TRAJECTORIES):
        ours, theirs = ((each / name).read_bytes().splitlines() for each in (folder, reference))
        if len(ours) != len(theirs) or (name == TRAJECTORIES and ours != theirs):
            lines.append(f"{name} has {len(ours)} rows, and the reference {len(theirs)}, or they differ")
    return lines


def new_or_repeated(requests: Sequence[Request], reference: Sequence[Request], most: int) -> list[str]:
    """Check that nothing new was requested, and no more than N requests again (`most`)."""
    asked, expected = Counter(each[1:] for each in requests), {each[1:] for each in reference}
    violations = []
    if set(asked) != expected:
        violations.append(f"{len(set(asked) - expected)} new requests, {len(expected - set(asked))} missing ones")
    if (repeated := asked.total() - len(asked)) > most:
        violations.append(f"{repeated} requests repeated, at most {most} may be")
    return violations
