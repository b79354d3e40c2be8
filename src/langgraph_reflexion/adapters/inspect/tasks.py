"""The environments as tasks of Inspect's: `inspect eval langgraph_reflexion/alfworld`."""

import inspect
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from inspect_ai import Task as InspectTask
from inspect_ai import task
from inspect_ai.dataset import MemoryDataset, Sample

from langgraph_reflexion.adapters.inspect.agent import TASK, place, reflexion_agent
from langgraph_reflexion.adapters.inspect.scorer import solved, solved_by_trial
from langgraph_reflexion.envs.base import Environment, Task, choose_split
from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.experiments.environment import make_environment


def samples_of(tasks: Sequence[Task]) -> list[Sample]:
    """An environment's tasks as Inspect's samples: the instruction is the input, and the task is in the metadata.

    Args:
        tasks: The tasks, such as `environment.tasks()`.
    """
    return [
        Sample(id=each["id"], input=each["instruction"], target="solved", metadata={TASK: dict(each)})
        for each in tasks
    ]


@task
def reflexion(
    environment: str,
    split: str | None = None,
    trials: int | None = None,
    strategy: str | None = None,
    agent: str | None = None,
    evaluator: str | None = None,
    samples: int = 5,
    feedback: str | None = None,
    memory_size: int | None = None,
    profile: str = "paper",
    seed: int = 0,
    options: dict[str, Any] | None = None,
) -> InspectTask:
    """Any environment by its name or path, such as `-T environment=package.module:Class`.

    Args:
        environment: Its name, or the path of one's own.
        split: Which of its sets of tasks; its first one unless given.
        trials: At most so many trials per task; the profile's unless given.
        strategy: What a retry gets to see: `retry`, `last_attempt`, `reflexion` or `last_attempt_and_reflexion`.
        agent: How the actor acts: `react`, `tools`, or one of the environment's variants.
        evaluator: What passes the verdict: `environment`, `llm`, `self-consistency`, `self-tests` or `none`.
        samples: How often `self-consistency` asks again.
        feedback: How much of the verdict is told: `binary`, `scalar` or `words`.
        memory_size: How many reflections are kept.
        profile: Numbers and rules: `paper`, `preprint` or `upstream`.
        seed: Of the run, and of what the environment generates; each further epoch has the next one.
        options: The environment's options, as a mapping.

    Raises:
        ConfigurationError: a setting is wrong.
        EnvironmentUnavailable: the environment cannot be used here.
    """
    made: Environment = make_environment(environment, options or {}, seed)
    chosen = choose_split(made, split)
    tasks = made.tasks(chosen)
    if not tasks:
        raise ConfigurationError(f"the split {chosen!r} of {environment} has no tasks")
    acts = reflexion_agent(
        made,
        seed=seed,
        max_trials=trials,
        strategy=strategy,
        actor=agent,
        evaluator=evaluator,
        samples=samples,
        feedback=feedback,
        memory_size=memory_size,
        profile=profile,
    )
    # The environment lasts as long as the agent that acts in it.
    weakref.finalize(acts, made.close)
    return InspectTask(
        dataset=MemoryDataset(samples_of(tasks), name=f"{made.name}/{chosen}"),
        setup=place(),
        solver=acts,
        scorer=[solved(), solved_by_trial()],
    )


def _named(name: str) -> Callable[..., InspectTask]:
    """The task of an environment that ships: as `reflexion`, with the same parameters but its name."""

    def make(**settings: Any) -> InspectTask:
        return reflexion(name, **settings)

    signature = inspect.signature(reflexion)
    others = [parameter for parameter in signature.parameters.values() if parameter.name != "environment"]
    make.__signature__ = signature.replace(parameters=others)  # type: ignore[attr-defined]
    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"The environment `{name}`; the parameters are those of `reflexion`."
    made: Callable[..., InspectTask] = task(make)
    return made


alfworld = _named("alfworld")
hotpotqa = _named("hotpotqa")
programming = _named("programming")
webshop = _named("webshop")
workspace = _named("workspace")
