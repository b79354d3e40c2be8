"""Where the graph goes from a node: pure functions of the state."""

from collections.abc import Callable

from langgraph.graph import END

from langgraph_reflexion.loop.profiles import Rules
from langgraph_reflexion.state import ReflexionState, Strategy


def unless_fault(node: str) -> Callable[[ReflexionState], str]:
    """Continue with `node`; a fault goes straight to evaluate."""

    def unless_fault(state: ReflexionState) -> str:
        if state["fault"]:
            return "evaluate"
        return node

    return unless_fault


def after_heuristic_check(state: ReflexionState) -> str:
    """Continue the trial, or end it."""
    if state["stop_reason"]:
        return "evaluate"
    return "act"


def after_evaluate(rules: Rules) -> Callable[[ReflexionState], str]:
    """End the task, reflect on the trial, or begin the next one at once; first, let a person see the verdict."""
    reflects = Strategy(rules.strategy).reflects
    reflects_at_end = reflects and rules.reflects_at_end

    def after_evaluate(state: ReflexionState) -> str:
        # The verdict is in a checkpoint before a person is asked, so that a resumed run judges nothing again.
        if state.get("proposed_evaluation"):
            return "evaluate"
        if state["status"] == "running":
            if reflects:
                return "reflect"
            # A baseline such as `retry` writes no reflections.
            return "reset"
        if state["status"] == "failed" and reflects_at_end:
            return "reflect"
        return END

    return after_evaluate


def after_reflect(state: ReflexionState) -> str:
    """Begin the next trial, unless the reflection failed."""
    if state["status"] == "running":
        return "reset"
    return END
