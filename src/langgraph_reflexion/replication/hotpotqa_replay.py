"""A HotPotQA log as an environment and a recording: everything that a run of the graph over it needs."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from langgraph_reflexion import prompts
from langgraph_reflexion.envs.base import Action, Environment, Episode, StepResult, Task, action
from langgraph_reflexion.envs.hotpotqa.grading import exact_match
from langgraph_reflexion.replication.hotpotqa_log import HotPotQALog
from langgraph_reflexion.replication.hotpotqa_rows import LoggedStep, Row
from langgraph_reflexion.testing.recorded import RecordedReply

PLACEHOLDER = "[The log holds no reflection on this trial.]"
"""What is served in the place of a reflection that was not logged."""

BEYOND = "[The log ends here.]"
"""What is observed where the log has nothing more."""


class LoggedEpisode(Episode):
    """An attempt as it is logged: whatever is done, the observation is the one of that step.

    Only the answer is graded anew, by exact match. Where the log's attempt ends without one, a limit has ended it.

    Args:
        row: The attempt.
        key: The right answer.
        number: Which of the question's logged attempts it is, counted from 0.
    """

    def __init__(self, row: Row, key: str, number: int) -> None:
        self.observation = row.observation
        self._key = key
        self._steps = row.steps
        self._number = number
        self._done = 0

    def step(self, action: Action) -> StepResult:
        """Take one action; see `Episode.step`."""
        result = super().step(action)
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
        """What is not allowed was answered in the log, too."""
        return self._logged()

    def snapshot(self) -> dict[str, Any] | None:
        """Which attempt this is, and how far it got."""
        return {"attempt": self._number, "done": self._done}

    def resume(self, snapshot: dict[str, Any]) -> None:
        """Go on from a snapshot."""
        self._done = snapshot["done"]

    def _logged(self) -> str:
        return self._steps[self._done].observation if self._done < len(self._steps) else BEYOND


class LoggedQuestions(Environment):
    """The questions of a log.

    The n-th episode of a question is its n-th logged attempt, so that an object replays a log once.

    Args:
        log: The log.
    """

    name = "hotpotqa"
    splits = ("logged",)
    episode = LoggedEpisode
    blocking = False

    def __init__(self, log: HotPotQALog) -> None:
        self.log = log
        self._started: Counter[str] = Counter()
        if not log.react:
            self.prompts = Path(prompts.__file__).parent / "hotpotqa" / log.agent

    def tasks(self, split: str | None = None, limit: int | None = None) -> Sequence[Task]:
        """The questions that the log tells anything of, in its order; see `Environment.tasks`."""
        asked = [(name, row) for name, row in self.log.questions.items() if self.log.attempts(name)]
        return [Task(id=name, instruction=f"Question: {row.question}") for name, row in asked][:limit]

    def start(self, task: Task) -> LoggedEpisode:
        """Start the next attempt; see `Environment.start`."""
        number = self._started[task["id"]]
        self._started[task["id"]] += 1
        return self._episode(task, number)

    def restore(self, task: Task, snapshot: dict[str, Any]) -> LoggedEpisode:
        """Bring back an episode; see `Environment.restore`."""
        episode = self._episode(task, snapshot["attempt"])
        episode.resume(snapshot)
        return episode

    def _episode(self, task: Task, number: int) -> LoggedEpisode:
        _, row = self.log.attempts(task["id"])[number]
        return LoggedEpisode(row, self.log.questions[task["id"]].key, number)


def recorded(log: HotPotQALog) -> Iterator[RecordedReply]:
    """What the models said in a log: the steps of each attempt, and the reflection behind it."""
    for question in log.questions:
        attempts = log.attempts(question)
        for trial, (_, row) in enumerate(attempts, 1):
            for number, step in enumerate(row.steps):
                yield RecordedReply(task=question, trial=trial, call=f"act {number}", reply=_said(step))
            # The lesson from an attempt is first seen in what the next one was shown.
            lesson = attempts[trial][1].lesson_since(row) if trial < len(attempts) else ""
            yield RecordedReply(task=question, trial=trial, call="reflect", reply=lesson or PLACEHOLDER)


def _said(step: LoggedStep) -> str:
    thought, action = (" ".join(said.split()) for said in (step.thought, step.action))
    # Here this would be a thought, which is no action; there it was an action that is not allowed.
    if action.lower().startswith("think"):
        action = f"({action})"
    return f"Thought: {thought}\nAction: {action}"
