"""The original's HotPotQA logs as runs: its text logs, and the agents that were dumped as plain dictionaries."""

import ast
import re
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from langgraph_reflexion.envs.base import Action
from langgraph_reflexion.envs.hotpotqa.grading import exact_match
from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.experiments.rows import Finished
from langgraph_reflexion.profiles import UNLIMITED
from langgraph_reflexion.replication.hotpotqa_log import read_log, strategy_of
from langgraph_reflexion.replication.hotpotqa_rows import LoggedStep, Row, agent_of, key_of, read_row
from langgraph_reflexion.replication.logged import (
    NOT_LOGGED,
    Listed,
    LoggedRun,
    logged_settings,
    logged_trial,
    size_notes,
    twice_notes,
)
from langgraph_reflexion.replication.pickles import read_pickle
from langgraph_reflexion.state import Step, Strategy

MODEL = "text-davinci-003"
"""The model of the original's first logs, none of which names it."""

_MODEL = re.compile(r"(?<![a-z])gpt-?(3\.5-turbo|4)(?!\.\d|[\w-]*\w)|(text-davinci-00\d)")
"""A model in the name of a log or of its folder."""

_ACTION = re.compile(r"(search|lookup|finish)\[(.+)\]", re.IGNORECASE | re.DOTALL)
_ARGUMENTS = {"search": "entity", "lookup": "string", "finish": "answer"}


def read_hotpotqa_log(path: Path, source: str, listed: Listed) -> LoggedRun:
    """Read a text log. A question is solved by the first trial that lists it among the correct ones.

    Args:
        path: The file.
        source: Its place.
        listed: What is listed of it.

    Raises:
        ConfigurationError: it is no such log.
    """
    log = read_log(path)
    first, last = log.trials[0].number, log.trials[-1].number
    finished: list[Finished] = []
    solved_in: list[int] = []
    for question in log.questions:
        told = [(trial.number, trial.rows[question]) for trial in log.trials if question in trial.rows]
        for index, (number, (outcome, row)) in enumerate(told):
            later = told[index + 1][1][1] if index + 1 < len(told) else None
            right = outcome == "right"
            finished.append(
                logged_trial(
                    question,
                    number - first + 1,
                    success=right,
                    verdict=right,
                    stop_reason="truncated" if outcome == "halted" else "terminated",
                    observation=row.observation,
                    steps=_steps(row.steps),
                    reflection=later.lesson_since(row) if later and not right else None,
                )
            )
            if right:
                solved_in.append(number)
                break
    notes = [note.replace(", and not replayed", "") for note in log.notes]
    for trial in log.trials:
        solved = len([number for number in solved_in if number <= trial.number])
        if trial.summary and trial.summary.right != solved:
            notes.append(f"trial {trial.number}: its rows make {solved} solved, its summary {trial.summary.right}")
    strategy, tasks = Strategy(listed.get("strategy", log.strategy)), list(log.questions)
    return _run(source, listed, log.agent, strategy, tasks, finished, notes, last - first + 1, first)


def read_hotpotqa_dicts(path: Path, source: str, listed: Listed) -> LoggedRun:
    """Read dumped agents: each has its question, the right answer, its last attempt, and its reflections.

    There is a reflection on each attempt that failed, so that with reflections alone (the strategy `reflexion`) they
    say in which trial a question was solved. Otherwise the last attempt is all there is.

    Args:
        path: The pickle.
        source: Its place.
        listed: What is listed of it.

    Raises:
        ConfigurationError: it is refused, cannot be read, or holds no agents.
    """
    data = read_pickle(path)
    agents = data if isinstance(data, list | tuple) else []
    read = [found for agent in agents if (found := _agent(agent))]
    if not read:
        raise ConfigurationError("plain data, but no list of agents")
    rows = {key_of(row.question): (row, answer, lessons) for row, answer, lessons in reversed(read)}
    attempts = [row for row, _, _ in read]
    strategy = Strategy(listed.get("strategy", strategy_of(path, attempts)))
    notes = ["dumped agents: how they ended; earlier attempts are known by their reflections alone"]
    if left := len(agents) - len(read):
        notes.append(f"{left} entries are no agent, and are left out")
    notes += twice_notes("question", len(read) - len(rows))
    finished: list[Finished] = []
    tasks = list(dict.fromkeys(key_of(row.question) for row in attempts))
    for task in tasks:
        row, answer, lessons = rows[task]
        failed = lessons if strategy is Strategy.REFLEXION else []
        for trial, lesson in enumerate(failed, 1):
            finished.append(logged_trial(task, trial, success=False, verdict=False, reflection=lesson))
        right = exact_match(answer, row.key)
        ended = logged_trial(
            task,
            len(failed) + 1,
            success=right,
            verdict=right,
            stop_reason="terminated" if answer else "truncated",
            observation=row.observation,
            steps=_steps(row.steps),
        )
        finished.append(ended)
    trials = max(each.row["trial"] for each in finished)
    return _run(source, listed, agent_of(attempts), strategy, tasks, finished, notes, trials, 1)


def _run(
    source: str,
    listed: Listed,
    agent: str,
    strategy: Strategy,
    tasks: list[str],
    finished: list[Finished],
    notes: list[str],
    trials: int,
    first: int,
) -> LoggedRun:
    named = _MODEL.search("/".join(PurePosixPath(source).parts[-2:]))
    settings = logged_settings(
        "hotpotqa",
        listed,
        benchmark="hotpotqa",
        tasks=tasks,
        strategy=strategy.value,
        trials=trials,
        model=MODEL if listed else (named[2] or f"gpt-{named[1]}") if named else NOT_LOGGED,
        # As coded there: every reflection is kept, but only the newest one beside the last attempt.
        memory_size=1 if strategy.shows_last_attempt else UNLIMITED,
        first_trial=first,
        actor=agent,
        temperature=0.0,
    )
    return LoggedRun(source, settings, tasks, finished, notes + size_notes("hotpotqa", tasks, "questions"))


def _agent(agent: Any) -> tuple[Row, str, list[str]] | None:
    """The last attempt of a dumped agent, its answer, and its reflections."""
    if not isinstance(agent, Mapping):
        return None
    question, key = agent.get("question"), agent.get("key")
    if not isinstance(question, str) or not isinstance(key, str):
        return None
    context = agent.get("context")
    before = f"Context: {context}\n" if isinstance(context, str) and context.strip() else ""
    row = read_row(f"{before}Question: {question}\n{_text(agent.get('scratchpad')).lstrip()}", key)
    return (row, _text(agent.get("answer")), _lessons(agent.get("reflections"))) if row else None


def _lessons(value: Any) -> list[str]:
    """Reflections, which some dumps hold as the text of a list."""
    if isinstance(value, str) and value.startswith("["):
        try:
            value = ast.literal_eval(value)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return [value]
    if isinstance(value, list | tuple):
        return [lesson for lesson in value if isinstance(lesson, str)]
    return [value] if isinstance(value, str) and value else []


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _steps(steps: Sequence[LoggedStep]) -> list[Step]:
    return [
        Step(number=number, thought=step.thought, action=_action(step.action), observation=step.observation)
        for number, step in enumerate(steps, 1)
    ]


def _action(text: str) -> Action:
    found = _ACTION.fullmatch(text.strip())
    name = found[1].lower() if found else ""
    return Action(name=name, args={_ARGUMENTS[name]: found[2]} if found else {}, text=text)
