"""The nodes around a wrapped agent: its trajectory is observed, and its best attempt is the answer."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, RemoveMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.types import Overwrite

from langgraph_reflexion.agents.runner import AgentNode, RunAgent
from langgraph_reflexion.agents.state import BestAttempt, WrappedAgentState, copied
from langgraph_reflexion.agents.transcript import steps_of
from langgraph_reflexion.agents.world import AgentEnvironment, AgentEpisode
from langgraph_reflexion.agents.wrapped import WrappedAgent
from langgraph_reflexion.envs.base import Action, Task
from langgraph_reflexion.errors import ConfigurationError, is_trouble
from langgraph_reflexion.evaluators.base import result_in
from langgraph_reflexion.loop.conversation import answer, asked_in
from langgraph_reflexion.loop.heuristic import HeuristicFunction
from langgraph_reflexion.models.usage import Price
from langgraph_reflexion.nodes.evaluate import Evaluate
from langgraph_reflexion.nodes.reset import Reset
from langgraph_reflexion.prompts import Prompts
from langgraph_reflexion.state import Attempt, ReflexionState, Update
from langgraph_reflexion.support.sync import to_thread
from langgraph_reflexion.support.text import as_text, one_line, sanitize

NO_ANSWER = "There is no answer."
"""The answer of an agent that said nothing."""


@dataclass
class ResetAgent(Reset):
    """reset: a new task keeps the agent's own state as the caller gave it, with which every trial begins.

    Attributes:
        own_keys: The keys of the agent's own state.
    """

    own_keys: Collection[str] = ()

    async def __call__(self, state: ReflexionState, config: RunnableConfig) -> Update:
        update = await super().__call__(state, config)
        if "status" in update:
            given = cast(dict[str, Any], state)
            update |= {"attempt": None, "best_attempt": None}
            update["start"] = {key: copied(given[key]) for key in self.own_keys if key in given}
        return update


class CollectTrajectory:
    """observe: the agent's messages become the trajectory."""

    async def __call__(self, state: ReflexionState, config: RunnableConfig) -> Update:
        attempt = state["attempt"]
        if attempt is None:  # its world was lost, and the trial starts over
            return {}
        ended = {"terminated": attempt["ended"] == "terminated", "truncated": attempt["ended"] == "truncated"}
        said: list[Any] = [*attempt["messages"]]
        if not said and attempt["ended"]:
            said = [AIMessage(as_text(attempt["result"]))]
        return {"trajectory": Overwrite(steps_of(said)), "episode": {**state["episode"], **ended}}


