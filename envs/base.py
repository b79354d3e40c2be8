"""What an environment is: tasks, and episodes in which actions are taken.

An environment knows its tasks and starts episodes. An episode is a fold over actions: the same actions on the
same task give the same observations, so that a live episode can always be rebuilt from its history. Where
that is not so (files on a disk, pages of a live site) the episode has a JSON snapshot instead.

Actions are methods of the episode, marked with `@action`. The signature gives the tool's schema, the
docstring its description, and the text forms say how the action is written in a ReAct transcript:

    class Counter(Episode):
        observation = "The counter stands at 0. Bring it to 3."
        count = 0

        @action("add {amount}")
        def add(self, amount: Annotated[int, "how much to add"]) -> StepResult:
            '''Add to the counter.'''
            self.count += amount
            return StepResult(f"The counter stands at {self.count}.", reward=float(self.count == 3))

This module imports nothing else of the package but `envs.actions`, `envs.trials` and its errors.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, NotRequired, cast

from langchain_core.tools import BaseTool, StructuredTool
from pydantic import ValidationError
from typing_extensions import TypedDict  # pydantic makes schemas of these alone before Python 3.12

from langgraph_reflexion.envs.actions import Action as Action
from langgraph_reflexion.envs.actions import ActionSpec as ActionSpec
from langgraph_reflexion.envs.actions import ShownAction as ShownAction
from langgraph_reflexion.envs.actions import action as action
from langgraph_reflexion.envs.actions import invalid_action as invalid_action
from langgraph_reflexion.envs.actions import shown_actions, spec_of
from langgraph_reflexion.envs.trials import FinishedTrial as FinishedTrial
from langgraph_reflexion.envs.trials import MemoryMap as MemoryMap
from langgraph_reflexion.envs.trials import Review as Review
from langgraph_reflexion.envs.trials import Seen as Seen
from langgraph_reflexion.errors import ConfigurationError


class Task(TypedDict):
    """What is to be solved. Plain JSON: it is kept in the graph's state."""

    id: str
    """Names the task within its environment; the same seed gives the same ids."""
    instruction: str
    """The task in words. Models are shown it before the episode's first observation, unless that contains it."""
    kind: NotRequired[str]
    """Which few-shot examples fit ("heat", "comparison"); absent where there is only one kind."""
    data: NotRequired[dict[str, Any]]
    """What the environment needs to start the task. Never shown to a model."""
    prepared: NotRequired[dict[str, Any]]
    """What was made once for this task, before its first trial. Written by the graph."""


@dataclass(frozen=True, slots=True)
class StepResult:
    """What an action led to."""

    observation: str
    """The environment's answer in words."""
    reward: float | None = None
    """How well the task stands solved now, 1.0 being solved; None where the environment cannot tell."""
    terminated: bool = False
    """The task ended, solved or not."""
    truncated: bool = False
    """A limit of the environment ended the episode."""


