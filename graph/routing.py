"""Where the graph goes from a node: pure functions of the state."""

from collections.abc import Callable
from typing import Literal

from langgraph.graph import END

from langgraph_reflexion.graph.memory import Strategy
from langgraph_reflexion.graph.state import ReflexionState


def after_reset(state: ReflexionState) -> Literal["act", "evaluate"]:
    """A fault goes straight to evaluate."""
    return "evaluate" if state["fault"] else "act"


def after_act(state: ReflexionState) -> Literal["observe", "evaluate"]:
    """A fault goes straight to evaluate."""
    return "evaluate" if state["fault"] else "observe"


def after_observe(state: ReflexionState) -> Literal["heuristic_check", "evaluate"]:
    """A fault goes straight to evaluate."""
    return "evaluate" if state["fault"] else "heuristic_check"


def after_heuristic_check(state: ReflexionState) -> Literal["act", "evaluate"]:
    """The trial goes on, or is over."""
    return "evaluate" if state["stop_reason"] else "act"


def after_evaluate(strategy: Strategy) -> Callable[[ReflexionState], str]:
    """The task is finished, or the trial is reflected on, or the next one begins at once."""

    def after_evaluate(state: ReflexionState) -> str:
        if state["status"] != "running":
            return END
        return "reflect" if strategy.reflects else "reset"

    return after_evaluate


def after_reflect(state: ReflexionState) -> str:
    """The next trial, unless no reflection could be had."""
    return "reset" if state["status"] == "running" else END
