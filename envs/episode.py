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
            written = action["name"] or action["text"]
            why = f"there is no action {written!r}" if written else "the reply contains no action"
            for form in (each.forms[0] for each in self.specs.values()):
                arguments = re.findall(r"\{\w+\}", form)
                if arguments and _bare(written) == _bare(re.sub(r"\{\w+\}", "", form)):
                    why = f"{written} needs {', '.join(arguments)}"
            return StepResult(self.invalid(why))
        try:
            args = spec.validate(action["args"])
        except ValueError as error:
            return StepResult(self.invalid(f"{spec.name}, {error}"))
        result = self.perform(spec, args)
        return _later(result) if inspect.isawaitable(result) else _as_result(result)

    def perform(self, spec: ActionSpec, args: dict[str, Any]) -> Any:
        """Carry out an action with valid arguments; return a `StepResult`, an observation, or an awaitable of one."""
        return getattr(self, spec.method)(**args)

    def invalid(self, why: str) -> str:
        """Return the observation for an invalid action; `why` is the reason in a few words."""
        return invalid_action(why, [spec.forms[0] for spec in self.specs.values()])

    @property
    def tools(self) -> list[BaseTool]:
        """The actions as LangChain tools on this episode, for use in any agent."""

        def bind(spec: ActionSpec) -> BaseTool:
            def call(**args: Any) -> str:
                result: StepResult = finished(self.step(Action(name=spec.name, args=args, text=spec.render(args))))
                return result.observation

            return StructuredTool(name=spec.name, description=spec.description, args_schema=spec.schema, func=call)

        return [bind(spec) for spec in self.specs.values()]

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


def _bare(written: str) -> str:
    return re.sub(r"[\[\]\s]", "", written).lower()


async def _later(result: Awaitable[StepResult | str]) -> StepResult:
    return _as_result(await result)


def _as_result(result: StepResult | str) -> StepResult:
    return StepResult(result) if isinstance(result, str) else result


@cache
def _actions(cls: type[Episode]) -> dict[str, ActionSpec]:
    marked: dict[str, Callable[..., Any]] = {}
    for base in reversed(cls.__mro__):
        marked.update({n: m for n, m in vars(base).items() if hasattr(m, "__reflexion_action__")})
    specs = [spec_of(name, method) for name, method in marked.items()]
    return {spec.name: spec for spec in specs}


@cache
def has_coroutines(cls: type[Any]) -> bool:
    """Return whether an environment or episode class has a coroutine function among the methods that are called."""
    called = {"start", "restore", "prepare", "close", "step", "perform", "finalize", "snapshot"}
    if issubclass(cls, Episode):
        called |= {spec.method for spec in cls.actions().values()}
    return any(inspect.iscoroutinefunction(getattr(cls, name, None)) for name in called)
