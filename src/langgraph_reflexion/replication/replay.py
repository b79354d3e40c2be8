"""Run the graph over a log: what it comes to, beside what the log says."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langgraph_reflexion.budgets import Budgets
from langgraph_reflexion.checkpoints import open_checkpointer
from langgraph_reflexion.envs.base import Review, Task
from langgraph_reflexion.errors import EnvironmentFault
from langgraph_reflexion.experiments.task_run import Graph, TaskRun
from langgraph_reflexion.graph.reflexion import create_reflexion
from langgraph_reflexion.replication.hotpotqa_log import Counts, HotPotQALog, read_log
from langgraph_reflexion.replication.hotpotqa_replay import PLACEHOLDER, LoggedQuestions, recorded
from langgraph_reflexion.state import Step, StopReason
from langgraph_reflexion.testing.recorded import RecordedChatModel


@dataclass(frozen=True)
class Replay:
    """A log, and what the graph made of it.

    Attributes:
        log: The log.
        replayed: The counts of each of its trials, as the graph has them.
        notes: The log's, and how many reflections were placeholders.
    """

    log: HotPotQALog
    replayed: list[Counts]
    notes: list[str]

    def as_json(self) -> dict[str, Any]:
        """The counts as plain JSON."""
        trials = self.log.trials
        return {
            "path": str(self.log.path),
            "actor": "react" if self.log.react else "cot",
            "context": self.log.with_context,
            "strategy": str(self.log.strategy),
            "questions": len(self.log.questions),
            "trials": [trial.number for trial in trials],
            "logged": [trial.counts._asdict() for trial in trials],
            "replayed": [counts._asdict() for counts in self.replayed],
            "summaries": [trial.summary and trial.summary._asdict() for trial in trials],
            "notes": self.notes,
        }


def replay(path: Path | str) -> Replay:
    """Replay a log from synchronous code; see `run_replay`."""
    return asyncio.run(run_replay(read_log(Path(path))))


async def run_replay(log: HotPotQALog) -> Replay:
    """Run the graph over a log: the log's steps and reflections for a model, its observations for an environment.

    A question is tried until it is solved, as in the log; it counts as right from then on. What was not listed in a
    trial is not tried in it.

    Args:
        log: The log.

    Raises:
        EnvironmentFault: an attempt could not be run.
    """
    environment, budgets = LoggedQuestions(log), Budgets()
    tasks = environment.tasks()
    most = max((len(log.attempts(task["id"])) for task in tasks), default=1)
    graph = create_reflexion(
        RecordedChatModel(recording=list(recorded(log))),
        environment,
        strategy=log.strategy,
        heuristic=_as_long_as_logged,
        # As coded there: all reflections are kept, but only the newest beside the last attempt.
        memory=1 if log.strategy.shows_last_attempt else most,
        max_trials=most,
        budgets=budgets,
    )
    outcomes: Counter[tuple[int, str]] = Counter()
    lessons: list[str] = []
    async with open_checkpointer("latest", ":memory:") as saver:
        compiled = graph.compile(checkpointer=saver)
        for task in tasks:
            ended, reflections = await _advance(compiled, task, log, most, budgets)
            outcomes.update(ended)
            lessons += reflections
    notes = list(log.notes)
    if missing := lessons.count(PLACEHOLDER):
        notes.append(f"{missing} of {len(lessons)} reflections are not in the log: a placeholder was served")
    replayed = [Counts(*(outcomes[trial.number, how] for how in Counts._fields)) for trial in log.trials]
    return Replay(log, replayed, notes)


async def _advance(
    graph: Graph, task: Task, log: HotPotQALog, most: int, budgets: Budgets
) -> tuple[list[tuple[int, str]], list[str]]:
    """Try one question as often as the log does. Returns how it stands after each trial, and the reflections."""
    run = TaskRun(
        graph,
        task,
        task["id"],
        reflects=log.strategy.reflects,
        max_trials=most,
        budgets=budgets,
        review=lambda task, trial: Review(),
        on_action=lambda: None,
    )
    ended: list[tuple[int, str]] = []
    reflections: list[str] = []
    attempts = [number for number, _ in log.attempts(task["id"])]
    for number in attempts:
        row = (await run.advance()).row
        if row["fault"]:
            raise EnvironmentFault(f"trial {number} of {task['id']!r} cannot be replayed: {row['fault']}")
        if row["reflection"] is not None and number < attempts[-1]:
            reflections.append(row["reflection"])
        if run.status == "solved":
            return [*ended, *((trial.number, "right") for trial in log.trials if trial.number >= number)], reflections
        ended.append((number, "wrong" if row["stop_reason"] == "terminated" else "halted"))
    return ended, reflections


def _as_long_as_logged(trajectory: Sequence[Step]) -> StopReason | None:
    """No heuristic: an attempt ends where the log's does."""
    return None
