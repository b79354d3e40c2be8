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

This module imports nothing else of the package but its errors.
"""

import inspect
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, NotRequired, TypedDict, get_args, get_origin, get_type_hints

from langchain_core.tools import BaseTool, StructuredTool
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from langgraph_reflexion.errors import ConfigurationError


class Task(TypedDict):
    """What is to be solved. Plain JSON: it is kept in the graph's state."""

    id: str
    """Names the task within its environment; the same seed gives the same ids."""
    instruction: str
    """The task in words, as the actor is told it."""
    kind: NotRequired[str]
    """Which few-shot examples fit ("heat", "comparison"); absent where there is only one kind."""
    data: NotRequired[dict[str, Any]]
    """What the environment needs to start the task. Never shown to a model."""
    prepared: NotRequired[dict[str, Any]]
    """What was made once for this task, before its first trial. Written by the graph."""


class Action(TypedDict):
    """One call of one of the environment's tools."""

    name: str
    """The tool's name; empty when the actor's reply held no allowed action."""
    args: dict[str, Any]
    """The tool's arguments by name."""
    text: str
    """The action as it is written in a transcript ("go to cabinet 1")."""


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


@dataclass(frozen=True, slots=True)
class ActionSpec:
    """How one action is called: as a tool, and as text."""

    name: str
    forms: tuple[str, ...]
    method: str
    schema: type[BaseModel]
    description: str

    @property
    def patterns(self) -> tuple[re.Pattern[str], ...]:
        """One compiled pattern for each text form."""
        return tuple(_pattern(form) for form in self.forms)

    def render(self, args: dict[str, Any]) -> str:
        """The action in its first text form."""
        return re.sub(r"\{(\w+)\}", lambda match: str(args.get(match[1], match[0])), self.forms[0])


@cache
def _pattern(form: str) -> re.Pattern[str]:
    parts = re.split(r"\{(\w+)\}", form)
    literal = [re.escape(part).replace(r"\ ", r"\s+") for part in parts[::2]]
    named = [rf"(?P<{name}>\S(?:.*?\S)?)" for name in parts[1::2]]
    body = "".join(a + b for a, b in zip(literal, [*named, ""], strict=True))
    return re.compile(body, re.IGNORECASE | re.DOTALL)


def action(*forms: str, name: str | None = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Mark a method of an episode as an action.

    Args:
        *forms: How the action is written as text, arguments in braces; the first form is the one that is
        shown,
            all of them are understood. Without any: `name[argument, ...]`.
        name: The tool's name, where it is not the method's.

    The method returns a `StepResult`, or a string where nothing but the observation is to be said.
    """

    def mark(method: Callable[..., Any]) -> Callable[..., Any]:
        method.__reflexion_action__ = (name or method.__name__, forms)  # type: ignore[attr-defined]
        return method

    return mark


# Models call with numbers where words are meant: a year, a length.
_LENIENT = ConfigDict(coerce_numbers_to_str=True)


def _spec(method_name: str, method: Callable[..., Any]) -> ActionSpec:
    name, forms = method.__reflexion_action__  # type: ignore[attr-defined]
    hints = get_type_hints(method, include_extras=True)
    fields: dict[str, Any] = {}
    for parameter in list(inspect.signature(method).parameters.values())[1:]:
        hint = hints[parameter.name]
        described = get_args(hint)[1] if get_origin(hint) is Annotated else None
        default = ... if parameter.default is parameter.empty else parameter.default
        fields[parameter.name] = (hint, Field(default, description=described))
    if not forms:
        inner = ", ".join("{" + field + "}" for field in fields)
        forms = (f"{name}[{inner}]",)
    description = inspect.cleandoc(method.__doc__ or "").split("\n\n")[0].replace("\n", " ")
    return ActionSpec(name, forms, method_name, create_model(name, __config__=_LENIENT, **fields), description)


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
    specs = [_spec(name, method) for name, method in marked.items()]
    return {spec.name: spec for spec in specs}


def invalid_action(why: str, forms: Sequence[str]) -> str:
    """The observation for an action that is not allowed, naming what is.

    Args:
        why: What was wrong, in a few words.
        forms: How the allowed actions are written.
    """
    return f"Invalid action: {why}. Allowed actions: {'; '.join(forms)}."


class Environment(ABC):
    """A set of tasks, and how an episode of each is started."""

    name: ClassVar[str]
    """The name that the command line knows it by; also the folder of its prompts, where they ship."""
    splits: tuple[str, ...]
    """The names of its sets of tasks, the default one first."""
    prompts: Path | None = None
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

    def measures(self, task: Task, actions: Sequence[Action]) -> dict[str, float]:
        """Measures of a finished trial besides its reward, by name; none unless the environment has some.

        Args:
            task: The task.
            actions: What was done in the trial, in order.
        """
        return {}

    def forms(self, task: Task) -> list[str]:
        """How the allowed actions of a task are written, one form for each."""
        return [spec.forms[0] for spec in self.episode.actions().values()]

    @property
    def tools(self) -> list[dict[str, Any]]:
        """The actions as tool schemas, to bind to a chat model."""
        return [
            {
                "type": "function",
                "function": {
                    "name": spec.name,
                    "description": spec.description,
                    "parameters": _parameters(spec.schema),
                },
            }
            for spec in self.episode.actions().values()
        ]

    def parse(self, text: str) -> Action | None:
        """Read an action written as text; None where it is none of the allowed ones."""
        line = text.strip()
        for spec in self.episode.actions().values():
            for pattern in spec.patterns:
                if match := pattern.fullmatch(line):
                    args = {name: value.strip() for name, value in match.groupdict().items()}
                    return Action(name=spec.name, args=args, text=line)
        return None

    def close(self) -> None:  # noqa: B027 - most environments hold nothing
        """Let go of what the environment holds. Closing twice is fine."""


def _parameters(schema: type[BaseModel]) -> dict[str, Any]:
    raw = schema.model_json_schema()
    for field in raw.get("properties", {}).values():
        field.pop("title", None)
    parameters = {
        "type": "object",
        "properties": raw.get("properties", {}),
        "required": raw.get("required", []),
    }
    # Arguments that are models or enumerations refer to their definitions.
    return parameters | ({"$defs": raw["$defs"]} if "$defs" in raw else {})


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
