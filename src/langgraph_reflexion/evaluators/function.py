"""A function as the evaluator."""

import inspect
from collections.abc import Callable
from typing import Any, Literal

from langchain_core.runnables import RunnableConfig

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.evaluators.base import Evaluator, Scored, result_in
from langgraph_reflexion.state import ReflexionState
from langgraph_reflexion.sync import to_thread


class FunctionEvaluator(Evaluator):
    """A function of the task's text and the trial's steps, or what a wrapped agent returned.

    Args:
        function: Takes the task's text and one thing more; returns a bool, a score, `(score, feedback)` or an
            `Evaluation`, plain or as an awaitable. A plain function runs in a thread.
        of: What more it takes: the `trajectory` or the `result`.
    """

    def __init__(
        self, function: Callable[[str, Any], Any], of: Literal["trajectory", "result"] = "trajectory"
    ) -> None:
        self.function = function
        self.of = of

    async def evaluate(self, state: ReflexionState, config: RunnableConfig) -> Scored:
        """Call the function, and make a score of what it returns."""
        args: tuple[str, Any] = (state["task"]["instruction"], state["trajectory"])
        if self.of == "result":
            args = (args[0], result_in(state))
        if args[1] is None or args[1] == "":
            return Scored(0.0, "Nothing was returned.")
        if inspect.iscoroutinefunction(self.function):
            result = await self.function(*args)
        else:
            result = await to_thread(self.function, *args)
            if inspect.isawaitable(result):
                result = await result
        return scored(result)


def scored(result: object) -> Scored:
    """A score from what a function returned.

    Raises:
        ConfigurationError: it is neither a bool, nor a number, nor a pair of a number and words.
    """
    if hasattr(result, "item"):  # numpy's and others' numbers
        result = result.item()
    match result:
        case Scored():
            return result
        case bool() | int() | float():
            return Scored(float(result))
        case (bool() | int() | float() as score, str() as feedback):
            return Scored(float(score), feedback)
        case {"score": bool() | int() | float() as score, **rest}:
            return Scored(float(score), str(rest.get("feedback", "")))
    raise ConfigurationError(
        f"an evaluator returns a bool, a number, (number, words) or an Evaluation; got {type(result).__name__}"
    )
