"""Readers of the original's logs, one for each of its formats.

ALFWorld, WebShop
    A folder with `env_results_trial_N.json` for each trial of all tasks. Each entry says whether a task is solved
    after the trial, and holds every reflection on it. Steps are not logged.
HotPotQA
    A text with every trial of every question (see `replication.hotpotqa_log`).
programming
    JSON lines, one for each problem: whether the hidden tests passed, the last implementation, and the reflections
    before it. With all the reflections that there can be, the self-written tests never passed; with fewer they did,
    which ended the loop. So the verdict of the self-written tests is known, too.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from pydantic import AliasChoices, BaseModel, Field, StrictBool, TypeAdapter, ValidationError

from langgraph_reflexion.envs.base import Action
from langgraph_reflexion.errors import ConfigurationError, explain
from langgraph_reflexion.lab.experiments.rows import TrialRow
from langgraph_reflexion.state import Step, Strategy
from langgraph_reflexion.support.choices import UNLIMITED
from langgraph_reflexion.support.files import read_text
from langgraph_reflexion.support.text import count
from tests.replication.hotpotqa_log import LoggedStep, is_hotpotqa_log, read_log
from tests.replication.logs import (
    NOT_LOGGED,
    RESULTS,
    LoggedRun,
    Original,
    gap_note,
    logged_settings,
    logged_trial,
    twice_note,
)

PROGRAMS = re.compile(
    r"(?:.*_)?(?P<strategy>simple|reflexion|reflexion-ucs|immediate-reflexion|immediate-refinement|test-acc)"
    r"_(?P<iterations>\d{1,4})_(?P<model>.+)_pass_at_k_\d+(?:_[a-z]+)?"
)
"""The name of a programming log, without its suffix."""

_ACTION = re.compile(r"(search|lookup|finish)\[(.+)\]", re.IGNORECASE | re.DOTALL)
_ARGUMENTS = {"search": "entity", "lookup": "string", "finish": "answer"}
_STRATEGIES = {"base": Strategy.RETRY.value, "simple": Strategy.RETRY.value, "reflexion": Strategy.REFLEXION.value}
_EVALUATORS = {
    **dict.fromkeys(("reflexion", "reflexion-ucs", "immediate-refinement"), "tests"),
    "immediate-reflexion": "none",
}


class _Result(BaseModel):
    """A task in a file of ALFWorld or WebShop."""

    name: str
    is_success: StrictBool
    memory: list[str] = []


class _Problem(BaseModel):
    """A line of a programming log."""

    name: str = Field(validation_alias=AliasChoices("task_id", "name"))
    is_solved: StrictBool
    reflections: list[str] | None = None
    solution: str | list[Any] | None = None
    prompt: str = ""


_RESULTS = TypeAdapter(list[_Result])


def read_run_log(path: Path, source: str, original: Original) -> LoggedRun | None:
    """Read a file or a folder, whose path in the original repository is `source`; None if it is not a log.

    Raises:
        ConfigurationError: it is a log that cannot be read.
    """
    if path.is_dir():
        files = {int(found[1]): each for each in path.iterdir() if (found := RESULTS.fullmatch(each.name))}
        return _results(dict(sorted(files.items())), source, original) if files else None
    if not path.is_file():  # reading a pipe would block
        return None
    if path.suffix == ".txt" and is_hotpotqa_log(path):
        return _questions(path, source, original)
    if path.suffix == ".jsonl" and (PROGRAMS.fullmatch(path.stem) or original):
        return _programs(path, source, original)
    if path.suffix in (".joblib", ".pkl", ".pickle") or (not path.suffix and path.read_bytes()[:1] == b"\x80"):
        raise ConfigurationError("pickles are not read: loading one can run code")
    if "root" in PurePosixPath(source).parts and path.suffix in (".txt", ".jsonl"):
        raise ConfigurationError("not a log of trials")
    return None


def _results(files: Mapping[int, Path], source: str, original: Original) -> LoggedRun:
    environment, folder = source.partition("_runs/")[0], PurePosixPath(source).name
    if environment not in ("alfworld", "webshop"):
        raise ConfigurationError("results outside the folders alfworld_runs and webshop_runs")
    trials: dict[int, dict[str, tuple[bool, list[str]]]] = {}
    notes: list[str] = []
    for number, path in files.items():
        try:
            listed = _RESULTS.validate_json(read_text(path))
        except ValueError as error:
            why = explain(error).partition("; ")[0] if isinstance(error, ValidationError) else error
            notes.append(f"{path.name} cannot be read: {why}")
        else:
            states = trials[number] = {}
            for each in listed:
                states.setdefault(each.name, (each.is_success, each.memory))
            notes += [f"{path.name}: {note}" for note in twice_note("task", len(listed) - len(states))]
    tasks = list(dict.fromkeys(name for states in trials.values() for name in states))
    if not tasks:
        raise ConfigurationError("; ".join(notes) or "it lists no task")
    for number, states in trials.items():
        if absent := len(tasks) - len(states):
            notes.append(
                f"{files[number].name}: {count(absent, 'task')} of other trials missing: counted if solved before"
            )
    notes += gap_note([number + 1 for number in trials])
    first, last = min(trials), max(trials)
    finished: list[TrialRow] = []
    for task in tasks:
        memory: list[str] = []
        for number, states in trials.items():
            if task not in states:
                continue
            solved, reflections = states[task]
            lesson = "\n".join(reflections[len(memory) :]).strip()
            memory = reflections
            finished.append(logged_trial(task, number - first + 1, solved, solved, reflection=lesson))
            if solved:
                break
    # The models of both environments, by the code of the logs' date; the logs do not name them.
    actor, reflector = ("text-davinci-002", "text-davinci-003") if original else (NOT_LOGGED,) * 2
    settings = logged_settings(
        environment,
        original,
        benchmark=environment,
        strategy=next((strategy for name, strategy in _STRATEGIES.items() if name in folder), NOT_LOGGED),
        trials=last - first + 1,
        model=actor,
        reflection_model=reflector,
        memory_size=3,
        first_trial=first + 1,
    )
    return LoggedRun(source, settings, tasks, finished, notes)


def _questions(path: Path, source: str, original: Original) -> LoggedRun:
    """Read a text log. A question is solved by the first trial that lists it among the correct ones."""
    log = read_log(path)
    first, last = log.trials[0].number, log.trials[-1].number
    finished: list[TrialRow] = []
    for question in log.questions:
        listed = [(trial.number, *trial.rows[question]) for trial in log.trials if question in trial.rows]
        for index, (number, outcome, row) in enumerate(listed):
            right = outcome == "right"
            trial = logged_trial(
                question,
                number - first + 1,
                right,
                right,
                stop_reason="truncated" if outcome == "halted" else "terminated",
                observation=row.observation,
                steps=_steps(row.steps),
                reflection=listed[index + 1][2].lesson_since(row, log.strategy)
                if not right and index + 1 < len(listed)
                else None,
            )
            finished.append(trial)
            if right:
                break
    strategy = Strategy(original.get("strategy", log.strategy))
    settings = logged_settings(
        "hotpotqa",
        original,
        benchmark="hotpotqa",
        strategy=strategy.value,
        trials=last - first + 1,
        # The model of the original's first logs, which do not name it.
        model="text-davinci-003" if original else NOT_LOGGED,
        # As in the original's code: all reflections are kept, but only the newest beside the last attempt.
        memory_size=1 if strategy.shows_last_attempt else UNLIMITED,
        first_trial=first,
        actor=log.agent,
        temperature=0.0,
    )
    return LoggedRun(source, settings, list(log.questions), finished, log.notes)


def _steps(steps: Sequence[LoggedStep]) -> list[Step]:
    made = []
    for number, step in enumerate(steps, 1):
        found = _ACTION.fullmatch(step.action.strip())
        name = found[1].lower() if found else ""
        action = Action(name=name, args={_ARGUMENTS[name]: found[2]} if found else {}, text=step.action)
        made.append(Step(number=number, thought=step.thought, action=action, observation=step.observation))
    return made


def _programs(path: Path, source: str, original: Original) -> LoggedRun:
    rows: dict[str, _Problem] = {}
    notes: list[str] = []
    again = 0
    # Not `splitlines`: strings in a row may hold other line separators.
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = _Problem.model_validate_json(line)
        except ValidationError as error:
            notes.append(f"line {number} is left out: {explain(error)}")
        else:
            again += row.name in rows
            rows.setdefault(row.name, row)
    notes += twice_note("problem", again)
    if not rows:
        raise ConfigurationError(f"it lists no problem{f': {notes[0]}' if notes else ''}")
    named = PROGRAMS.fullmatch(PurePosixPath(source).stem)
    strategy = named["strategy"] if named else "reflexion"
    # The last iteration is not followed by a reflection.
    allowed = int(named["iterations"]) - 1 if named else max(len(row.reflections or ()) for row in rows.values())
    settings = logged_settings(
        "programming",
        original,
        benchmark=NOT_LOGGED,
        strategy=_STRATEGIES.get(strategy, strategy),
        trials=1,
        model=named["model"] if named else NOT_LOGGED,
        memory_size=1,
        actor="code",
        evaluator=_EVALUATORS.get(strategy, "environment"),
        feedback="words",
        temperature=0.0,
    )
    finished = [_program(row, strategy, allowed) for row in rows.values()]
    return LoggedRun(source, settings, list(rows), finished, notes)


def _program(row: _Problem, strategy: str, allowed: int) -> TrialRow:
    lessons, solution = row.reflections or [], row.solution
    # Of earlier implementations only the reflections are logged.
    texts = [*[""] * len(lessons), solution if isinstance(solution, str) else ""]
    steps = [
        Step(number=number, thought=thought, action=Action(name="", args={}, text=text), observation="")
        for number, (thought, text) in enumerate(zip(["", *lessons], texts, strict=True), 1)
    ]
    verdict = row.is_solved if strategy in ("simple", "test-acc") else None
    if strategy == "reflexion" and allowed > 0 and row.reflections is not None:
        # Only under this strategy is there a reflection for each failure of the self-written tests.
        verdict = len(lessons) < allowed
    measures = {} if row.reflections is None else {"reflections": float(len(lessons))}
    if isinstance(solution, list):
        measures["tests"] = float(len(solution))
    return logged_trial(
        row.name, 1, row.is_solved, verdict, "terminated", observation=row.prompt, steps=steps, measures=measures
    )
