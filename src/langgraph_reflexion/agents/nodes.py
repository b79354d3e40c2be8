"""observe and evaluate, where the actor is a whole agent: its trajectory, and the best attempt as the answer."""

import json
from collections.abc import Mapping
from typing import Any, cast

from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.types import Overwrite

from langgraph_reflexion._langgraph import AGENT_NAME
from langgraph_reflexion.agents.runner import AgentNode, RunAgent
from langgraph_reflexion.agents.state import AgentState, Attempt
from langgraph_reflexion.agents.transcript import steps_of
from langgraph_reflexion.agents.wrapped import WrappedAgent
from langgraph_reflexion.budgets import Budgets
from langgraph_reflexion.envs.pool import EpisodePool
from langgraph_reflexion.evaluators.base import Evaluator, result_in
from langgraph_reflexion.heuristic import HeuristicFunction
from langgraph_reflexion.models.usage import Price
from langgraph_reflexion.nodes.evaluate import Evaluate
from langgraph_reflexion.profiles import Profile
from langgraph_reflexion.prompts import Prompts
from langgraph_reflexion.state import ReflexionState, Update

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


def agent_nodes(
    agent: WrappedAgent,
    prompts: Prompts,
    heuristic: HeuristicFunction,
    judge: Evaluator,
    pool: EpisodePool,
    budgets: Budgets,
    rules: Profile,
    prices: Mapping[str, Price],
) -> dict[str, Any]:
    """Return the nodes that differ where the actor is a whole agent: `act`, `observe` and `evaluate`."""
    running = RunAgent(agent, prompts, rules.feedback, heuristic, budgets, prices)
    return {"act": AgentNode(running), "observe": Gather(), "evaluate": Deliver(judge, pool, budgets, rules)}
