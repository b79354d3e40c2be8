"""The base classes of environments: tasks, and episodes with actions.

An episode is deterministic: the same actions on the same task give the same observations, so that a live episode can
be rebuilt from its history. Otherwise (files on disk, pages of a live site) it has a JSON snapshot.

Actions are methods of the episode, marked with `@action`. The signature gives the tool's schema, the docstring its
description, and the text forms its notation in a ReAct transcript:

    class Counter(Episode):
        observation = "The counter stands at 0. Bring it to 3."
        count = 0

        @action("add {amount}")
        def add(self, amount: Annotated[int, "how much to add"]) -> StepResult:
            '''Add to the counter.'''
            self.count += amount
            return StepResult(f"The counter stands at {self.count}.", reward=float(self.count == 3))

Methods may be coroutine functions. Then all methods of the environment and its episodes run on one event loop in the
background, whichever loops the graph runs on: connections that one step has opened can be used by the next.

What an environment may have beyond the members of `Environment` is in `envs/protocols.py`.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NotRequired

from typing_extensions import TypedDict  # pydantic makes schemas of these alone before Python 3.12

from langgraph_reflexion.envs.actions import Action as Action
from langgraph_reflexion.envs.actions import ActionSpec as ActionSpec
from langgraph_reflexion.envs.actions import ShownAction as ShownAction
from langgraph_reflexion.envs.actions import action as action
from langgraph_reflexion.envs.episode import Episode as Episode
from langgraph_reflexion.envs.episode import StepResult as StepResult
from langgraph_reflexion.envs.trials import MAP_CHARACTERS as MAP_CHARACTERS
from langgraph_reflexion.envs.trials import FinishedTrial as FinishedTrial
from langgraph_reflexion.envs.trials import MemoryMap as MemoryMap
from langgraph_reflexion.envs.trials import ObservedStep as ObservedStep
from langgraph_reflexion.envs.trials import Review as Review
from langgraph_reflexion.envs.trials import TestOutcome as TestOutcome
from langgraph_reflexion.envs.trials import render_tests as render_tests
from langgraph_reflexion.errors import ConfigurationError, did_you_mean
from langgraph_reflexion.prompts import DOMAINS, Prompts, load_prompts, ships


class Task(TypedDict):
    """A task, as plain JSON in the graph's state."""

    id: str
    """The task's id, unique within its environment; the same seed gives the same ids."""
    instruction: str
    """The task in words, shown to models before the episode's first observation unless that contains it."""
    kind: NotRequired[str]
    """The kind of few-shot examples that fit ("heat", "comparison"); absent if there is only one kind."""
    data: NotRequired[dict[str, Any]]
    """Data that the environment needs to start the task. Never shown to a model."""
    prepared: NotRequired[dict[str, Any]]
    """What was made once for the task (`SupportsPrepare`). Written by the graph."""
    after: NotRequired[str | None]
    """A mark of the last human message when the task began: another one, or the same one edited, begins the next.
    Written by the graph."""


class Environment(ABC):
    """A set of tasks with their episodes.

    An environment of your own needs `name`, `splits`, `episode`, `tasks` and `start`. Features that few environments
    have are in `envs/protocols.py`: an environment with the method or the attribute has the feature.
    """

    name: str
    """The name, also that of the folder of its prompts if they ship."""
    splits: tuple[str, ...]
    """The names of its splits, the default one first."""
    prompts: Path | str | None = None
    """The folder of its prompts. Without one, the prompts that ship under its name, or the general ones."""
    episode: ClassVar[type[Episode]]
    """The class of its episodes, which has the actions."""

    @abstractmethod
    def tasks(self, split: str | None = None, limit: int | None = None) -> Sequence[Task]:
        """Return the tasks of a split, always in the same order.

        Args:
            split: One of `splits`, the first one by default.
            limit: The number of tasks to return, from the start; all if None.

        Raises:
            ConfigurationError: there is no such split.
            EnvironmentUnavailable: data is missing.
        """

    @abstractmethod
    def start(self, task: Task) -> Episode | Awaitable[Episode]:
        """Start a fresh episode of a task.

        Raises:
            EnvironmentFault: it could not be started now.
            EnvironmentUnavailable: it cannot be started on this machine.
        """

    def actions(self) -> Mapping[str, ActionSpec]:
        """Return the actions by name; those of the class of its episodes unless they differ by instance."""
        return self.episode.actions()

    def find_task(self, text: str, split: str | None = None) -> Task:
        """Return the task that a text names by its id, or by its instruction: in any case, with or without a label.

        Override it if texts name tasks in another way, or any text is a task.

        Args:
            text: What a person has written.
            split: One of `splits`, the first one by default.

        Raises:
            ConfigurationError: there is no such task, or several have this instruction.
        """
        tasks = self.tasks(split)
        for task in tasks:
            if task["id"] == text.strip():
                return task
        wanted = _normalized(text)
        found = [task for task in tasks if wanted in _wordings(task["instruction"])]
        if len(found) == 1:
            return found[0]
        problem = f"no task of {self.name} has the id or"
        examples = tasks
        if found:
            problem = f"{len(found)} tasks of {self.name} have the"
            examples = found
        ids = ", ".join(repr(task["id"]) for task in examples[:3])
        raise ConfigurationError(f"{problem} instruction {text[:200]!r}: name one by its id, such as {ids}")

    def choose_split(self, split: str | None) -> str:
        """Return the given split, or the first one, for `tasks` to begin with.

        Raises:
            ConfigurationError: there is no such split.
        """
        chosen = split or self.splits[0]
        if chosen in self.splits:
            return chosen
        # Environments that read a file have this split once they are given one.
        if chosen == "path" and hasattr(self, "path"):
            raise ConfigurationError(f"the split 'path' of {self.name} needs path= (--path FILE)")
        known = f"choose one of {', '.join(self.splits)}{did_you_mean(chosen, self.splits)}"
        raise ConfigurationError(f"{self.name} has no split {chosen!r}: {known}")

    def close(self) -> Awaitable[None] | None:  # noqa: B027 - most environments have no resources
        """Release the environment's resources. May be called twice."""


def prompts_of(environment: Environment) -> Prompts:
    """Return the prompts of an environment: those that ship under its name, or the general ones.

    A folder of the user's replaces those that are in it.

    Raises:
        ConfigurationError: there is no such folder, or an example in it is malformed.
    """
    domain = None
    if environment.name in DOMAINS:
        domain = environment.name
    shipped = load_prompts(domain)
    if not environment.prompts:
        return shipped
    folder = Path(environment.prompts)
    own = load_prompts(folder)
    # One that ships is whole.
    if ships(folder):
        return own
    return shipped.under(own)


def _wordings(instruction: str) -> list[str]:
    """Return an instruction, and what follows its label, such as "Question: "."""
    whole = _normalized(instruction)
    _, _, without_label = whole.partition(": ")
    return [whole, without_label or whole]


def _normalized(text: str) -> str:
    return " ".join(text.split()).casefold()
