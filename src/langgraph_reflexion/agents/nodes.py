"""The nodes around a wrapped agent: its trajectory is observed, and its best attempt is the answer."""

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
from langgraph_reflexion.memory import AgentMemory
from langgraph_reflexion.models.usage import Price
from langgraph_reflexion.nodes.evaluate import Evaluate
from langgraph_reflexion.profiles import Profile
from langgraph_reflexion.prompts import Prompts
from langgraph_reflexion.state import ReflexionState, Update

NO_ANSWER = "There is no answer."
"""The answer of an agent that said nothing."""


class CollectTrajectory:
    """observe: the agent's messages become the trajectory."""

    async def __call__(self, state: ReflexionState, config: RunnableConfig) -> Update:
        attempt = cast(Attempt, cast(AgentState, state)["attempt"])
        ended = {"terminated": attempt["ended"] == "terminated", "truncated": attempt["ended"] == "truncated"}
        said = attempt["messages"] or [AIMessage(as_text(attempt["result"]))]
        return {
            "trajectory": Overwrite(steps_of(said)),
            "episode": {**state["episode"], **ended},
            "attempt": {**attempt, "messages": []},
        }


class EvaluateAgent(Evaluate):
    """evaluate: after the last trial, the best attempt is the answer."""

    async def __call__(self, state: ReflexionState, config: RunnableConfig) -> Update:
        update = await super().__call__(state, config)
        before = cast(AgentState, state)
        is_best = update["best"] in (None, state["trial"])
        update["result"] = result = result_in(state) if is_best else before.get("result")
        if update["status"] != "running":
            text, name = as_text(result), config.get("metadata", {}).get(AGENT_NAME)
            outcome = {"reflexion": outcome_of(before, update)}
            answer = AIMessage(text or update["fault"] or NO_ANSWER, name=name, response_metadata=outcome)
            update["messages"] = [answer]
        return update


def as_text(result: Any) -> str:
    """Return an agent's result as text."""
    return result if isinstance(result, str) else "" if result is None else json.dumps(result, default=str)


def outcome_of(state: AgentState, update: Mapping[str, Any]) -> dict[str, Any]:
    """Return the outcome of a task, for the answer's metadata, from the last evaluation's update."""
    evaluation = update.get("evaluation")
    return {
        "status": update["status"],
        "trials": state["trial"],
        "best": update["best"],
        "score": evaluation["score"] if evaluation else None,
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
    memory: AgentMemory,
    prices: Mapping[str, Price],
) -> dict[str, Any]:
    """Return the nodes that differ around an agent: `act`, `observe` and `evaluate`."""
    running = RunAgent(agent, prompts, rules.feedback, heuristic, budgets, prices)
    return {
        "act": AgentNode(running),
        "observe": CollectTrajectory(),
        "evaluate": EvaluateAgent(judge, pool, budgets, rules, memory),
    }
