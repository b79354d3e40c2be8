"""The nodes around a wrapped agent: its trajectory is observed, and its best attempt is the answer."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, RemoveMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.types import Overwrite

from langgraph_reflexion.agents.continuing import continued_by, state_after
from langgraph_reflexion.agents.runner import AgentNode, RunAgent
from langgraph_reflexion.agents.state import BestAttempt, WrappedAgentState, copied
from langgraph_reflexion.agents.transcript import steps_of
from langgraph_reflexion.agents.world import AgentEnvironment, borrowed
from langgraph_reflexion.agents.wrapped import WrappedAgent
from langgraph_reflexion.envs.base import Action, Task
from langgraph_reflexion.errors import ConfigurationError, is_trouble
from langgraph_reflexion.evaluators.base import result_in
from langgraph_reflexion.loop.conversation import answer, asked_in
from langgraph_reflexion.loop.episodes import key_of
from langgraph_reflexion.loop.heuristic import HeuristicFunction
from langgraph_reflexion.models.usage import Price
from langgraph_reflexion.nodes.evaluate import Evaluate
from langgraph_reflexion.nodes.reset import Reset
from langgraph_reflexion.prompts import Prompts
from langgraph_reflexion.state import Attempt, ReflexionState, Strategy, Update
from langgraph_reflexion.support.sync import to_thread
from langgraph_reflexion.support.text import as_text, one_line, sanitize

NO_ANSWER = "There is no answer."
"""The answer of an agent that said nothing."""

DONE = "The task is done."
"""The answer of an agent that said nothing, and has solved the task by what it did."""


@dataclass
class ResetAgent(Reset):
    """reset: a new task keeps the agent's own state as the caller gave it, with which every trial begins.

    Attributes:
        own_keys: The keys of the agent's own state.
    """

    own_keys: Collection[str] = ()

    async def __call__(self, state: ReflexionState, config: RunnableConfig) -> Update:
        update = await super().__call__(state, config)
        # Only the update for a first trial sets the status.
        is_new_task = "status" in update
        if is_new_task:
            given = cast(dict[str, Any], state)
            update["attempt"] = None
            update["best_attempt"] = None
            # Copies, as an agent may change in place what it is given.
            update["start"] = {key: copied(given[key]) for key in self.own_keys if key in given}
        return update


class CollectTrajectory:
    """observe: the agent's messages become the trajectory."""

    async def __call__(self, state: ReflexionState, config: RunnableConfig) -> Update:
        attempt = state["attempt"]
        if attempt is None:  # its world was lost, and the trial starts over
            return {}
        said: list[BaseMessage] = [*attempt["messages"]]
        if not said and attempt["ended"]:
            # A function may return a text, and no messages.
            said = [AIMessage(as_text(attempt["result"]))]
        episode = state["episode"].copy()
        episode["terminated"] = attempt["ended"] == "terminated"
        episode["truncated"] = attempt["ended"] == "truncated"
        return {"trajectory": Overwrite(steps_of(said)), "episode": episode}


@dataclass
class EvaluateAgent(Evaluate):
    """evaluate: after the last trial, the best attempt is the answer, and its state and world come back.

    Attributes:
        own_keys: The keys of the agent's own state, and whether each has a reducer.
    """

    own_keys: Mapping[str, bool] = field(default_factory=dict)

    async def _evaluated(self, state: ReflexionState, decision: Update | None, config: RunnableConfig) -> Update:
        before = cast(WrappedAgentState, state)
        attempt = before.get("attempt")
        saved = None
        has_world = self._surroundings.world is not None
        if attempt and has_world and not state["fault"]:
            # Saved before the evaluation, as an evaluator such as a test may leave traces in the world.
            try:
                saved = await to_thread(self._world_after, state["task"], attempt)
            except Exception as error:
                fault = _trouble("the world could not be saved", error)
                state = {**state, "stop_reason": "fault", "fault": fault}

        update = await super()._evaluated(state, decision, config)
        if update.get("proposed_evaluation"):
            if attempt:
                # The trial is recorded when a person has decided, and its world may be another by then.
                update["attempt"] = {**attempt, "world": saved}
            return update
        best = before.get("best_attempt")
        result = before.get("result")
        # As long as no trial has a verdict, the last one counts as the best.
        is_best = update["best"] in (None, state["trial"])
        if is_best:
            best = self._as_best(before, saved)
            result = result_in(state)
        update["best_attempt"] = best
        update["result"] = result
        if attempt and "continued" in update:
            *earlier, ended = update["continued"]
            update["continued"] = [*earlier, continued_by(ended, attempt, saved, self.own_keys)]
        update |= _kept_for_later(state, update, attempt, saved)
        if update["status"] == "running":
            return update

        if best:
            update |= self._state_of(best)
        # If the last trial is the best one, the world is already as that trial left it.
        if best and not is_best:
            update |= await self._restored(state, best)
        update["messages"] = _ending(before, update, best, config)
        return update

    async def _restored(self, state: ReflexionState, best: BestAttempt) -> Update:
        """Restore the world of a best trial that is not the last, and return the update if that has failed."""
        if not best["world"]:
            return {}
        try:
            await to_thread(self._surroundings.restore_world, state["task"], best["world"])
        except Exception as error:
            fault = _trouble("the best trial's world could not be restored", error)
            return {"status": "fault", "fault": fault}
        return {}

    def _as_best(self, state: WrappedAgentState, world: dict[str, Any] | None) -> BestAttempt:
        """Return what is kept of the best trial so far, which has none if its world was lost."""
        attempt = state.get("attempt")
        if attempt is None:
            return BestAttempt(state={}, world=world, answer=None, kept=None)
        left = attempt["state"]
        if Strategy(self.rules.strategy).continues:
            left = state_after(state["episode"], left)
        return BestAttempt(
            state=left,
            world=world,
            answer=answer_id(attempt),
            kept=attempt.get("kept"),
        )

    def _state_of(self, best: BestAttempt) -> Update:
        """Return the update after which the agent's own state is that of the best trial."""
        update: Update = {}
        for key, has_reducer in self.own_keys.items():
            if key not in best["state"]:
                continue
            value = best["state"][key]
            update[key] = value
            if has_reducer:
                # It would merge the value with the state of the last trial.
                update[key] = Overwrite(value)
        return update

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
        """Return the state, with the trial's world if the evaluator or the truth needs it."""
        needed = self.evaluator.needs_world
        if self.truth:
            needed = needed or self.truth.needs_world
        if not needed:
            return state
        world: object = self._surroundings.world
        # What `make` returned beside the agent is in the trial's episode.
        if world is None and self._surroundings.make:
            key = key_of(state)
            episode = await borrowed(self.pool, state["task"], state["episode"]["snapshot"], key)
            await self.pool.give_back(state["task"], [], episode, key=key)
            world = episode.world
        if world is None:
            raise ConfigurationError(
                "the evaluator needs `world`, and there is none: let make= return (agent, world), or give a World as "
                "reset="
            )
        # No channel of the graph: it is live, and only this call sees it.
        return cast(ReflexionState, {**state, "world": world})

    async def _release(self, state: ReflexionState, actions: list[Action], *, evaluated: bool) -> None:
        # The world of a trial that is evaluated later stays.
        if evaluated:
            # The pool keeps an agent's world under no actions, whatever tools were called in it.
            await self.pool.release(state["task"], [], key=key_of(state))


