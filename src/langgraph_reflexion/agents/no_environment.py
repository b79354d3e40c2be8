"""No environment of ours: for agents that bring their own tools."""

from collections.abc import Sequence

from langgraph_reflexion.envs.base import Environment, Episode, Task, choose_split


class NoEpisode(Episode):
    """An episode without actions: all that there is to see is the task."""

    def __init__(self, task: Task) -> None:
        self.observation = task["instruction"]


class NoEnvironment(Environment):
    """Where a wrapped agent is at home: any text is a task, and what the agent does is its own business."""

    name = "agent"
    splits = ("none",)
    episode = NoEpisode
    blocking = False

    def tasks(self, split: str | None = None, limit: int | None = None) -> Sequence[Task]:
        """No tasks: they come from whoever uses the graph."""
        choose_split(self, split)
        return []

    def start(self, task: Task) -> NoEpisode:
        """Begin with the task's text."""
        return NoEpisode(task)