@dataclass
class EvaluateAgent(Evaluate):
    """evaluate: after the last trial, the best attempt is the answer, and its state and world come back.

    Attributes:
        own_keys: The keys of the agent's own state, and whether each has a reducer.
    """

    own_keys: Mapping[str, bool] = field(default_factory=dict)

    async def __call__(self, state: ReflexionState, config: RunnableConfig) -> Update:
        before = cast(WrappedAgentState, state)
        attempt, saved = before.get("attempt"), None
        environment = self._surroundings
        if attempt and environment.world and not state["fault"]:
            try:
                saved = await to_thread(self._world_after, state["task"], attempt)
            except Exception as error:
                if not is_trouble(error):
                    raise
                state = {**state, "stop_reason": "fault", "fault": f"the world could not be saved: {one_line(error)}"}
        update = await super().__call__(state, config)
        # An evaluation that a fault has prevented is resumed, and needs the trial's world.
        unjudged = attempt is not None and update["fault"] != "" and update.get("stop_reason", "") != "fault"
        unjudged = unjudged and state["stop_reason"] not in ("budget", "fault")
        best, result = before.get("best_attempt"), before.get("result")
        is_best = update["best"] in (None, state["trial"])
        if is_best:
            result = result_in(state)
            best = BestAttempt(state=attempt["state"] if attempt else {}, world=saved, answer=answer_id(attempt))
            best["kept"] = attempt.get("kept") if attempt else None
        update |= {"result": result, "best_attempt": best}
        if update["status"] in ("budget", "fault") and not unjudged:
            # If this trial is resumed, it begins again, in a fresh world.
            update["episode"] = {**update.get("episode", state["episode"]), "snapshot": None}
        if attempt and unjudged:
            update["attempt"] = {**attempt, "world": saved}
        elif attempt and not update["fault"]:
            update["attempt"] = {**attempt, "messages": [], "world": None}
        if update["status"] == "running":
            return update
        if best:
            for key, reduced in self.own_keys.items():
                if key in best["state"]:
                    update[key] = Overwrite(best["state"][key]) if reduced else best["state"][key]
            if best["world"] and not is_best:
                try:
                    await to_thread(environment.restore_world, state["task"], best["world"])
                except Exception as error:
                    if not is_trouble(error):
                        raise
                    fault = f"the best trial's world could not be restored: {one_line(error)}"
                    update |= {"status": "fault", "fault": fault}
        text = as_text(result)
        # A stream shows a message once: under the id under which the agent has streamed it.
        said = best["answer"] if best and text else None
        known = {message.id for message in before.get("messages", [])}
        message = answer(text or update["fault"] or NO_ANSWER, state, update, config)
        message.id = None if said in known else said
        kept = best["kept"] if best else None
        return update | {"messages": [*shortened(before, kept), message]}

    @property
    def _surroundings(self) -> AgentEnvironment:
        return cast(AgentEnvironment, self.pool.environment)

    def _world_after(self, task: Task, attempt: Attempt) -> dict[str, Any] | None:
        """Return the world as the trial has left it; a trial that is evaluated later finds it again."""
        saved = attempt.get("world")
        if saved is None:
            return self._surroundings.save_world(task)
        self._surroundings.restore_world(task, saved)
        return saved

    async def _shown(self, state: ReflexionState) -> ReflexionState:
        """Return the state, with the trial's world if the evaluator needs it."""
        if not self.evaluator.needs_world:
            return state
        world: object = self._surroundings.world
        if world is None and self._surroundings.make:
            episode = await self.pool.borrow(state["task"], [], state["episode"]["snapshot"])
            await self.pool.give_back(state["task"], [], episode)
            world = cast(AgentEpisode, episode).world
        if world is None:
            raise ConfigurationError(
                "the evaluator needs `world`, and there is none: let make= return (agent, world), or give a World as "
                "reset="
            )
        return cast(ReflexionState, {**state, "world": world})

    async def _release(self, state: ReflexionState, actions: list[Action], *, evaluated: bool) -> None:
        # The world of a trial that is evaluated later stays.
        if evaluated:
            await self.pool.release(state["task"], [])


def shortened(state: WrappedAgentState, kept: list[AnyMessage] | None) -> list[BaseMessage]:
    """Return the update of a conversation that the agent has shortened before the task; empty if it has not."""
    if kept is None:
        return []
    _, task = asked_in(state)
    if task is None:
        return []
    return [RemoveMessage(REMOVE_ALL_MESSAGES), *kept, task]


def answer_id(attempt: Attempt | None) -> str | None:
    """Return the id of the message that is the result."""
    if attempt is None:
        return None
    text = as_text(attempt["result"])
    said = [each for each in attempt["messages"] if isinstance(each, AIMessage) and sanitize(each.text) == text]
    return said[-1].id if said else None


def agent_nodes(
    agent: WrappedAgent,
    reset: Reset,
    evaluate: Evaluate,
    heuristic: HeuristicFunction,
    prompts: Prompts,
    prices: Mapping[str, Price],
    own_keys: Mapping[str, bool],
) -> dict[str, Any]:
    """Return the nodes that differ around an agent: `reset`, `act`, `observe` and `evaluate`.

    Args:
        agent: The agent.
        reset: The node around an environment.
        evaluate: The node around an environment.
        heuristic: The heuristic h.
        prompts: The templates.
        prices: The prices of the agent's models, by name.
        own_keys: The keys of the agent's own state, and whether each has a reducer.
    """
    running = RunAgent(agent, reset.pool, prompts, evaluate.rules, heuristic, reset.budgets, prices)
    return {
        "reset": ResetAgent(**vars(reset), own_keys=own_keys),
        "act": AgentNode(running),
        "observe": CollectTrajectory(),
        "evaluate": EvaluateAgent(**vars(evaluate), own_keys=own_keys),
    }
