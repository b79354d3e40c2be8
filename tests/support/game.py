"""A guessing game; `cli.make_home` also writes it to the user's folder."""

from collections.abc import Sequence
from typing import Annotated

from langgraph_reflexion import Environment, Episode, StepResult, Task, action


class Guess(Episode):
    def __init__(self, number: int) -> None:
        self.observation = f"I think of a number. This is game {number}."
        self.number = number

    @action("say {number}")
    def say(self, number: Annotated[int, "the guess"]) -> StepResult:
        """Say a number."""
        right = number == self.number
        return StepResult("Right." if right else "Wrong.", float(right), terminated=True)

    @action("wait")
    def wait(self) -> str:
        """Wait."""
        return "You wait."

    @action("drop it", name="drop")
    def drop(self) -> str:
        """Break the game."""
        raise OSError("the game fell on the floor")


class Guessing(Environment):
    """Task g3 is solved by saying 3, which an agent that counts up from trial to trial does in trial 3."""

    name = "guessing"
    splits = ("numbers", "letters")
    episode = Guess

    def __init__(self, seed: int = 0, highest: int = 3) -> None:
        self.seed = seed
        self.numbers: Sequence[int] = range(1, highest + 1)

    def tasks(self, split: str | None = None, limit: int | None = None) -> Sequence[Task]:
        return [Task(id=f"g{n}", instruction="Guess it.", data={"number": n}) for n in self.numbers][:limit]

    def start(self, task: Task) -> Guess:
        return Guess(task["data"]["number"])
