"""Where the graph goes from a node: pure functions of the state."""

from collections.abc import Callable
from typing import Literal

from langgraph.graph import END

from langgraph_reflexion.state import ReflexionState
from langgraph_reflexion.strategies import Strategy


def after_reset(state: ReflexionState) -> Literal["act", "evaluate"]:
    """Go straight to evaluate after a fault."""
    return "evaluate" if state["fault"] else "act"


def after_act(state: ReflexionState) -> Literal["observe", "evaluate"]:
    """Go straight to evaluate after a fault."""
    return "evaluate" if state["fault"] else "observe"


def after_observe(state: ReflexionState) -> Literal["heuristic_check", "evaluate"]:
    """Go straight to evaluate after a fault."""
    return "evaluate" if state["fault"] else "heuristic_check"


def after_heuristic_check(state: ReflexionState) -> Literal["act", "evaluate"]:
    """Go on with the trial unless there is a reason to stop."""
    return "evaluate" if state["stop_reason"] else "act"


def after_evaluate(strategy: Strategy) -> Callable[[ReflexionState], str]:
    """Return the edge from evaluate: end a finished task, or reflect or start the next trial as the strategy says."""

    def after_evaluate(state: ReflexionState) -> str:
        if state["status"] != "running":
            return END
        return "reflect" if strategy.reflects else "reset"

    return after_evaluate


def after_reflect(state: ReflexionState) -> str:
    """Start the next trial unless the reflection failed."""
    return "reset" if state["status"] == "running" else END