class Episode(ABC):
    """One attempt at a task, live. Deterministic: the same actions give the same observations.

    Attributes:
        observation: What the actor sees before its first action.
    """

    observation: str

    @classmethod
    def actions(cls) -> dict[str, ActionSpec]:
        """The actions of this kind of episode by name, in the order of their definition."""
        return _actions(cls)

    def step(self, action: Action) -> StepResult:
        """Take one action. What is not allowed is an observation that says what is, never an exception.

        Args:
            action: The action; its `text` is not looked at.

        Raises:
            EnvironmentFault: the environment itself failed.
        """
        spec = self.actions().get(action["name"])
        if spec is None:
            return StepResult(self.invalid(f"there is no action {action['name'] or action['text']!r}"))
        try:
            args = spec.schema.model_validate(action["args"])
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            return StepResult(self.invalid(f"{spec.name}, {where}: {first['msg']}"))
        result = getattr(self, spec.method)(**{field: getattr(args, field) for field in type(args).model_fields})
        return StepResult(result) if isinstance(result, str) else result

    def invalid(self, why: str) -> str:
        """The observation for an action that is not allowed."""
        return invalid_action(why, [spec.forms[0] for spec in self.actions().values()])

    @property
    def tools(self) -> list[BaseTool]:
        """The actions as LangChain tools that act on this episode, for use in any agent."""

        def bind(spec: ActionSpec) -> BaseTool:
            def call(**args: Any) -> str:
                return self.step(Action(name=spec.name, args=args, text=spec.render(args))).observation

            return StructuredTool(name=spec.name, description=spec.description, args_schema=spec.schema, func=call)

        return [bind(spec) for spec in self.actions().values()]

    def settle(self) -> StepResult | None:
        """How the task stands when the trial was stopped before it ended (a loop, too many actions).

        Returns:
            None where the reward after the last action says it. Otherwise its reward is the trial's, and its
            observation joins the trajectory, for the self-reflection and for the next trial to see.
        """
        return None

    def snapshot(self) -> dict[str, Any] | None:
        """The episode as JSON, where its actions cannot or should not be repeated; None where they can."""
        return None

    def close(self) -> None:  # noqa: B027 - most episodes hold nothing
        """Let go of what the episode holds. Closing twice is fine."""


@cache
def _actions(cls: type[Episode]) -> dict[str, ActionSpec]:
    marked: dict[str, Callable[..., Any]] = {}
    for base in reversed(cls.__mro__):
        marked.update({n: m for n, m in vars(base).items() if hasattr(m, "__reflexion_action__")})
    specs = [spec_of(name, method) for name, method in marked.items()]
    return {spec.name: spec for spec in specs}


def read_task(state: Mapping[str, Any]) -> Task:
    """Return the task of a graph's input.

    Raises:
        ConfigurationError: there is none, or it is not a task.
    """
    given = state.get("task")
    task: dict[str, Any] = {**given} if isinstance(given, dict) else {}
    words = all(isinstance(task.get(key), str) for key in ("id", "instruction"))
    if words and isinstance(task.get("kind", ""), str) and isinstance(task.get("data", {}), dict):
        read: Task = cast(Any, task)
        return read
    raise ConfigurationError(
        f"the graph's input is {{'task': task}}, with a task such as environment.tasks()[0]; got {given!r:.200}"
    )


