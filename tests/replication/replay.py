"""Replays of HotPotQA logs: the graph is run over a log, and its counts are compared with the logged ones.

The log's steps and reflections are the model, its observations the environment.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from langgraph_reflexion import prompts
from langgraph_reflexion.envs.base import Action, Environment, Episode, StepResult, Task, action
from langgraph_reflexion.envs.hotpotqa.grading import exact_match
from langgraph_reflexion.graph.reflexion import create_reflexion
from langgraph_reflexion.lab.experiments.tables import Table
from langgraph_reflexion.support.choices import UNLIMITED
from langgraph_reflexion.support.text import count
from langgraph_reflexion.testing.models import RecordedChatModel, RecordedReply
from tests.replication.hotpotqa_log import Counts, HotPotQALog, LoggedStep, Row, read_log

PLACEHOLDER = "[The log holds no reflection on this trial.]"
"""The reply to a reflection prompt whose reflection was not logged."""

BEYOND = "[The log ends here.]"
"""The observation after the last logged step."""


class LoggedEpisode(Episode):
    """A logged attempt: each action returns the observation of that step, whatever the action is.

    Only the answer is graded again, by exact match. A logged attempt without an answer was ended by a limit.
    """

    def __init__(self, row: Row, key: str) -> None:
        self.observation = row.observation
        self._key = key
        self._steps = row.steps
        self._done = 0

    def step(self, action: Action) -> StepResult:
        result: StepResult = super().step(action)
        self._done += 1
        ended = not result.terminated and self._done >= len(self._steps)
        return replace(result, reward=result.reward or 0.0, truncated=ended)

    @action("search[{entity}]")
    def search(self, entity: str) -> str:
        """Open a page, and read its first paragraph."""
        return self._logged()

    @action("lookup[{string}]")
    def lookup(self, string: str) -> str:
        """Read the next paragraph of the page that holds these words."""
        return self._logged()

    @action("finish[{answer}]")
    def finish(self, answer: str) -> StepResult:
        """Hand in the answer."""
        return StepResult(self._logged(), float(exact_match(answer, self._key)), terminated=True)

    def invalid(self, why: str) -> str:
        """Return the logged observation, as the log has one for invalid actions, too."""
        return self._logged()

    def _logged(self) -> str:
        return self._steps[self._done].observation if self._done < len(self._steps) else BEYOND


class LoggedQuestions(Environment):
    """The questions of a log. The n-th episode of a question is its n-th logged attempt."""

    name = "hotpotqa"
    splits = ("logged",)
    episode = LoggedEpisode
    blocking = False

    def __init__(self, log: HotPotQALog) -> None:
        self.log = log
        self._started: Counter[str] = Counter()
        if log.agent != "react":
            self.prompts = Path(prompts.__file__).parent / "hotpotqa" / log.agent

    def tasks(self, split: str | None = None, limit: int | None = None) -> Sequence[Task]:
        asked = [name for name in self.log.questions if self.log.attempts(name) and not self.log.solved_before(name)]
        return [Task(id=name, instruction=f"Question: {self.log.questions[name].question}") for name in asked][:limit]

    def start(self, task: Task) -> LoggedEpisode:
        name = task["id"]
        _, row = self.log.attempts(name)[self._started[name]]
        self._started[name] += 1
        return LoggedEpisode(row, self.log.questions[name].key)


def recorded(log: HotPotQALog) -> Iterator[RecordedReply]:
    """Yield the model's replies in a log: the steps of each attempt, and the reflection on it."""
    for question in log.questions:
        attempts = log.attempts(question)
        for trial, (_, row) in enumerate(attempts, 1):
            for number, step in enumerate(row.steps):
                yield RecordedReply(task=question, trial=trial, call=f"act {number}", reply=_reply(step))
            # A reflection is first logged in the prompt of the next attempt.
            if log.strategy.reflects and trial < len(attempts):
                lesson = attempts[trial][1].lesson_since(row, log.strategy)
                yield RecordedReply(task=question, trial=trial, call="reflect", reply=lesson or PLACEHOLDER)


