"""What `bench.throughput` sweeps over: trials of so many steps, and prompts that are all of the same length.

run_sweep(SweepSettings("langgraph_reflexion.bench.treadmill:Hall", agent="window", ...))
"""

import time
from collections.abc import Sequence
from typing import Annotated, Any, cast

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from langgraph_reflexion.envs.base import Environment, Episode, StepResult, Task, action
from langgraph_reflexion.graph.state import ReflexionState
from langgraph_reflexion.nodes.actors import ACTORS, TextActor

SHOWN = 5
"""How many steps a prompt shows."""
MESSAGES = 2 + 2 * SHOWN
"""How many messages it has: instruction, task, and the steps."""
LENGTH = 500
"""About how many characters each of them has."""


def text_of(begins: str) -> str:
    """A text of the usual length."""
    return (begins + " You see a shelf, and on the shelf a cup, a plate and a candle." * LENGTH)[:LENGTH]


REPLY = f"Thought: {text_of('Nothing is of use here.')[:-30]}\nAction: walk 1"
"""What the model always says."""

CONVERSATION = [
    SystemMessage(text_of("You walk.")),
    HumanMessage(text_of("Walk.")),
    *[AIMessage(REPLY), HumanMessage(text_of("Observation: There are 5 steps to go."))] * SHOWN,
]
"""A prompt like those of the window actor, for who calls without a graph."""


class Treadmill(Episode):
    """An episode that ends after so many steps, in which nothing comes of anything."""

    def __init__(self, steps: int) -> None:
        self.observation = text_of("You stand on a treadmill.")
        self.left = steps

    @action("walk {steps}")
    def walk(self, steps: Annotated[int, "how far"]) -> StepResult:
        """Walk."""
        self.left -= 1
        return StepResult(text_of(f"There are {self.left} steps to go."), reward=0.0, terminated=self.left == 0)


class Hall(Environment):
    """So many treadmills.

    Args:
        steps: How many steps a trial has.
        first: The number of the first task, so that several processes can have tasks of their own.

    Attributes:
        began: When each task did, on the clock of `time.perf_counter`.
    """

    name = "treadmill"
    splits = ("own",)
    episode = Treadmill
    blocking = False
    variants = ("window",)

    def __init__(self, steps: int = 10, first: int = 0) -> None:
        self.steps, self.first = steps, first
        self.began: dict[str, float] = {}
        _made.append(self)

    def tasks(self, split: str | None = None, limit: int | None = None) -> Sequence[Task]:
        """As many tasks as are asked for."""
        names = [f"walk {number}" for number in range(self.first, self.first + (limit or 1))]
        return [Task(id=name, instruction="Walk.") for name in names]

    def variant(self, name: str) -> "Hall":
        """The same."""
        return self

    def start(self, task: Task) -> Episode:
        """Step on."""
        self.began.setdefault(task["id"], time.perf_counter())
        return Treadmill(self.steps)


_made: list[Hall] = []


def last_made() -> Hall:
    """The hall that the last sweep of this process made for itself."""
    return _made[-1]


class WindowActor(TextActor):
    """Shows the last few steps only, so that no prompt is longer than another."""

    def messages(self, state: ReflexionState, cue: str = "") -> list[BaseMessage]:
        """Instruction and task, and as many messages as were told steps."""
        last = cast(ReflexionState, {**state, "trajectory": state["trajectory"][-SHOWN:]})
        messages = super().messages(last, cue)
        return [*messages, *[HumanMessage(state["episode"]["observation"])] * (MESSAGES - len(messages))]


ACTORS["window"] = WindowActor
"""Imported by whoever names the hall: so is the actor known by its name."""


def settings(url: str, tasks: int, first: int, steps: int, concurrency: int) -> dict[str, Any]:
    """The sweep's settings."""
    return {
        "environment": f"{__name__}:Hall",
        "options": {"steps": steps, "first": first},
        "agent": "window",
        "model": "openai:m",
        "base_url": url,
        "limit": tasks,
        "trials": 1,
        "strategy": "retry",
        "concurrency": concurrency,
    }