def _trouble(what: str, error: Exception) -> str:
    """Return trouble outside as the text of a fault; raise any other error, which is a bug."""
    if not is_trouble(error):
        raise error
    return f"{what}: {one_line(error)}"


def _kept_for_later(
    state: ReflexionState, update: Update, attempt: Attempt | None, world: dict[str, Any] | None
) -> Update:
    """Return what an evaluated trial leaves in the state, for whoever resumes the task.

    Args:
        state: The state in which it was evaluated.
        update: The update of its evaluation.
        attempt: The trial.
        world: Its saved world.
    """
    is_cut_short = state["stop_reason"] in ("budget", "fault") or update.get("stop_reason") == "fault"
    # An evaluation that a fault has prevented is resumed, and needs the trial's messages and its world.
    if attempt and update["fault"] and not is_cut_short:
        return {"attempt": {**attempt, "world": world}}
    kept: Update = {}
    if update["status"] in ("budget", "fault"):
        # If this trial is resumed, it begins again, in a fresh world.
        kept["episode"] = {**update.get("episode", state["episode"]), "snapshot": None}
    if attempt and not update["fault"]:
        kept["attempt"] = {**attempt, "messages": [], "world": None}
    return kept


def _ending(
    state: WrappedAgentState, update: Update, best: BestAttempt | None, config: RunnableConfig
) -> list[BaseMessage]:
    """Return the update of the conversation at the end of a task: the answer, after what the agent has left of it."""
    text = as_text(update["result"])
    without_text = update["fault"] or NO_ANSWER
    if update["status"] == "solved":
        without_text = DONE
    message = answer(text or without_text, state, update, config)
    if best is None:
        return [message]
    # A stream shows a message once: under the id under which the agent has streamed it.
    known = {each.id for each in state.get("messages", [])}
    if text and best["answer"] not in known:
        message.id = best["answer"]
    return [*shortened(state, best.get("kept")), message]


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
    for message in reversed(attempt["messages"]):
        if isinstance(message, AIMessage) and sanitize(message.text) == text:
            return message.id
    return None


def agent_nodes(
    agents: Sequence[WrappedAgent],
    reset: Reset,
    evaluate: Evaluate,
    heuristic: HeuristicFunction,
    prompts: Prompts,
    prices: Mapping[str, Price],
    own_keys: Mapping[str, bool],
) -> dict[str, Any]:
    """Return the nodes that differ around an agent: `reset`, `act`, `observe` and `evaluate`.

    Args:
        agents: The agent of each trial.
        reset: The node `reset` as an environment has it; the agent's has the same parts.
        evaluate: The node `evaluate` as an environment has it; the agent's has the same parts.
        heuristic: The heuristic h.
        prompts: The templates.
        prices: The prices of the agent's models, by name.
        own_keys: The keys of the agent's own state, and whether each has a reducer.
    """
    running = RunAgent(agents, reset.pool, prompts, evaluate.rules, heuristic, reset.budgets, prices)
    # The classes of an agent's nodes extend those of an environment's, so all fields of these fit.
    reset_agent = ResetAgent(**vars(reset), own_keys=own_keys)
    evaluate_agent = EvaluateAgent(**vars(evaluate), own_keys=own_keys)
    return {
        "reset": reset_agent,
        "act": AgentNode(running),
        "observe": CollectTrajectory(),
        "evaluate": evaluate_agent,
    }