def _reply(step: LoggedStep) -> str:
    thought, action = (" ".join(text.split()) for text in (step.thought, step.action))
    # In the original this is an invalid action; here it would be parsed as a thought.
    if action.lower().startswith("think"):
        action = f"({action})"
    return f"Thought: {thought}\nAction: {action}"


@dataclass(frozen=True)
class Replay:
    """A log and its replay."""

    log: HotPotQALog
    replayed: list[Counts]
    """The graph's counts of each trial of the log."""
    notes: list[str]
    """Notes on the log, and on reflections that it lacks."""

    def as_json(self) -> dict[str, Any]:
        trials = self.log.trials
        return {
            "path": str(self.log.path),
            "actor": self.log.agent.removesuffix("-gt"),
            "context": self.log.agent == "cot-gt",
            "strategy": str(self.log.strategy),
            "questions": len(self.log.questions),
            "trials": [trial.number for trial in trials],
            "logged": [trial.counts._asdict() for trial in trials],
            "replayed": [counts._asdict() for counts in self.replayed],
            "notes": self.notes,
        }

    def print(self, console: Console | None = None) -> None:
        """Print the counts of each trial, and the notes."""
        console, log = console or Console(), self.log
        console.print(Text(str(log.path), "bold"), soft_wrap=True)
        console.print(
            Text(f"  {log.agent} · {log.strategy} · {count(len(log.questions), 'question')} · recorded model output")
        )
        rows, different = [], 0
        for trial, replayed in zip(log.trials, self.replayed, strict=True):
            pairs = list(zip(trial.counts, replayed, strict=True))
            different += trial.counts != replayed
            marked = [f"{got}{' ≠' if got != logged else '  '}" for logged, got in pairs]
            rows.append([str(trial.number), *(str(logged) for logged, _ in pairs), *marked])
        head = ("trial", "logged right", "wrong", "halted", "replayed right", "wrong", "halted")
        Table("Questions right, wrong and halted, by trial", head, rows).print(console)
        same = f"all {len(log.trials)} trials come out as logged"
        console.print(Text(f"{different} of {len(log.trials)} trials differ" if different else same))
        for note in self.notes:
            console.print(Text(f"  {note}", "dim"), soft_wrap=True)


def replay(path: Path | str) -> Replay:
    """Replay a log, or the one in a folder.

    A question is tried until it is solved, as in the log, and counts as right from then on. It is not tried in a
    trial that does not list it, nor if it was solved before the log's first trial.

    Raises:
        ConfigurationError: there is no log, or more than one.
    """
    return asyncio.run(_replay(read_log(Path(path))))


async def _replay(log: HotPotQALog) -> Replay:
    environment, replies = LoggedQuestions(log), list(recorded(log))
    graph = create_reflexion(
        RecordedChatModel(recording=replies),
        environment,
        strategy=log.strategy,
        heuristic=lambda trajectory: None,
        # As in the original's code: all reflections are kept, but only the newest beside the last attempt.
        memory=1 if log.strategy.shows_last_attempt else UNLIMITED,
    ).compile()
    before = sum(map(log.solved_before, log.questions))
    outcomes = Counter({(trial.number, "right"): before for trial in log.trials})
    reflections = {(each["task"], each["trial"]): each["reply"] for each in replies if each["call"] == "reflect"}
    lessons = list[str]()
    for task in environment.tasks():
        attempts = [number for number, _ in log.attempts(task["id"])]
        final = await graph.ainvoke({"task": task}, context={"max_trials": len(attempts)})
        for number, record in zip(attempts, final["trials"], strict=False):
            if record["verdict"]:
                outcomes.update((trial.number, "right") for trial in log.trials if trial.number >= number)
            else:
                outcomes[number, "wrong" if record["stop_reason"] == "terminated" else "halted"] += 1
        tried = len(final["trials"])
        lessons += [text for (name, trial), text in reflections.items() if name == task["id"] and trial < tried]
    notes = list(log.notes)
    if missing := lessons.count(PLACEHOLDER):
        notes.append(f"{missing} of {len(lessons)} reflections are not in the log: a placeholder was used")
    replayed = [Counts(*(outcomes[trial.number, how] for how in Counts._fields)) for trial in log.trials]
    return Replay(log, replayed, notes)
