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
        for ended in ("terminated", "truncated"):
            if state["episode"][ended]:
                return {"stop_reason": ended}
        # A trial that starts over has no steps.
        reason = self.heuristic(state["trajectory"]) if state["trajectory"] else None
        if reason is not None and not (isinstance(reason, str) and reason):
            raise TypeError(f"a heuristic returns why the trial should stop, in words, or None; got {reason!r}")
        if reason is None and (used_up := self.budgets.used_up(state, config)):
            return {"stop_reason": "budget", "notes": [*state["notes"], used_up]}
        return {"stop_reason": reason}
