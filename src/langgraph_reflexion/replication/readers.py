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

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from langgraph_reflexion.choices import UNLIMITED
from langgraph_reflexion.envs.base import Action
from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.experiments.rows import Finished
from langgraph_reflexion.replication.hotpotqa_log import LoggedStep, is_hotpotqa_log, read_log
from langgraph_reflexion.replication.logs import (
    NOT_LOGGED,
    RESULTS,
    LoggedRun,
    Original,
    logged_settings,
    logged_trial,
    twice_note,
)
from langgraph_reflexion.state import Step, Strategy

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
        states: dict[str, tuple[bool, list[str]]] = {}
        try:
            for entry in json.loads(path.read_text(encoding="utf-8-sig", errors="replace")):
                states.setdefault(entry["name"], (entry["is_success"] is True, [*map(str, entry.get("memory", []))]))
        except (OSError, ValueError, KeyError, TypeError) as error:
            notes.append(f"{path.name} cannot be read: {error}")
        else:
            trials[number] = states
    if not trials:
        raise ConfigurationError("; ".join(notes))
    first, last = min(trials), max(trials)
    tasks = list(dict.fromkeys(name for states in trials.values() for name in states))
    finished: list[Finished] = []
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
    finished: list[Finished] = []
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
    rows: dict[str, Mapping[str, Any]] = {}
    notes: list[str] = []
    again = 0
    # Not `splitlines`: strings in a row may hold other line separators.
    for number, line in enumerate(path.read_text(encoding="utf-8-sig", errors="replace").split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            name, _ = str(row["task_id"] if "task_id" in row else row["name"]), row["is_solved"]
        except (ValueError, KeyError, TypeError, RecursionError):
            notes.append(f"line {number} cannot be read, and is left out")
        else:
            again += name in rows
            rows.setdefault(name, row)
    notes += twice_note("problem", again)
    if not rows:
        raise ConfigurationError("; ".join(notes) or "it lists no problem")
    named = PROGRAMS.fullmatch(PurePosixPath(source).stem)
    strategy = named["strategy"] if named else "reflexion"
    # The last iteration is not followed by a reflection.
    allowed = int(named["iterations"]) - 1 if named else max(len(_reflections(row)) for row in rows.values())
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
    finished = [_program(name, row, strategy, allowed) for name, row in rows.items()]
    return LoggedRun(source, settings, list(rows), finished, notes)


def _program(name: str, row: Mapping[str, Any], strategy: str, allowed: int) -> Finished:
    lessons, solution, observation = _reflections(row), row.get("solution"), row.get("prompt")
    # Of earlier implementations only the reflections are logged.
    texts = [*[""] * len(lessons), solution if isinstance(solution, str) else ""]
    steps = [
        Step(number=number, thought=thought, action=Action(name="", args={}, text=text), observation="")
        for number, (thought, text) in enumerate(zip(["", *lessons], texts, strict=True), 1)
    ]
    logged = isinstance(row.get("reflections"), list)
    verdict = row["is_solved"] if strategy in ("simple", "test-acc") else None
    if strategy == "reflexion" and allowed and logged:
        # Only under this strategy is there a reflection for each failure of the self-written tests.
        verdict = len(lessons) < allowed
    measures = {"reflections": float(len(lessons))} if logged else {}
    if isinstance(solution, list):
        measures["tests"] = float(len(solution))
    observation = observation if isinstance(observation, str) else ""
    return logged_trial(
        name, 1, row["is_solved"], verdict, "terminated", observation=observation, steps=steps, measures=measures
    )


def _reflections(row: Mapping[str, Any]) -> list[str]:
    reflections = row.get("reflections")
    return [str(text) for text in reflections] if isinstance(reflections, list) else []