class Environment(ABC):
    """A set of tasks, and how an episode of each is started."""

    name: ClassVar[str]
    """The name that the command line knows it by; also the folder of its prompts, where they ship."""
    splits: tuple[str, ...]
    """The names of its sets of tasks, the default one first."""
    prompts: Path | str | None = None
    """A folder of prompts of its own; without one, those that ship under its name, or the general ones."""
    episode: ClassVar[type[Episode]]
    """The class of its episodes, whose actions are the environment's."""
    variants: tuple[str, ...] = ()
    """The names of other ways in which its tasks can be played; see `variant`."""
    blocking: bool = True
    """Whether starting an episode or taking an action can take longer than a few milliseconds; if so it is
    done in a thread, so that the event loop stays free."""

    @abstractmethod
    def tasks(self, split: str | None = None, limit: int | None = None) -> Sequence[Task]:
        """The tasks of a split, always in the same order.

        Args:
            split: One of `splits`; the first one unless given.
            limit: At most so many, from the start.

        Raises:
            ConfigurationError: there is no such split.
            EnvironmentUnavailable: its data is missing.
        """

    @abstractmethod
    def start(self, task: Task) -> Episode:
        """Start a fresh episode of a task.

        Raises:
            EnvironmentFault: it could not be started; trying again later may help.
            EnvironmentUnavailable: it cannot be started on this machine.
        """

    def restore(self, task: Task, snapshot: dict[str, Any]) -> Episode:
        """Bring back an episode from its snapshot. Only for environments whose episodes have one."""
        raise NotImplementedError(f"episodes of {self.name} are rebuilt by replaying their actions")

    def prepare(self, task: Task) -> dict[str, Any]:
        """Make what is made once per task, as JSON; it is kept in the graph's state as `task["prepared"]`."""
        return {}

    def blocks(self, task: Task) -> bool:
        """Whether episodes of this task block; `blocking`, unless it depends on the task."""
        return self.blocking

    def played_by(self, tasks: Sequence[Task]) -> str:
        """Name what plays the tasks, where the environment has a choice of engines; empty otherwise.

        `run` prints it once, before the first trial, and keeps it in `run.json`.
        """
        return ""

    def variant(self, name: str) -> "Environment":
        """The same tasks, played another way: with other actions, another opening, prompts of its own.

        Args:
            name: One of `variants`. An agent of that name plays it, in text.

        Raises:
            ConfigurationError: there is none of that name.
        """
        raise ConfigurationError(f"{self.name} has no variant {name!r}")

    def same(self, one: Action, other: Action) -> bool:
        """Whether two actions come to the same, such as two ways to write one answer; their texts do not count."""
        return (one["name"], one["args"]) == (other["name"], other["args"])

    def memory_map(self, task: Task, opening: str, steps: Sequence[Seen], known: Mapping[str, Any]) -> MemoryMap:
        """Sum up what a trajectory has shown of the world: what lies where, what was read, what led nowhere.

        It goes by these texts alone, as the actor does: no episode is asked. So it is the same after resuming and
        forking, and an observation that a person has edited is what it goes by.

        Args:
            task: The task.
            opening: What the actor saw first.
            steps: The trial's steps so far.
            known: What the map of earlier trials of this task found to last; empty in the first one.

        Returns:
            A map without lines where nothing was shown yet; so from environments that keep none.
        """
        return MemoryMap()

    def review(self, task: Task, trial: FinishedTrial) -> Review:
        """Find out about a finished trial, outside the graph, what is recorded and no model is told.

        A run's driver asks when it writes the trial's row, in a thread. A trial may be reviewed more than once.

        Args:
            task: The task.
            trial: What was done in the trial, and what came of it.

        Raises:
            EnvironmentFault: nothing can be found out now. The trial is not recorded, and the run stops.
        """
        return Review()

    @property
    def prompts_from(self) -> Path | str:
        """Its folder of prompts, or its name where it has none: what `load_prompts` takes."""
        return Path(self.prompts) if self.prompts else self.name

    def forms(self, task: Task) -> list[str]:
        """How the allowed actions of a task are written, one form for each."""
        return [spec.forms[0] for spec in self.episode.actions().values()]

    def shown_actions(self, task: Task) -> list[ShownAction]:
        """The actions of a task as a prompt shows them: each form with what its docstring and signature say.

        Raises:
            ConfigurationError: `forms` has more or fewer forms than there are actions.
        """
        forms, specs = self.forms(task), [*self.episode.actions().values()]
        if len(forms) != len(specs):
            raise ConfigurationError(
                f"{self.name}.forms() gives {len(forms)} forms for {len(specs)} actions: give one for each, in order"
            )
        return shown_actions(forms, specs)

    @property
    def tools(self) -> list[dict[str, Any]]:
        """The actions as tool schemas, to bind to a chat model."""
        return [{"type": "function", "function": spec.function} for spec in self.episode.actions().values()]

    def parse(self, text: str) -> Action | None:
        """Read an action written as text; None where it is none of the allowed ones."""
        written = text.strip()
        for spec in self.episode.actions().values():
            if (args := spec.read(written)) is not None:
                return Action(name=spec.name, args=args, text=written)
        return None

    def close(self) -> None:  # noqa: B027 - most environments hold nothing
        """Let go of what the environment holds. Closing twice is fine."""


def choose_split(environment: Environment, split: str | None) -> str:
    """The split that was asked for, or the environment's first one.

    Raises:
        ConfigurationError: the environment has no such split.
    """
    chosen = split or environment.splits[0]
    if chosen not in environment.splits:
        known = ", ".join(environment.splits)
        raise ConfigurationError(f"{environment.name} has no split {chosen!r}: choose one of {known}")
    return chosen
