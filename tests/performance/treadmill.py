"""The environment and the actor of `tests.performance.throughput`: trials of N steps, prompts of equal length."""

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, cast

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from openai import DefaultAsyncHttpxClient

from langgraph_reflexion.actors import TextActor
from langgraph_reflexion.envs.base import Environment, Episode, StepResult, Task, action
from langgraph_reflexion.experiments.setup import Setup, set_up
from langgraph_reflexion.graph.reflexion import ReflexionGraph, connect
from langgraph_reflexion.nodes.act import Act
from langgraph_reflexion.prompts import load_prompts
from langgraph_reflexion.settings import RunSettings
from langgraph_reflexion.state import ReflexionState

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
    """A hall of treadmills.

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

    def __init__(self, steps: int = 10, first: int = 0) -> None:
        self.steps, self.first = steps, first
        self.began: dict[str, float] = {}

    def tasks(self, split: str | None = None, limit: int | None = None) -> Sequence[Task]:
        """As many tasks as are asked for."""
        names = [f"walk {number}" for number in range(self.first, self.first + (limit or 1))]
        return [Task(id=name, instruction="Walk.") for name in names]

    def start(self, task: Task) -> Episode:
        """Step on."""
        self.began.setdefault(task["id"], time.perf_counter())
        return Treadmill(self.steps)


class WindowActor(TextActor):
    """Shows the last few steps only, so that no prompt is longer than another."""

    def messages(self, state: ReflexionState, cue: str = "") -> list[BaseMessage]:
        """Instruction and task, and as many messages as were told steps."""
        last = cast(ReflexionState, {**state, "trajectory": state["trajectory"][-SHOWN:]})
        messages = super().messages(last, cue)
        return [*messages, *[HumanMessage(state["episode"]["observation"])] * (MESSAGES - len(messages))]


def walking(
    url: str, hall: Hall, tasks: int, concurrency: int, connections: DefaultAsyncHttpxClient
) -> tuple[RunSettings, Setup]:
    """Return a run whose actor is the window actor.

    Args:
        url: The model server.
        hall: The environment.
        tasks: The number of tasks.
        concurrency: The number of tasks that are advanced at once.
        connections: The connections of the model, which the caller closes.
    """
    settings = RunSettings(
        environment=hall.name,
        model="openai:m",
        base_url=url,
        limit=tasks,
        max_trials=1,
        strategy="retry",
        concurrency=concurrency,
    ).resolved(hall)
    setup = set_up(settings, hall, connections)
    made = setup.graph
    actor = WindowActor(made.clients[0], hall, load_prompts(hall.name), replace(made.rules, examples=0))
    graph = ReflexionGraph(ReflexionState)
    graph.loop, graph.rules, graph.pool, graph.clients = made.loop, made.rules, made.pool, made.clients
    connect(graph, {**made.loop, "act": Act(actor, settings.seed)}, "retry")
    return settings, setup._replace(graph=graph)
