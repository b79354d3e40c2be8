"""The environment of `tests.performance.throughput`: trials of N steps with observations of equal length."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from langgraph_reflexion import Environment, Episode, StepResult, Task, action

LENGTH = 500
"""Characters of each message, about."""


def text_of(begins: str) -> str:
    """Return a text of the usual length."""
    return (begins + " You see a shelf, and on the shelf a cup, a plate and a candle." * LENGTH)[:LENGTH]


REPLY = f"Thought: {text_of('Nothing is of use here.')[:-30]}\nAction: walk 1"
"""The model's only reply."""


class Treadmill(Episode):
    """An episode that ends after N steps."""

    def __init__(self, steps: int) -> None:
        self.observation = text_of("You stand on a treadmill.")
        self.left = steps

    @action("walk {steps}")
    def walk(self, steps: Annotated[int, "how far"]) -> StepResult:
        """Walk."""
        self.left -= 1
        return StepResult(text_of(f"There are {self.left} steps to go."), reward=0.0, terminated=self.left == 0)


class Hall(Environment):
    """A hall of treadmills.

    Args:
        steps: N steps of a trial.
        log: A file to which each trial adds a line when it starts: its task and the time.
    """

    name = "treadmill"
    splits = ("own",)
    episode = Treadmill
    blocking = False

    def __init__(self, log: str, steps: int = 10) -> None:
        self.steps, self.log = steps, Path(log)

    def tasks(self, split: str | None = None, limit: int | None = None) -> Sequence[Task]:
        return [Task(id=f"walk-{number}", instruction="Walk.") for number in range(limit or 1)]

    def start(self, task: Task) -> Episode:
        with self.log.open("a") as file:
            file.write(f"{task['id']} {time.time()}\n")
        return Treadmill(self.steps)
