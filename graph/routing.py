"""Where the graph goes from a node: pure functions of the state."""

from collections.abc import Callable

from langgraph.graph import END

from langgraph_reflexion.loop.profiles import Rules
from langgraph_reflexion.state import ReflexionState, Strategy


def unless_fault(node: str) -> Callable[[ReflexionState], str]:
    """Continue with `node`; a fault goes straight to evaluate."""
    return lambda state: "evaluate" if state["fault"] else node


def after_heuristic_check(state: ReflexionState) -> str:
    """Continue the trial, or end it."""
    return "evaluate" if state["stop_reason"] else "act"


def after_evaluate(rules: Rules) -> Callable[[ReflexionState], str]:
    """End the task, reflect on the trial, or begin the next one at once."""
    ends = {"running", "failed"} if rules.reflects_at_end else {"running"}
    reflects = Strategy(rules.strategy).reflects

    def after_evaluate(state: ReflexionState) -> str:
        if reflects and state["status"] in ends:
            return "reflect"
        return "reset" if state["status"] == "running" else END

    return after_evaluate


def after_reflect(state: ReflexionState) -> str:
    """Begin the next trial, unless the reflection failed."""
    return "reset" if state["status"] == "running" else END
