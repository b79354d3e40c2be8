"""Reflections by code: a function, or an object with `generate_reflection`, in place of a chat model."""

import inspect
from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

from langchain_core.runnables import Runnable

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.loop.profiles import Rules
from langgraph_reflexion.memory.failure import answer_of, check_words
from langgraph_reflexion.prompts import load_prompts
from langgraph_reflexion.state import ReflexionState
from langgraph_reflexion.support.calling import ByName
from langgraph_reflexion.support.sync import to_thread

SUBJECTS = ("task", "trajectory", "feedback", "memory", "result", "score")
"""The parameters that a reflecting function may have."""

_TRANSCRIPT = "transcript"
"""The trajectory as one text."""


@runtime_checkable
class GeneratesReflections(Protocol):
    """An object that reflects; its method has any of the parameters of `SUBJECTS`."""

    @property
    def generate_reflection(self) -> Callable[..., Any]:
        """Returns the reflection as a text."""


ReflectionFunction = Callable[..., Any] | GeneratesReflections


class Reflector:
    """Writes reflections by the user's code; the names of its parameters say what it is called with.

    `task` is the task in words, `trajectory` the steps of the trial (one text, if annotated as `str`), `feedback`
    what the check said, as far as the setting `feedback` shows it, `memory` the texts of the earlier reflections,
    `result` a wrapped agent's answer, and `score` the trial's score.

    Args:
        function: A function, plain or asynchronous, or an object with such a method `generate_reflection`.

    Raises:
        ConfigurationError: it has a parameter that cannot be filled.
    """

    def __init__(self, function: ReflectionFunction) -> None:
        if isinstance(function, GeneratesReflections):
            function = function.generate_reflection
        self.call = ByName(function, "the reflecting function", (*SUBJECTS, _TRANSCRIPT), subject=_subject)

    @classmethod
    def of(cls, given: object) -> "Reflector | None":
        """Return the reflector for a function or object; None for a chat model, a name, or None."""
        # A class is callable as well, and would return an object in place of a text.
        if given is None or isinstance(given, str | Runnable | type):
            return None
        if callable(given) or isinstance(given, GeneratesReflections):
            return cls(given)
        return None

    async def write(self, state: ReflexionState, rules: Rules) -> str:
        """Return the reflection on the trial that failed.

        Raises:
            ConfigurationError: the function returned no text.
        """
        evaluation = state["evaluation"]
        score = 0.0
        if evaluation:
            score = evaluation["score"]
        steps = state["trajectory"]
        known: dict[str, Any] = {
            "task": state["task"]["instruction"],
            "trajectory": steps,
            _TRANSCRIPT: load_prompts().render("scratchpad", steps=steps, numbered=True),
            "feedback": check_words(evaluation, rules.feedback),
            "memory": [reflection["text"] for reflection in state["reflections"]],
            "result": answer_of(state),
            "score": score,
        }
        written: Any
        if inspect.iscoroutinefunction(self.call.function):
            written = await self.call(known)
        else:
            # In a thread, as a plain function may wait for a model of its own.
            written = await to_thread(self.call, known)
        # A plain function or an object may return a coroutine all the same.
        if inspect.isawaitable(written):
            written = await written
        if not isinstance(written, str) or not written.strip():
            raise ConfigurationError(f"the reflecting function must return a text; got {written!r:.100}")
        return written


def _subject(parameter: inspect.Parameter) -> str:
    """Return the subject that a parameter names."""
    # With postponed annotations it is the name of the type.
    wants_text = parameter.annotation in (str, "str")
    if parameter.name == "trajectory" and wants_text:
        return _TRANSCRIPT
    return parameter.name
