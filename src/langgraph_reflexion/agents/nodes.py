"""observe and evaluate, where the actor is a whole agent: its trajectory, and the best attempt as the answer."""

import json
from collections.abc import Mapping
from typing import Any, cast

from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.types import Overwrite

from langgraph_reflexion._langgraph import AGENT_NAME
from langgraph_reflexion.agents.transcript import steps_of
from langgraph_reflexion.evaluators.base import result_in
from langgraph_reflexion.nodes.evaluate import Evaluate
from langgraph_reflexion.nodes.node import Update
from langgraph_reflexion.state import AgentState, Attempt, ReflexionState

NO_ANSWER = "There is no answer."
"""What is said when the agent has said nothing."""


class Gather:
    """observe, where the actor is a whole agent: what it did becomes the trajectory."""

    async def __call__(self, state: ReflexionState, config: RunnableConfig) -> Update:
        """Write the trajectory, and how the trial ended."""
        attempt = cast(Attempt, cast(AgentState, state)["attempt"])
        ended = {"terminated": attempt["ended"] == "terminated", "truncated": attempt["ended"] == "truncated"}
        said = attempt["messages"] or [AIMessage(as_text(attempt["result"]))]
        return {
            "trajectory": Overwrite(steps_of(said)),
            "episode": {**state["episode"], **ended},
            # The trajectory tells the rest.
            "attempt": {**attempt, "messages": []},
        }


class Deliver(Evaluate):
    """evaluate, where the actor is a whole agent: after the last verdict, the best attempt is the answer."""

    async def __call__(self, state: ReflexionState, config: RunnableConfig) -> Update:
        """Write the verdict, and the answer when the task is finished."""
        update = await super().__call__(state, config)
        known = cast(AgentState, state)
        result = known.get("result")
        if update["best"] in (None, state["trial"]):
            result = result_in(state)
        update["result"] = result
        if update["status"] != "running":
            update["messages"] = [answer(known, update, result, config)]
        return update


def answer(state: AgentState, update: Update, result: Any, config: RunnableConfig) -> AIMessage:
    """The answer to the conversation, in the graph's name, with the outcome in its metadata."""
    said = as_text(result)
    outcome = outcome_of(state, update)
    name = config.get("metadata", {}).get(AGENT_NAME)
    return AIMessage(said or update["fault"] or NO_ANSWER, name=name, response_metadata={"reflexion": outcome})


def as_text(result: Any) -> str:
    """What came out of an agent, as text."""
    return result if isinstance(result, str) else "" if result is None else json.dumps(result, default=str)


def outcome_of(state: AgentState, update: Mapping[str, Any]) -> dict[str, Any]:
    """How a task ended, as the answer's metadata tell it.

    Args:
        state: The state before the last verdict.
        update: What the verdict wrote.
    """
    verdict = update.get("evaluation")
    return {
        "status": update["status"],
        "trials": state["trial"],
        "best": update["best"],
        "score": verdict["score"] if verdict else None,
        "fault": update["fault"],
    }
