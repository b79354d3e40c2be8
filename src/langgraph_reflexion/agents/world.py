"""The world of a wrapped agent: what each of its trials begins with."""

import hashlib
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Protocol, cast, runtime_checkable

from langchain_core.messages import HumanMessage
from langchain_core.runnables import Runnable

from langgraph_reflexion.agents.forms import as_runnable, check_call
from langgraph_reflexion.envs.base import Environment, Episode, Task
from langgraph_reflexion.envs.pool import EpisodePool
from langgraph_reflexion.errors import ConfigurationError, EpisodeLost
from langgraph_reflexion.loop.conversation import in_text, pictures_in
from langgraph_reflexion.models.faults import outside_fault


@runtime_checkable
class World(Protocol):
    """Something that an agent changes outside its state, such as a folder or a database.

    It is saved before a task's first trial, restored before each trial, and saved again after each. At the end, it is
    left as the best trial left it.
    """

    def save(self) -> dict[str, Any]:
        """Return the current contents as plain JSON, or a reference in JSON to where they are stored.

        Raises:
            OSError: saving failed. The trial is recorded as a fault, unless a path is wrong, which is a bug.
        """
        ...

    def restore(self, saved: dict[str, Any]) -> None:
        """Restore the contents that an earlier `save` returned.

        Raises:
            OSError: restoring failed, likewise.
        """
        ...


ResetFunction = Callable[[str], Any]
"""Called with the task's text before each trial; returns None, or a dict of the agent's state."""

MakeFunction = Callable[[str], Any]
"""Called with the task's text before each trial; returns a new agent, or the agent and its world."""


class AgentEpisode(Episode):
    """A trial's world: the agent, and the state that `reset` returned for it. The observation is the task.

    Attributes:
        used: Whether an attempt at the trial was broken off in it, by a bug.
        world: What `make` returned beside the agent, for the evaluator.
    """

    used = False

    def __init__(
        self, task: Task, agent: Runnable[Any, Any] | None, state: dict[str, Any], world: object = None
    ) -> None:
        self.observation = task["instruction"]
        self.agent = agent
        self.state = state
        self.world = world

    def snapshot(self) -> dict[str, Any]:
        """Return the agent's state at the trial's beginning."""
        return {"state": self.state}


