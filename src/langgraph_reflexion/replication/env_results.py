"""The original's ALFWorld and WebShop logs: a folder with a JSON file for each trial, over all environments.

Each entry of `env_results_trial_N.json` says how an environment stands after the trial: whether it is solved so far,
and every reflection on it. What was done in a trial is not logged.
"""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.experiments.rows import Finished
from langgraph_reflexion.replication.logged import (
    NOT_LOGGED,
    SIZES,
    Listed,
    LoggedRun,
    logged_settings,
    logged_trial,
    size_notes,
    some,
    twice_notes,
)
from langgraph_reflexion.replication.text import read_text
from langgraph_reflexion.state import Strategy

NAME = re.compile(r"env_results_trial_(\d{1,4})\.json")
"""What such a file is called. Trials are counted from 0."""

ACTOR, REFLECTOR = "text-davinci-002", "text-davinci-003"
"""The models of both, by the code of the logs' date; the logs do not say."""

_ENVIRONMENTS = ("alfworld", "webshop")
_STRATEGIES = {"reflexion": Strategy.REFLEXION.value, "base": Strategy.RETRY.value}
"""What the folders of the logs have in their names."""


class State(NamedTuple):
    """How an environment stands after a trial."""

    solved: bool
    memory: list[str]


def read_env_results(folder: Path, source: str, listed: Listed) -> LoggedRun:
    """Read a folder of results.

    Args:
        folder: The folder.
        source: Its place.
        listed: What is listed of it.

    Raises:
        ConfigurationError: no file of it tells of any environment, or nothing says whether ALFWorld's or WebShop's.
    """
    trials: dict[int, dict[str, State]] = {}
    notes: list[str] = []
    for path in folder.iterdir():
        if (found := NAME.fullmatch(path.name)) and path.is_file():
            states, odd = _states(path)
            notes += [f"{path.name}: {note}" for note in odd]
            if states:
                trials[int(found[1])] = states
    notes.sort()
    if not trials:
        raise ConfigurationError("; ".join(notes) or "no results in it")
    numbers = sorted(trials)
    tasks = list(dict.fromkeys(name for number in numbers for name in trials[number]))
    if missing := sorted({*range(numbers[-1])} - {*numbers}):
        notes.append(f"no results of trial {some(missing)}: what was solved there counts later")
    for number in numbers:
        if absent := len(tasks) - len(trials[number]):
            notes.append(
                f"trial {number}: {absent} of {len(tasks)} environments missing: unless solved before, not counted"
            )
    finished: list[Finished] = []
    irregular: dict[str, list[str]] = {}
    for task in tasks:
        rows, odd = _trials(task, [(number, trials[number].get(task)) for number in numbers])
        finished += rows
        for note in odd:
            irregular.setdefault(note, []).append(task)
    notes += [f"{note}: {some(environments)}" for note, environments in irregular.items()]
    environment = _environment(listed.get("path", source), len(tasks))
    settings = logged_settings(
        environment,
        listed,
        benchmark=environment,
        tasks=tasks,
        strategy=next((strategy for name, strategy in _STRATEGIES.items() if name in folder.name), NOT_LOGGED),
        trials=numbers[-1] - numbers[0] + 1,
        model=ACTOR if listed else NOT_LOGGED,
        reflection_model=REFLECTOR if listed else NOT_LOGGED,
        memory_size=3,
        first_trial=numbers[0] + 1,
    )
    return LoggedRun(source, settings, tasks, finished, notes + size_notes(environment, tasks, "environments"))


def _environment(place: str, size: int) -> str:
    """Which environment's results these are, by the folder that they lie in, or else by how many there are."""
    told = [each for each in _ENVIRONMENTS if place.startswith(f"{each}_runs/")]
    for environment in told or [each for each in _ENVIRONMENTS if size in SIZES[each]]:
        return environment
    raise ConfigurationError(f"{size} environments, not known of what: ALFWorld has 134, WebShop 100")


def _trials(task: str, states: Sequence[tuple[int, State | None]]) -> tuple[list[Finished], list[str]]:
    """The trials of an environment up to the one that solved it, and what is odd about them."""
    finished: list[Finished] = []
    notes: list[str] = []
    memory: list[str] = []
    solved_in: int | None = None
    for number, state in states:
        if state is None:
            continue
        if solved_in is not None:
            if not state.solved:
                notes.append(f"trial {number}: solved before and not in it, counted as solved")
            continue
        if state.memory[: len(memory)] != memory:
            notes.append(f"trial {number}: without the reflections of the one before")
        lesson = "\n".join(state.memory[len(memory) :]).strip()
        memory = state.memory
        solved_in = number if state.solved else None
        trial = number - states[0][0] + 1
        finished.append(logged_trial(task, trial, success=state.solved, verdict=state.solved, reflection=lesson))
    return finished, notes


def _states(path: Path) -> tuple[dict[str, State], list[str]]:
    """What a file says, by environment, and what is odd about it."""
    try:
        text, notes = read_text(path)
    except ConfigurationError as error:
        return {}, [str(error).removeprefix(f"{path} ")]
    entries, whole = _entries(text)
    states: dict[str, State] = {}
    again = differing = unread = 0
    for entry in entries:
        if (state := _state(entry)) is None:
            unread += 1
        elif entry["name"] in states:
            again += 1
            differing += states[entry["name"]] != state
        else:
            states[entry["name"]] = state
    if not whole:
        notes.append(f"cut off or damaged after {len(entries)} environments")
    if unread:
        notes.append(f"{unread} entries are no environment, and are left out")
    return states, notes + twice_notes("environment", again, differing)


def _state(entry: Any) -> State | None:
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
        return None
    memory = entry.get("memory", [])
    if not isinstance(entry.get("is_success"), bool) or not isinstance(memory, list):
        return None
    return State(entry["is_success"], [str(lesson) for lesson in memory])


def _entries(text: str) -> tuple[list[Any], bool]:
    """The entries of a JSON list, as far as it can be read, and whether that is all of it."""
    decode = json.JSONDecoder().raw_decode
    entries: list[Any] = []
    rest = text.strip()
    if not rest.startswith("["):
        return [], False
    at = _blanks(rest, 1)
    while at < len(rest) and rest[at] != "]":
        try:
            entry, at = decode(rest, at)
        except (ValueError, RecursionError):
            return entries, False
        entries.append(entry)
        at = _blanks(rest, at)
        if rest[at : at + 1] == ",":
            at = _blanks(rest, at + 1)
        elif rest[at : at + 1] != "]":
            return entries, False
    return entries, rest[at:] == "]"


def _blanks(text: str, at: int) -> int:
    """Where the blanks from here on end."""
    while at < len(text) and text[at].isspace():
        at += 1
    return at
