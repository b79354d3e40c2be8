"""Small environments to test with: one that is rebuilt by replay, and one with snapshots."""

import time
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from langgraph_reflexion.envs.base import Action, Environment, Episode, StepResult, Task, action, choose_split


class CounterEpisode(Episode):
    """Bring the counter from 0 to the goal."""

    def __init__(self, goal: int, limit: int) -> None:
        self.observation = f"The counter stands at 0. Bring it to {goal}."
        self.goal, self.left, self.count, self.closed = goal, limit, 0, 0

    @action("add {amount}", "plus {amount}")
    def add(self, amount: Annotated[int, "how much to add"], times: Annotated[int, "how often"] = 1) -> StepResult:
        """Add to the counter."""
        return self._now(self.count + amount * times)

    @action("go {direction}")
    def turn(self, direction: Annotated[Literal["up", "down"], "which way"]) -> StepResult:
        """Go one step up or down."""
        return self._now(self.count + (1 if direction == "up" else -1))

    @action()
    def read(self) -> str:
        """Read the counter.

        This second paragraph is not for models.
        """
        return f"{self.count}"

    @action("fail", name="break")
    def fail(self) -> StepResult:
        """Make the environment itself fail."""
        raise OSError("the counter fell off the wall")

    def _now(self, count: int) -> StepResult:
        if self.left <= 0 or self.count == self.goal:
            return StepResult("It is over.", terminated=self.count == self.goal, truncated=self.left <= 0)
        self.count, self.left = count, self.left - 1
        done = self.count == self.goal
        return StepResult(f"The counter stands at {self.count}.", float(done), done, self.left <= 0 and not done)

    def close(self) -> None:
        self.closed += 1


class Counter(Environment):
    """Counters with ever larger goals. Keeps the episodes that it started, for tests to look at."""

    name = "counter"
    splits = ("easy", "hard")
    episode = CounterEpisode
    blocking = False

    def __init__(self, limit: int = 20) -> None:
        self.limit = limit
        self.started: list[CounterEpisode] = []

    def tasks(self, split: str | None = None, limit: int | None = None) -> Sequence[Task]:
        first = 3 if choose_split(self, split) == "easy" else 1000
        goals = list(range(first, first + 5))[:limit]
        return [Task(id=f"c{g}", instruction=f"Count to {g}.", data={"goal": g}) for g in goals]

    def start(self, task: Task) -> CounterEpisode:
        episode = CounterEpisode(task["data"]["goal"], self.limit)
        self.started.append(episode)
        return episode


class SlowCounter(Counter):
    """A counter whose episodes take their time to start."""

    blocking = True
    seconds = 0.3

    def start(self, task: Task) -> CounterEpisode:
        time.sleep(self.seconds)
        return super().start(task)


class NotebookEpisode(Episode):
    """A notebook, whose pages are its snapshot. Each has a number of its own: replay cannot bring it back."""

    copies = 0

    def __init__(self, lines: list[str], number: int | None = None) -> None:
        NotebookEpisode.copies += 1
        self.number = NotebookEpisode.copies if number is None else number
        self.observation = "An empty notebook."
        self.lines = lines

    @action("write {line}")
    def write(self, line: str) -> StepResult:
        """Write a line."""
        self.lines.append(line)
        return StepResult(f"Notebook {self.number} has {len(self.lines)} lines.")

    @action("show")
    def show(self) -> str:
        """Show all lines."""
        return " / ".join(self.lines)

    def snapshot(self) -> dict[str, Any]:
        return {"lines": list(self.lines), "number": self.number}


class Notebook(Environment):
    """An environment whose episodes are brought back from snapshots, never by replay."""

    name = "notebook"
    splits = ("all",)
    episode = NotebookEpisode

    def tasks(self, split: str | None = None, limit: int | None = None) -> Sequence[Task]:
        choose_split(self, split)
        return [Task(id="notebook", instruction="Write something.")][:limit]

    def start(self, task: Task) -> NotebookEpisode:
        return NotebookEpisode([])

    def restore(self, task: Task, snapshot: dict[str, Any]) -> NotebookEpisode:
        return NotebookEpisode(list(snapshot["lines"]), snapshot["number"])


def add(amount: Any) -> Action:
    """An action of the counter's."""
    return Action(name="add", args={"amount": amount}, text=f"add {amount}")
