"""An actor for each trial, such as a small model and then a large one."""

from collections.abc import Sequence
from dataclasses import dataclass

from langchain_core.runnables import RunnableConfig

from langgraph_reflexion.actors.base import Actor
from langgraph_reflexion.envs.base import Environment, Task
from langgraph_reflexion.loop.trials import of_trial
from langgraph_reflexion.models.calls import CallId, Reply
from langgraph_reflexion.state import Decision, ReflexionState, Update


@dataclass
class ByTrial:
    """The actor of each trial, and the last one for all further trials."""

    actors: Sequence[Actor]

    @property
    def environment(self) -> Environment:
        """The tasks and actions, which are the same for all."""
        return self.actors[0].environment

    def for_task(self, task: Task) -> "ByTrial":
        """Return the actors with the actions of this task."""
        return ByTrial([actor.for_task(task) for actor in self.actors])

    async def choose(
        self, state: ReflexionState, config: RunnableConfig, call: CallId, temperature: float | None = None
    ) -> tuple[Decision, Reply]:
        """Ask the model of the trial for the next step.

        Raises:
            ModelFault: the model gave no step.
        """
        actor = of_trial(self.actors, state["trial"])
        return await actor.choose(state, config, call, temperature)

    def keep(self, state: ReflexionState, reply: Reply) -> Update:
        """Return what the state keeps of a reply beside the decision."""
        actor = of_trial(self.actors, state["trial"])
        return actor.keep(state, reply)
