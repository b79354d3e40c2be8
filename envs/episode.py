"""The base class of episodes."""

import inspect
import re
from abc import ABC
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from langchain_core.tools import BaseTool, StructuredTool

from langgraph_reflexion.envs.actions import Action, ActionSpec, invalid_action, spec_of
from langgraph_reflexion.support.sync import finished


@dataclass(frozen=True, slots=True)
class StepResult:
    """The result of an action."""

    observation: str
    """The environment's response in words."""
    reward: float | None = None
    """How well the task is solved now, 1.0 at best; None if the environment cannot tell."""
    terminated: bool = False
    """The task ended, solved or not."""
    truncated: bool = False
    """A limit of the environment ended the episode."""


class Episode(ABC):
    """A live attempt at a task."""

    observation: str
    """The first observation, before any action."""

    @classmethod
    def actions(cls) -> dict[str, ActionSpec]:
        """Return the actions by name, in the order of their definition."""
        return _actions(cls)

    @property
    def specs(self) -> Mapping[str, ActionSpec]:
        """The actions of this very episode by name."""
        return self.actions()

    def step(self, action: Action) -> Any:
        """Take an action; its `text` is ignored. An invalid one gives an observation that lists the allowed ones.

        Returns:
            A `StepResult`, or an awaitable of one: `step` itself or the action's method may be a coroutine function.

        Raises:
            EnvironmentFault: the environment itself failed.
        """
        spec = self.specs.get(action["name"])
        if spec is None:
            return StepResult(self.invalid(_what_is_unknown(action, self.specs)))
        try:
            args = spec.validate(action["args"])
        except ValueError as error:
            return StepResult(self.invalid(f"{spec.name}, {error}"))
        result = self.perform(spec, args)
        if inspect.isawaitable(result):
            return _later(result)
        return _as_result(result)

    def perform(self, spec: ActionSpec, args: dict[str, Any]) -> Any:
        """Carry out an action with valid arguments; return a `StepResult`, an observation, or an awaitable of one."""
        return getattr(self, spec.method)(**args)

    def invalid(self, why: str) -> str:
        """Return the observation for an invalid action; `why` is the reason in a few words."""
        return invalid_action(why, [spec.forms[0] for spec in self.specs.values()])

    @property
    def tools(self) -> list[BaseTool]:
        """The actions as LangChain tools on this episode, for use in any agent."""
        return [_tool(self, spec) for spec in self.specs.values()]

    def finalize(self) -> StepResult | Awaitable[StepResult | None] | None:
        """Evaluate a trial that was stopped before it ended (a loop, too many actions).

        Return None if the reward after the last action is right; else the trial's reward, and an observation that is
        appended to the trajectory.
        """
        return None

    def snapshot(self) -> dict[str, Any] | Awaitable[dict[str, Any] | None] | None:
        """Return the episode as JSON if its actions cannot or should not be repeated, else None."""
        return None

    def close(self) -> Awaitable[None] | None:  # noqa: B027 - most episodes have no resources
        """Release the episode's resources. May be called twice."""


def _what_is_unknown(action: Action, specs: Mapping[str, ActionSpec]) -> str:
    """Return what is wrong with an action that an episode does not have."""
    written = action["name"] or action["text"]
    if not written:
        return "the reply contains no action"
    why = f"there is no action {written!r}"
    for spec in specs.values():
        form = spec.forms[0]
        arguments = re.findall(r"\{\w+\}", form)
        # It may be one of the actions without what it needs, such as "go to".
        without_arguments = re.sub(r"\{\w+\}", "", form)
        if not arguments or _bare(written) != _bare(without_arguments):
            continue
        why = f"{written} needs {', '.join(arguments)}"
        if "\n" in form:
            why += ", in the lines below it"
    return why


def _tool(episode: Episode, spec: ActionSpec) -> BaseTool:
    """Return an action as a LangChain tool on an episode."""

    def call(**args: Any) -> str:
        action = Action(name=spec.name, args=args, text=spec.render(args))
        result: StepResult = finished(episode.step(action))
        return result.observation

    return StructuredTool(name=spec.name, description=spec.description, args_schema=spec.schema, func=call)


def _bare(written: str) -> str:
    """Return an action without brackets, blanks and capital letters."""
    return re.sub(r"[\[\]\s]", "", written).lower()


async def _later(result: Awaitable[StepResult | str]) -> StepResult:
    return _as_result(await result)


def _as_result(result: StepResult | str) -> StepResult:
    if isinstance(result, str):
        return StepResult(result)
    return result


@cache
def _actions(cls: type[Episode]) -> dict[str, ActionSpec]:
    marked: dict[str, Callable[..., Any]] = {}
    # From the most general class on, so that a subclass replaces an action in its place.
    for base in reversed(cls.__mro__):
        marked.update(_marked_in(base))
    actions = {}
    for name, method in marked.items():
        spec = spec_of(name, method)
        actions[spec.name] = spec
    return actions


def _marked_in(cls: type[Any]) -> dict[str, Callable[..., Any]]:
    """Return the methods that a class itself marks as actions."""
    return {name: method for name, method in vars(cls).items() if hasattr(method, "__reflexion_action__")}


@cache
def has_coroutines(cls: type[Any]) -> bool:
    """Return whether an environment or episode class has a coroutine function among the methods that are called."""
    called = {"start", "restore", "prepare", "close", "step", "perform", "finalize", "snapshot"}
    if issubclass(cls, Episode):
        called.update(spec.method for spec in cls.actions().values())
    return any(inspect.iscoroutinefunction(getattr(cls, name, None)) for name in called)
