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
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NotRequired, Protocol, runtime_checkable

from typing_extensions import TypedDict  # pydantic makes schemas of these alone before Python 3.12

from langgraph_reflexion.envs.actions import Action as Action
from langgraph_reflexion.envs.actions import ActionSpec as ActionSpec
from langgraph_reflexion.envs.actions import ShownAction as ShownAction
from langgraph_reflexion.envs.actions import action as action
from langgraph_reflexion.envs.actions import shown_actions
from langgraph_reflexion.envs.episode import Episode as Episode
from langgraph_reflexion.envs.episode import StepResult as StepResult
from langgraph_reflexion.envs.episode import has_coroutines
from langgraph_reflexion.envs.trials import MAP_CHARACTERS as MAP_CHARACTERS
from langgraph_reflexion.envs.trials import FinishedTrial as FinishedTrial
from langgraph_reflexion.envs.trials import MemoryMap as MemoryMap
from langgraph_reflexion.envs.trials import ObservedStep as ObservedStep
from langgraph_reflexion.envs.trials import Review as Review
from langgraph_reflexion.envs.trials import TestOutcome as TestOutcome
from langgraph_reflexion.envs.trials import render_tests as render_tests
from langgraph_reflexion.errors import ConfigurationError, did_you_mean
from langgraph_reflexion.prompts import DOMAINS


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
    """The result of `Environment.prepare`. Written by the graph."""
    after: NotRequired[str | None]
    """A mark of the last human message when the task began: another one, or the same one edited, begins the next.
    Written by the graph."""


