"""The names that Inspect finds (`inspect eval langgraph_reflexion/alfworld`): tasks, agent, scorers, provider.

The entry point `inspect_ai` of the package names this module.
"""

import weakref
from collections.abc import Callable, Sequence
from typing import Any

from inspect_ai import Task as InspectTask
from inspect_ai import task
from inspect_ai.dataset import MemoryDataset, Sample

from langgraph_reflexion.adapters.inspect.agent import TASK, read_settings, reflexion_agent, sample_context
from langgraph_reflexion.adapters.inspect.provider import reflexion_models as reflexion_models
from langgraph_reflexion.adapters.inspect.scorer import solved, solved_by_trial
from langgraph_reflexion.envs import ENVIRONMENTS, load_environment
from langgraph_reflexion.envs.base import Task
from langgraph_reflexion.envs.load import tasks_of
from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.sync import finished


def samples_of(tasks: Sequence[Task]) -> list[Sample]:
    """Return tasks as Inspect samples, with the instruction as input and the task in the metadata."""
    return [
        Sample(id=each["id"], input=each["instruction"], target="solved", metadata={TASK: dict(each)})
        for each in tasks
    ]


@task
def reflexion(
    environment: str, split: str | None = None, options: dict[str, Any] | None = None, **settings: Any
) -> InspectTask:
    """Return the tasks of an environment as an Inspect task.

    Args:
        environment: The environment's name, or the path of your own, such as `package.module:Class`.
        split: The split, by default the environment's first one.
        options: The environment's options.
        **settings: The settings of the agent; see `reflexion_agent`.

    Raises:
        ConfigurationError: a setting is invalid.
        EnvironmentUnavailable: the environment cannot be used here.
    """
    made = load_environment(environment, **{"seed": read_settings(settings).seed, **(options or {})})
    chosen = made.choose_split(split)
    tasks = tasks_of(made, chosen)
    if not tasks:
        raise ConfigurationError(f"the split {chosen!r} of {environment} has no tasks")
    acts = reflexion_agent(made, **settings)
    # The environment lasts as long as the agent that acts in it.
    weakref.finalize(acts, lambda: finished(made.close()))
    return InspectTask(
        dataset=MemoryDataset(samples_of(tasks), name=f"{made.name}/{chosen}"),
        setup=sample_context(),
        solver=acts,
        scorer=[solved(), solved_by_trial()],
    )


def _registered(environment: str) -> Callable[..., InspectTask]:
    def make(split: str | None = None, options: dict[str, Any] | None = None, **settings: Any) -> InspectTask:
        return reflexion(environment, split, options, **settings)

    make.__name__ = make.__qualname__ = environment
    make.__doc__ = f"The tasks of {environment}; the parameters are those of `reflexion`."
    made: Callable[..., InspectTask] = task(make)
    return made


globals().update({name: _registered(name) for name in ENVIRONMENTS})
