"""observe: the chosen action is done, and the step joins the trajectory."""

from collections.abc import Collection
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from langchain_core.runnables import RunnableConfig

from langgraph_reflexion.envs.base import Action, StepResult
from langgraph_reflexion.envs.grammar import read_call
from langgraph_reflexion.envs.pool import EpisodePool
from langgraph_reflexion.envs.protocols import for_task
from langgraph_reflexion.errors import EpisodeLost, Fault
from langgraph_reflexion.loop.episodes import begin_anew, key_of
from langgraph_reflexion.models.calls import as_data
from langgraph_reflexion.nodes.approval import Answer, ask_person
from langgraph_reflexion.state import Decision, EpisodeState, ReflexionState, Step, Update
from langgraph_reflexion.support.text import sanitize

HEARD = "OK."
"""The observation after a thought alone."""

REJECTED = "A person did not allow this action, and it was not done."
"""The observation after an action that was rejected; the person's reason follows."""


@dataclass
class Observe:
    """Execute the action, after any required approval, in the episode that matches this trial."""

    pool: EpisodePool
    approve: Collection[str] = ()

    async def __call__(self, state: ReflexionState, config: RunnableConfig) -> Update:
        decision = cast(Decision, state["decision"])
        thought = decision["thought"]
        action = decision["action"]
        number = len(state["trajectory"]) + 1
        if action is None:
            return {"trajectory": [Step(number=number, thought=thought, action=None, observation=HEARD)]}
        # Asked before the action is done: when the run is resumed, the node runs again from its beginning.
        answer = Answer()
        if action["name"] in self.approve:
            answer = self._approved(state, thought, action)
        if answer.edited:
            action = answer.edited
        if answer.rejected:
            # An action without a name changes nothing in the environment, live or replayed.
            action = Action(name="", args={}, text=action["text"])

        before = state["episode"]
        # The pool finds the episode by the actions taken so far, and replays them if it is not live any more.
        try:
            result, snapshot = await self.pool.step(
                state["task"], actions_of(state), action, before["snapshot"], key=key_of(state)
            )
        except EpisodeLost as lost:
            return await begin_anew(self.pool, state, lost)
        except Fault as fault:
            return {"stop_reason": "fault", "fault": as_data(fault)}
        observation = sanitize(result.observation)
        if answer.rejected:
            observation = f"{REJECTED} {answer.reason}".strip()
        step = Step(number=number, thought=thought, action=action, observation=observation)
        return {"trajectory": [step], "episode": after(before, result, snapshot)}

    def _approved(self, state: ReflexionState, thought: str, action: Action) -> Answer:
        """Ask a person about an action."""
        place = f"Task: {state['task']['instruction']}\nTrial {state['trial']}"
        words = f"{place}\nThought: {thought}\n{action['text']}"
        environment = for_task(self.pool.environment, state["task"])
        return ask_person(action["name"], action["args"], words, partial(read_call, environment))


def after(episode: EpisodeState, result: StepResult, snapshot: dict[str, Any] | None) -> EpisodeState:
    """Return an episode as a step has left it."""
    changed = episode.copy()
    # None leaves the reward as it was.
    if result.reward is not None:
        # An engine's numbers may be numpy's, which no checkpointer takes.
        changed["reward"] = float(result.reward)
    changed["terminated"] = bool(result.terminated)
    changed["truncated"] = bool(result.truncated)
    changed["snapshot"] = snapshot
    return changed


def actions_of(state: ReflexionState) -> list[Action]:
    """Return the actions of the current trial, in order: the history by which its episode is found."""
    return [step["action"] for step in state["trajectory"] if step["action"] is not None]
