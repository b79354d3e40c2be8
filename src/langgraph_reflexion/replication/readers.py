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

A log's digest is known, and so is its form: nothing in it is checked again.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from langgraph_reflexion.choices import UNLIMITED
from langgraph_reflexion.envs.base import Action
from langgraph_reflexion.experiments.rows import TrialRow
from langgraph_reflexion.replication.hotpotqa_log import LoggedStep, read_log
from langgraph_reflexion.replication.logs import RESULTS, LoggedRun, Original, logged_settings, logged_trial
from langgraph_reflexion.state import Step, Strategy

_ACTION = re.compile(r"(search|lookup|finish)\[(.+)\]", re.IGNORECASE | re.DOTALL)
_ARGUMENTS = {"search": "entity", "lookup": "string", "finish": "answer"}
_EVALUATORS = {
    **dict.fromkeys(("reflexion", "reflexion-ucs", "immediate-refinement"), "tests"),
    "immediate-reflexion": "none",
}


def read_run_log(path: Path, original: Original) -> LoggedRun:
    """Read a log, a file or a folder, that `originals.toml` lists."""
    match original["path"].partition("_runs/")[0]:
        case "hotpotqa":
            return _questions(path, original)
        case "programming":
            return _programs(path, original)
        case environment:
            return _results(path, environment, original)


def _results(folder: Path, environment: str, original: Original) -> LoggedRun:
    trials: dict[int, dict[str, Any]] = {}
    for path in folder.iterdir():
        if found := RESULTS.fullmatch(path.name):
            entries = json.loads(path.read_text(encoding="utf-8"))
            trials[int(found[1]) + 1] = {each["name"]: each for each in entries}
    first, last = min(trials), max(trials)
    tasks: dict[str, list[TrialRow]] = {task: [] for task in trials[first]}
    for task, finished in tasks.items():
        before: list[str] = []
        for number in range(first, last + 1):
            solved, reflections = trials[number][task]["is_success"], trials[number][task]["memory"]
            lesson = "\n".join(reflections[len(before) :]).strip()
            before = reflections
            finished.append(logged_trial(task, number - first + 1, solved, solved, reflection=lesson))
            if solved:
                break
    settings = logged_settings(
        environment,
        original,
        trials=last - first + 1,
        memory_size=3,
        first_trial=first,
        # The models of both environments, by the code of the logs' date; the logs do not name them.
        model="text-davinci-002",
        reflection_model="text-davinci-003",
    )
    return LoggedRun(original["path"], settings, tasks, [])


def _questions(path: Path, original: Original) -> LoggedRun:
    """Read a text log. A question is solved by the first trial that lists it among the correct ones."""
    log, strategy = read_log(path), Strategy(original["strategy"])
    first, last = log.trials[0].number, log.trials[-1].number
    tasks: dict[str, list[TrialRow]] = {question: [] for question in log.questions}
    for question, finished in tasks.items():
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
                reflection=listed[index + 1][2].lesson_since(row, strategy)
                if not right and index + 1 < len(listed)
                else None,
            )
            finished.append(trial)
            if right:
                break
    settings = logged_settings(
        "hotpotqa",
        original,
        trials=last - first + 1,
        # As in the original's code: all reflections are kept, but only the newest beside the last attempt.
        memory_size=1 if strategy.shows_last_attempt else UNLIMITED,
        first_trial=first,
        # The model of the original's first logs, which do not name it.
        model="text-davinci-003",
        temperature=0.0,
    )
    return LoggedRun(original["path"], settings, tasks, log.notes)


def _steps(steps: Sequence[LoggedStep]) -> list[Step]:
    made = []
    for number, step in enumerate(steps, 1):
        found = _ACTION.fullmatch(step.action.strip())
        name = found[1].lower() if found else ""
        action = Action(name=name, args={_ARGUMENTS[name]: found[2]} if found else {}, text=step.action)
        made.append(Step(number=number, thought=step.thought, action=action, observation=step.observation))
    return made


def _programs(path: Path, original: Original) -> LoggedRun:
    # Not `splitlines`: strings in a row may hold other line separators.
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]
    strategy = original["strategy"]
    named = re.search(r"reflexion_(\d+)_", original["path"])
    # The last iteration is not followed by a reflection.
    allowed = int(named[1]) - 1 if named else max(len(row.get("reflections") or ()) for row in rows)
    settings = logged_settings(
        "programming",
        original,
        trials=1,
        memory_size=1,
        actor="code",
        evaluator=_EVALUATORS.get(strategy, "environment"),
        feedback="words",
        temperature=0.0,
    )
    tried = [_program(row, strategy, allowed) for row in rows]
    return LoggedRun(original["path"], settings, {row["task_id"]: [row] for row in tried}, [])


def _program(row: Mapping[str, Any], strategy: str, allowed: int) -> TrialRow:
    reflections, solution, solved = row.get("reflections"), row.get("solution"), row["is_solved"]
    lessons = reflections or []
    # Of earlier implementations only the reflections are logged.
    texts = [*[""] * len(lessons), solution if isinstance(solution, str) else ""]
    steps = [
        Step(number=number, thought=thought, action=Action(name="", args={}, text=text), observation="")
        for number, (thought, text) in enumerate(zip(["", *lessons], texts, strict=True), 1)
    ]
    verdict = solved if strategy in ("retry", "test-acc") else None
    if strategy == "reflexion" and allowed > 0 and reflections is not None:
        # Only under this strategy is there a reflection for each failure of the self-written tests.
        verdict = len(lessons) < allowed
    measures = {} if reflections is None else {"reflections": float(len(lessons))}
    if isinstance(solution, list):
        measures["tests"] = float(len(solution))
    name = row["task_id"] if "task_id" in row else row["name"]
    prompt = row.get("prompt", "")
    return logged_trial(name, 1, solved, verdict, "terminated", observation=prompt, steps=steps, measures=measures)