class AgentEnvironment(Environment):
    """The environment of wrapped agents, which bring their own tools: any text is a task.

    Args:
        reset: Called before each trial, or a `World`.
        make: Returns the agent of a trial, as a runnable or a function, or the agent and its world; None if one
            agent plays all trials.
    """

    name = "agent"
    splits: tuple[str, ...] = ("none",)
    episode = AgentEpisode
    # An agent's evaluator is written for it, and its words help. Trials are expensive.
    profile_defaults: ClassVar[Mapping[str, Any]] = {
        "actor": "agent",
        "feedback": "words",
        "shows_check": True,
        "rejects_reflections": True,
        "max_trials": 3,
    }

    def __init__(self, reset: ResetFunction | World | None = None, make: MakeFunction | None = None) -> None:
        if reset is not None and not isinstance(reset, World):
            check_call("reset", reset, "task")
        self.reset = reset
        self.world = reset if isinstance(reset, World) else None
        self.make = make
        # The run whose trial has restored the world last: two at once would overwrite each other's.
        self._run = ""
        self.blocking = self.fresh

    @property
    def fresh(self) -> bool:
        """Whether a trial finds nothing of the trials before."""
        return self.reset is not None or self.make is not None

    def tasks(self, split: str | None = None, limit: int | None = None) -> Sequence[Task]:
        """Return no tasks: the caller brings them."""
        self.choose_split(split)
        return []

    def find_task(self, text: str, split: str | None = None) -> Task:
        return Task(id=task_name(text), instruction=text)

    def task_of(self, message: HumanMessage) -> Task:
        """Return the task of a message: the same words with another picture are another task."""
        pictures = in_text(pictures_in([message]))
        return Task(id=task_name(message.text + pictures), instruction=message.text)

    def prepare(self, task: Task) -> dict[str, Any]:
        """Save the world, and name the task's run: the agents and worlds of two runs of one task differ."""
        if not self.fresh:
            return {}
        prepared: dict[str, Any] = {"run": uuid.uuid4().hex}
        if self.world is not None:
            prepared["world"] = self.world.save()
        return prepared

    def start(self, task: Task) -> AgentEpisode:
        """Reset the world, and make the trial's agent.

        Raises:
            ConfigurationError: `reset` returned neither None nor a dict.
            Fault: a service that they need is down.
        """
        state = outside("reset", self._reset, task)
        if not isinstance(state, Mapping | None):
            raise ConfigurationError(
                f"reset must return None or a dict of the agent's state; got {type(state).__name__}"
            )
        begins_with = dict(state or {})
        if self.make is None:
            return AgentEpisode(task, None, begins_with)
        made = outside("make", self.make, task["instruction"])
        agent, world = _agent_and_world(made)
        return AgentEpisode(task, as_runnable(agent), begins_with, world)

    def go_on(self, task: Task, snapshot: dict[str, Any]) -> AgentEpisode:
        """Return the world as an earlier trial has left it, for the agent to go on in; see `SupportsGoOn`.

        Args:
            task: The task.
            snapshot: The agent's state at that trial's end, and the saved world, if there is one.
        """
        saved = snapshot.get("world")
        if saved is not None:
            self.restore_world(task, saved)
        return AgentEpisode(task, None, snapshot.get("state", {}))

    def _reset(self, task: Task) -> Any:
        if self.world is not None:
            self.restore_world(task, task["prepared"]["world"])
            return None
        if callable(self.reset):
            return self.reset(task["instruction"])
        return None

    def save_world(self, task: Task) -> dict[str, Any] | None:
        """Save the world after a trial of the task, if there is one.

        Raises:
            ConfigurationError: another run has restored it since.
        """
        if self.world is None:
            return None
        # In a new process nobody has restored it yet.
        if self._run not in ("", task["prepared"]["run"]):
            raise ConfigurationError(
                "another run has restored the world during this trial: run one task at a time, or give each run a "
                "world of its own, such as a copy of the folder"
            )
        return self.world.save()

    def restore_world(self, task: Task, saved: dict[str, Any]) -> None:
        """Restore the world for a trial of the task, or as its best trial has left it."""
        if self.world is not None:
            # Set before the world is restored, as a `restore` that fails may have changed a part of it.
            self._run = task["prepared"]["run"]
            self.world.restore(saved)

    def restore(self, task: Task, snapshot: dict[str, Any]) -> AgentEpisode:
        """Return the trial's world as it was left when its process ended.

        Raises:
            EpisodeLost: it was the agent's own, which only its process had.
        """
        if self.make is not None:
            raise EpisodeLost(task["id"], 0)
        episode = AgentEpisode(task, None, snapshot["state"])
        # The process that has ended may have left traces of its attempt.
        episode.used = True
        return episode


async def borrowed(pool: EpisodePool, task: Task, snapshot: dict[str, Any] | None, key: str) -> AgentEpisode:
    """Take the world of a trial out of the pool, to use it and give it back; see `EpisodePool.borrow`."""
    # A pool knows episodes of any environment, and this one those of `AgentEnvironment`.
    return cast(AgentEpisode, await pool.borrow(task, [], snapshot, key=key))


def outside(what: str, function: Callable[[Any], Any], given: Any) -> Any:
    """Call a function of the user's before a trial.

    Raises:
        Fault: a service that it needs is down.
    """
    try:
        return function(given)
    except Exception as error:
        fault = outside_fault(error, what)
        if fault is None or fault is error:
            raise
        raise fault from error


def _agent_and_world(made: Any) -> tuple[Any, Any]:
    """Return what `make` has returned: the agent, and its world if there is one."""
    if isinstance(made, tuple) and len(made) == 2:
        return made[0], made[1]
    return made, None


def task_name(text: str) -> str:
    """Return the id of a task that is a text."""
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=6).hexdigest()