class Environment(ABC):
    """A set of tasks with their episodes."""

    name: str
    """The name, also that of the folder of its prompts if they ship."""
    splits: tuple[str, ...]
    """The names of its splits, the default one first."""
    prompts: Path | str | None = None
    """The folder of its prompts. Without one, the prompts that ship under its name, or the general ones."""
    episode: ClassVar[type[Episode]]
    """The class of its episodes, which has the actions."""
    actors: tuple[str, ...] = ()
    """The actors of its own, besides those that play every environment; see `for_actor`."""
    profile_defaults: ClassVar[Mapping[str, Any]] = {}
    """Values of `Profile` fields in this environment, where a profile does not give them."""
    profile_overrides: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """Values of `Profile` fields in this environment, by profile ("upstream") or profile and actor ("upstream/cot").
    A heuristic is given by its fields."""
    replayable: bool = True
    """Whether an episode can be rebuilt, by replay or from a snapshot. Otherwise a trial that is resumed in another
    process starts over, and its record has a note."""
    reply_tokens: int = 4096
    """The longest reply to a request for an action, in tokens, unless the model has a limit of its own."""
    blocking: bool = True
    """Whether starting an episode or an action can take more than a few milliseconds, and so needs a thread."""
    own_tasks_only: bool = False
    """Whether tasks that it did not make itself are refused. A server sets it, as its clients write tasks and edit
    states: an environment whose tasks name folders, commands or hosts has to respect it wherever it gets a task."""

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
        found = [task for task in tasks if _normalized(text) in _wordings(task["instruction"])]
        if len(found) == 1:
            return found[0]
        problem = f"{len(found)} tasks of {self.name} have the" if found else f"no task of {self.name} has the id or"
        ids = ", ".join(repr(task["id"]) for task in [*(found or tasks)][:3])
        raise ConfigurationError(f"{problem} instruction {text[:200]!r}: name one by its id, such as {ids}")

    def choose_split(self, split: str | None) -> str:
        """Return the given split, or the first one, for `tasks` to begin with.

        Raises:
            ConfigurationError: there is no such split.
        """
        chosen = split or self.splits[0]
        if chosen not in self.splits:
            if chosen == "path" and hasattr(self, "path"):
                raise ConfigurationError(f"the split 'path' of {self.name} needs path= (--path FILE)")
            known = f"choose one of {', '.join(self.splits)}{did_you_mean(chosen, self.splits)}"
            raise ConfigurationError(f"{self.name} has no split {chosen!r}: {known}")
        return chosen

    def expect_programs(self, tasks: Sequence[Task]) -> None:  # noqa: B027 - most environments need none
        """Expect that the programs which these tasks need are installed. Called before a run begins.

        Raises:
            EnvironmentUnavailable: a program is missing.
        """

    @abstractmethod
    def start(self, task: Task) -> Episode | Awaitable[Episode]:
        """Start a fresh episode of a task.

        Raises:
            EnvironmentFault: it could not be started now.
            EnvironmentUnavailable: it cannot be started on this machine.
        """

    def restore(self, task: Task, snapshot: dict[str, Any]) -> Episode | Awaitable[Episode]:
        """Restore an episode from its snapshot, if the episodes have snapshots."""
        raise NotImplementedError(f"episodes of {self.name} are rebuilt by replaying their actions")

    def prepare(self, task: Task) -> dict[str, Any] | Awaitable[dict[str, Any]]:
        """Prepare a task once, before its first trial; the graph keeps the JSON as `task["prepared"]`."""
        return {}

    @property
    def asynchronous(self) -> bool:
        """Whether a method that the graph calls is a coroutine function, of the environment or its episodes.

        Then all of them are called on the background event loop, where whatever blocks must be awaited.
        """
        return has_coroutines(type(self)) or has_coroutines(self.episode)

    def blocks(self, task: Task) -> bool:
        """Return whether episodes of this task block; `blocking` by default."""
        return self.blocking

    def played_by(self, tasks: Sequence[Task]) -> str:
        """Return the name of the engine that plays the tasks, for `run.json`; empty if there is no choice."""
        return ""

    def for_actor(self, name: str) -> "Environment":
        """Return the same tasks with other actions, first observations or prompts.

        Args:
            name: One of `actors`.

        Raises:
            ConfigurationError: it has no such actor.
        """
        raise ConfigurationError(f"{self.name} has no actor {name!r} of its own")

    def equivalent(self, one: Action, other: Action) -> bool:
        """Return whether two actions mean the same, such as two spellings of an answer; their texts are ignored."""
        return (one["name"], one["args"]) == (other["name"], other["args"])

    def memory_map(
        self, task: Task, opening: str, steps: Sequence[ObservedStep], known: Mapping[str, Any]
    ) -> MemoryMap:
        """Summarize what a trajectory has revealed about the world: places, pages, dead ends.

        Only the texts are used, as the actor sees them, so that the map is the same after resuming and forking, and
        respects observations that a person has edited.

        Args:
            task: The task.
            opening: The first observation.
            steps: The trial's steps so far.
            known: `MemoryMap.known` of the task's previous trial; empty in the first one.
        """
        return MemoryMap()

    def facts(self, task: Task, steps: Sequence[ObservedStep]) -> list[str]:
        """Return what is certain about a failed trial, in sentences, which the self-reflection sees.

        Only what the actor has read counts, and never the solution: for example, that it has not seen what it was
        told to find.

        Args:
            task: The task.
            steps: The trial's steps.
        """
        return []

    def review(self, task: Task, trial: FinishedTrial) -> Review:
        """Find out what is recorded of a finished trial, and never shown to a model. May be called repeatedly.

        Raises:
            EnvironmentFault: the review is impossible now. The trial is not recorded, and the run stops.
        """
        return Review()

    def answer(self, task: Task) -> str:
        """Return a task's answer in words, for a person who has lost; empty if it has no single one."""
        return ""

    @property
    def prompts_from(self) -> Path | str | None:
        """The argument of `load_prompts`: the folder of its prompts, its name if some ship under it, or None."""
        return Path(self.prompts) if self.prompts else self.name if self.name in DOMAINS else None

    def actions(self) -> Mapping[str, ActionSpec]:
        """Return the actions by name; those of the class of its episodes unless they differ by instance."""
        return self.episode.actions()

    def for_task(self, task: Task) -> "Environment":
        """Return the environment with the actions of this task; itself if all tasks have the same ones."""
        return self

    def action_forms(self, task: Task) -> list[str]:
        """Return the text forms of a task's actions, one for each action."""
        return [spec.forms[0] for spec in self.actions().values()]

    def shown_actions(self, task: Task) -> list[ShownAction]:
        """Return a task's actions for a prompt: each form with its explanation.

        Raises:
            ConfigurationError: `action_forms` has more or fewer forms than there are actions.
        """
        forms, specs = self.action_forms(task), [*self.actions().values()]
        if len(forms) != len(specs):
            raise ConfigurationError(
                f"{self.name}.action_forms() gives {len(forms)} forms for {len(specs)} actions: give one for each"
            )
        return shown_actions(forms, specs)

    @property
    def tools(self) -> list[dict[str, Any]]:
        """The actions as tool schemas for a chat model."""
        return [{"type": "function", "function": spec.function} for spec in self.actions().values()]

    def parse(self, text: str) -> Action | None:
        """Read an action written as text; return None if it is not an allowed one."""
        written = text.strip()
        for spec in self.actions().values():
            if (args := spec.read(written)) is not None:
                return Action(name=spec.name, args=args, text=written)
        return None

    def read_call(self, name: Any, args: Any) -> Action | None:
        """Read an action given by its name and arguments; return None if it is not an allowed one."""
        if not isinstance(name, str) or (spec := self.actions().get(name)) is None:
            return None
        try:
            given = spec.dump(args)
        except ValueError:
            return None
        return Action(name=name, args=given, text=spec.render(given))

    def close(self) -> Awaitable[None] | None:  # noqa: B027 - most environments have no resources
        """Release the environment's resources. May be called twice."""


@runtime_checkable
class Strict(Protocol):
    """An environment that can be as strict about actions as the code of the original paper."""

    def strictly(self) -> Environment:
        """Return the same tasks, played strictly; itself if whoever made it has said how strict it is."""


def _wordings(instruction: str) -> list[str]:
    words = _normalized(instruction)
    return [words, words.partition(": ")[2] or words]  # without a label such as "Question: "


def _normalized(text: str) -> str:
    return " ".join(text.split()).casefold()
