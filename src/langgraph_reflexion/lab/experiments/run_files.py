"""The JSON files of a run folder, read line by line, with errors that name the file, the line and the field."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import itemgetter
from pathlib import Path
from typing import Any

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.lab.experiments.expected import ReadCalls, ReadKey, ReadTrial, expect
from langgraph_reflexion.lab.experiments.rows import Key, TrialRow, brief, complete_lines, key_of, row_of
from langgraph_reflexion.models.recorded import WholeCall, whole_calls
from langgraph_reflexion.support.files import is_deeper
from langgraph_reflexion.support.text import as_text

RUN = "run.json"
TRIALS = "trials.jsonl"
SENT = "prompts.jsonl"

DEEPEST = 100
"""Levels of lists and objects in what is read of a run folder. Runs write about half as many at most."""
REMEDY = "mend the line, or remove it and resume the run"


def trials_and_places(folder: Path, tasks: Sequence[str]) -> tuple[dict[str, list[TrialRow]], dict[Key, int]]:
    """Return the brief rows of each task, and where they begin in the file."""
    rows: dict[Key, TrialRow] = {}
    places: dict[Key, int] = {}
    place = 0
    known = set(tasks)
    for number, line in enumerate(complete_lines(folder / TRIALS), 1):
        where = f"{TRIALS}, line {number}"
        row = _parsed(line, where)
        expect_type(ReadTrial, row, where)
        if row["task_id"] not in known:
            raise ValueError(f"{where}: {row['task_id']!r} is not a task of {RUN}: remove the line")
        key = key_of(row)
        rows[key] = brief(row)
        places[key] = place
        place += len(line)
    found: dict[str, list[TrialRow]] = {task: [] for task in tasks}
    in_order = sorted(rows.values(), key=itemgetter("trial"))
    for row in in_order:
        found[row["task_id"]].append(row)
    return found, places


def recorded_rows(folder: Path) -> dict[Key, TrialRow]:
    """Return the rows of a run that is resumed, without their trajectories. Torn lines are left to be repaired.

    Raises:
        ConfigurationError: a value is of a wrong type, which no power cut leaves.
    """
    found: dict[Key, TrialRow] = {}
    with reading(folder, TRIALS):
        for number, line in enumerate(complete_lines(folder / TRIALS), 1):
            row = row_of(line)
            if row is None:
                continue
            expect_type(ReadTrial, row, f"{TRIALS}, line {number}")
            found[key_of(row)] = brief(row)
    return found


def whole_rows(path: Path, keys: Sequence[Key], places: Mapping[Key, int]) -> list[TrialRow]:
    """Return the rows of some trials with their trajectories.

    Raises:
        ValueError: a row cannot be read, or is no longer in its place.
    """
    found: list[TrialRow] = []
    with path.open("rb") as file:
        for key in keys:
            file.seek(places[key])
            line = file.readline()
            row = json.loads(line)
            task, trial = key
            expect_type(ReadTrial, row, f"{TRIALS}, trial {trial} of {task!r}")
            if key_of(row) != key:
                raise ValueError(f"{TRIALS} has changed: try again")
            found.append(row)
    return found


def places_in(path: Path) -> dict[Key, int]:
    """Return where the rows of trials begin in a file, in bytes; of several rows of a trial, the last one."""
    places: dict[Key, int] = {}
    place = 0
    for number, line in enumerate(complete_lines(path), 1):
        where = f"{path.name}, line {number}"
        row = _parsed(line, where)
        expect_type(ReadKey, row, where)
        places[key_of(row)] = place
        place += len(line)
    return places


def calls_at(path: Path, key: Key, places: Mapping[Key, int]) -> list[WholeCall]:
    """Return the model calls of a trial, with their whole prompts.

    Raises:
        ValueError: its row cannot be read, or is no longer in its place.
    """
    with path.open("rb") as file:
        file.seek(places[key])
        line = file.readline()
    task, trial = key
    where = f"{path.name}, trial {trial} of {task!r}"
    row = _parsed(line, where)
    expect_type(ReadCalls, row, where)
    if key_of(row) != key:
        raise ValueError(f"{path.name} has changed: try again")
    try:
        return list(whole_calls(row["calls"]))
    except IndexError as error:
        raise ValueError(f"{where}: a call continues a prompt that was not sent: {REMEDY}") from error


def answer_in(row: TrialRow) -> str:
    """Return the answer of an agent's trial as text; empty without one, or if no run would nest it as deep."""
    result = row.get("result")
    if is_deeper(result, DEEPEST):
        return ""
    return as_text(result).strip()


@contextmanager
def reading(folder: Path, file: str = RUN) -> Iterator[None]:
    """Raise ConfigurationError, which names the folder and the file, for whatever is wrong with one of its files."""
    try:
        yield
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        why: object = error
        if isinstance(error, json.JSONDecodeError):
            why = f"{file} is not JSON: {error}"
        elif isinstance(error, RecursionError):
            why = f"{file} is nested too deeply"
        raise ConfigurationError(f"{folder} holds no run that can be read: {why}") from error


def _parsed(line: bytes, where: str) -> Any:
    try:
        return json.loads(line)
    except RecursionError:
        raise ValueError(f"{where}, is nested too deeply: {REMEDY}") from None
    except ValueError as error:
        raise ValueError(f"{where}, is not JSON: {error}: {REMEDY}") from None


def expect_type(kind: type[Any], found: Any, where: str, remedy: str = REMEDY) -> None:
    """Raise ValueError in one line if what was read is not of this type, or nested deeper than any run writes it."""
    try:
        expect(kind, found)
    except ValueError as error:
        raise ValueError(f"{where}: {error}: {remedy}") from None
    # Trajectories are large, and read only where their types say.
    if kind is not ReadTrial and is_deeper(found, DEEPEST):
        raise ValueError(f"{where}, is nested too deeply: {remedy}")
