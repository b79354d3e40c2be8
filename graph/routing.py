"""Where the graph goes from a node: pure functions of the state."""

from collections.abc import Callable
from typing import Any

from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.graph import END

from langgraph_reflexion.errors import one_of
from langgraph_reflexion.state import ReflexionState, Strategy


def unless_fault(node: str) -> Callable[[ReflexionState], str]:
    """Go on to `node`; a fault goes straight to evaluate."""
    return lambda state: "evaluate" if state["fault"] else node


def after_heuristic_check(state: ReflexionState) -> str:
    """Continue the trial, or end it."""
    return "evaluate" if state["stop_reason"] else "act"


def after_evaluate(strategy: str) -> Callable[[ReflexionState], str]:
    """End the task, reflect on the trial, or begin the next one at once."""
    reflects = Strategy(one_of("strategy", strategy, Strategy)).reflects

    def after_evaluate(state: ReflexionState) -> str:
        return END if state["status"] != "running" else "reflect" if reflects else "reset"

    return after_evaluate


def after_reflect(state: ReflexionState) -> str:
    """Begin the next trial, unless the reflection failed."""
    return "reset" if state["status"] == "running" else END


class Router(Runnable[ReflexionState, str]):
    """A routing function that runs where it is called. LangGraph runs plain functions in threads: +40 % CPU."""

    def __init__(self, function: Callable[[ReflexionState], str]) -> None:
        self.function, self.name = function, function.__name__

    def invoke(self, input: ReflexionState, config: RunnableConfig | None = None, **kwargs: Any) -> str:
        return self.function(input)

    async def ainvoke(self, input: ReflexionState, config: RunnableConfig | None = None, **kwargs: Any) -> str:
        return self.function(input)
