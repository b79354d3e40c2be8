"""Passwords: tasks in which only what a failure shows helps, small enough for tiny language models.

    langgraph-reflexion run docs/experiments/passwords.py:Passwords --model openai:any --base-url ...

Half of the tasks have a password that nobody can know, the others three doors to choose from. One answer ends the
trial, and a wrong one is followed by the right one: a model that writes down what it saw solves the next trial.
"""

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Annotated, Any

from langgraph_reflexion.envs.actions import action
from langgraph_reflexion.envs.base import Environment, Episode, StepResult, Task

_WORDS = """
anchor apple arrow basket bell bridge bucket button cabin candle carpet castle cloud copper corner cotton
cradle crown curtain desert dragon drum engine feather finger flute forest garden ginger glove hammer harbor
harvest helmet honey island ivory jacket kettle kitten ladder lantern lemon letter lizard magnet marble market
meadow mirror monkey mountain needle olive orange oven paddle palace paper parrot pebble pencil pepper pillow
planet pocket rabbit ribbon rocket saddle salmon shadow shovel signal silver spider spoon statue summer table
temple thunder ticket tiger tomato tower trumpet tunnel turtle valley velvet violin wagon walnut whistle
window winter
"""
_PLACES = "attic bakery barn castle cellar chapel harbor inn library mill monastery mine museum palace theater"


class Attempt(Episode):
    """A trial: one answer."""

    def __init__(self, task: Task) -> None:
        self.observation = task["instruction"]
        self.data = task["data"]

    @action("answer[{word}]")
    def answer(self, word: Annotated[str, "one word"]) -> StepResult:
        """Answer with one word, which ends the trial."""
        if word.strip().strip(".!\"'").lower() == self.data["word"]:
            return StepResult("That is right.", 1.0, terminated=True)
        return StepResult(self.data["told"], 0.0, terminated=True)

    def finalize(self) -> StepResult:
        """A trial that was stopped without an answer has failed, and shows nothing."""
        return StepResult("No answer was given.", 0.0)


class Passwords(Environment):
    """Guards who ask for a password, and doors of which one is open.

    Args:
        seed: Decides the tasks; each seed has its own.
        count: The number of tasks.
    """

    name = "passwords"
    prompts = Path(__file__).with_suffix("")
    reply_tokens = 64
    splits = ("all",)
    episode = Attempt
    replayable = True
    profile_defaults = {"examples": 4}

    def __init__(self, *, seed: int = 0, count: int = 16) -> None:
        self.seed, self.count = seed, count

    def tasks(self, split: str | None = None, limit: int | None = None) -> Sequence[Task]:
        """Return the tasks: passwords and doors in turns."""
        self.choose_split(split)
        rng = Random(f"passwords {self.seed}")
        tasks = [_task(number, rng) for number in range(self.count)]
        return tasks[:limit]

    def start(self, task: Task) -> Attempt:
        """Begin a trial."""
        return Attempt(task)


def _task(number: int, rng: Random) -> Task:
    place, (word, *others) = rng.choice(_PLACES.split()), rng.sample(_WORDS.split(), 3)
    if number % 2 == 0:
        asked = f"The guard of the {place} asks for the password, which is one word."
        data: dict[str, Any] = {"word": word, "told": f"Wrong. The password is {word}."}
        return Task(id=f"password-{number}", instruction=asked, kind="password", data=data)
    doors = ", ".join(rng.sample([word, *others], 3))
    asked = f"The {place} has three doors with a sign: {doors}. Which one is open?"
    data = {"word": word, "told": f"Wrong. The open door is {word}."}
    return Task(id=f"door-{number}", instruction=asked, kind="door", data=data)
