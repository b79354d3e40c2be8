"""The environment of wrapped agents, which bring their own tools."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from langgraph_reflexion.envs.base import Environment, Episode, Task, choose_split


class NoEpisode(Episode):
    """An episode without actions; its observation is the task."""

    def __init__(self, task: Task) -> None:
        self.observation = task["instruction"]


class NoEnvironment(Environment):
    """No environment: any text is a task, and the agent has tools of its own."""

    name = "agent"
    splits = ("none",)
    episode = NoEpisode
    blocking = False
    # An agent's evaluator is written for it, and its words help.
    profile_defaults: ClassVar[Mapping[str, Any]] = {"feedback": "words"}

    def tasks(self, split: str | None = None, limit: int | None = None) -> Sequence[Task]:
        """Return no tasks: the caller brings them."""
        choose_split(self, split)
        return []

    def start(self, task: Task) -> NoEpisode:
        return NoEpisode(task)
