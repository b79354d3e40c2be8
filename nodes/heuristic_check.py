"""heuristic_check: after every action, decide whether the trial should stop."""

from dataclasses import dataclass

from langchain_core.runnables import RunnableConfig

from langgraph_reflexion.loop.budgets import Budgets
from langgraph_reflexion.loop.heuristic import HeuristicFunction
from langgraph_reflexion.state import ReflexionState, Update


@dataclass
class HeuristicCheck:
    """Stop the trial or continue. The environment's own end comes first, then h, then the budgets."""

    heuristic: HeuristicFunction
    budgets: Budgets

    async def __call__(self, state: ReflexionState, config: RunnableConfig) -> Update:
        # The environment knows best: a trial that it has ended is not a hallucination.
        for ended in ("terminated", "truncated"):
            if state["episode"][ended]:
                return {"stop_reason": ended}
        reason = None
        # A trial that starts over has no steps.
        if state["trajectory"]:
            reason = self.heuristic(state["trajectory"])
        if reason is not None:
            check_reason(reason)
            return {"stop_reason": reason}
        # Last, as a trial that stops by itself is evaluated, and one that a budget cuts short is not.
        used_up = self.budgets.used_up(state, config)
        if used_up:
            return {"stop_reason": "budget", "notes": [*state["notes"], used_up]}
        return {"stop_reason": None}


def check_reason(reason: object) -> None:
    """Check what a heuristic of the user's has returned, other than None.

    Raises:
        TypeError: it is not a reason in words.
    """
    if not isinstance(reason, str) or not reason:
        raise TypeError(f"a heuristic returns why the trial should stop, in words, or None; got {reason!r}")
