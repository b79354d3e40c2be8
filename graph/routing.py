"""Where the graph goes from a node: pure functions of the state."""

from collections.abc import Callable

from langgraph.graph import END

from langgraph_reflexion.errors import one_of
from langgraph_reflexion.state import ReflexionState, Strategy


def unless_fault(node: str) -> Callable[[ReflexionState], str]:
    """Go on to `node`; a fault goes straight to evaluate."""

    def unless_fault(state: ReflexionState) -> str:
        return "evaluate" if state["fault"] else node

    return unless_fault


def after_heuristic_check(state: ReflexionState) -> str:
    """Continue the trial, or end it."""
    return "evaluate" if state["stop_reason"] else "act"


def after_evaluate(strategy: str) -> Callable[[ReflexionState], str]:
    """End the task, reflect on the trial, or begin the next one at once."""
    reflects = Strategy(one_of("strategy", strategy, Strategy)).reflects

    def after_evaluate(state: ReflexionState) -> str:
        if state["status"] != "running":
            return END
        return "reflect" if reflects else "reset"

    return after_evaluate


def after_reflect(state: ReflexionState) -> str:
    """Begin the next trial, unless the reflection failed."""
    return "reset" if state["status"] == "running" else END
