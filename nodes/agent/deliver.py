"""observe and evaluate, where the actor is a whole agent: its trajectory, and the best attempt as the answer."""

import json
from typing import Any, cast

from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.types import Overwrite

from langgraph_reflexion.graph.state import AgentState, Attempt, ReflexionState
from langgraph_reflexion.nodes.agent.transcript import steps_of
from langgraph_reflexion.nodes.evaluate import Evaluate
from langgraph_reflexion.nodes.node import Update


class Gather:
    """observe, where the actor is a whole agent: what it did becomes the trajectory."""

    async def __call__(self, state: ReflexionState, config: RunnableConfig) -> Update:
        """Write the trajectory, and how the trial ended."""
        attempt = cast(Attempt, cast(AgentState, state)["attempt"])
        ended = {"terminated": attempt["ended"] == "terminated", "truncated": attempt["ended"] == "truncated"}
        steps = steps_of(attempt["messages"])
        return {"trajectory": Overwrite(steps), "episode": {**state["episode"], **ended}, "attempt": None}


class Deliver(Evaluate):
    """evaluate, where the actor is a whole agent: after the last verdict, the best attempt is the answer."""

    async def __call__(self, state: ReflexionState, config: RunnableConfig) -> Update:
        """Write the verdict, and the answer when the task is finished."""
        update = await super().__call__(state, config)
        known = cast(AgentState, state)
        result = known.get("result") if update["best"] in (None, state["trial"]) else known["best_result"]
        update["best_result"] = result
        if update["status"] != "running":
            update |= {"result": result, "messages": [answer(known, update, result)]}
        return update


def answer(state: AgentState, update: Update, result: Any) -> AIMessage:
    """The answer to the conversation, with the outcome in its metadata."""
    said = result if isinstance(result, str) else "" if result is None else json.dumps(result, default=str)
    verdict = update["evaluation"]
    outcome = {
        "status": update["status"],
        "trials": state["trial"],
        "best": update["best"],
        "score": verdict["score"] if verdict else None,
        "fault": update["fault"],
    }
    return AIMessage(said or update["fault"] or "There is no answer.", response_metadata={"reflexion": outcome})
