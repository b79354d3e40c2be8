"""observe: the chosen action is done, and what came of it joins the trajectory."""

from collections.abc import Collection
from typing import cast

from langchain_core.runnables import RunnableConfig

from langgraph_reflexion.envs.base import Action
from langgraph_reflexion.envs.pool import EpisodePool
from langgraph_reflexion.errors import Fault
from langgraph_reflexion.models.calls import storable
from langgraph_reflexion.models.retries import Retries
from langgraph_reflexion.nodes.approval import Approval, ask_person
from langgraph_reflexion.nodes.node import Update
from langgraph_reflexion.state import Decision, EpisodeState, ReflexionState, Step

HEARD = "OK."
"""What a thought alone is answered with."""

REJECTED = "A person did not allow this action, and it was not done."
"""What the actor observes of an action that was rejected; the person's reason follows."""


class Observe:
    """Do the action in the episode in which exactly this trial's actions were done.

    Args:
        pool: Where episodes live.
        retries: How often an action is tried. Every attempt begins with the same history, rebuilt.
        approve: The names of the actions that a person has to approve first.
    """

    def __init__(self, pool: EpisodePool, retries: Retries, approve: Collection[str] = ()) -> None:
        self.pool = pool
        self.retries = retries
        self.approve = approve

    async def __call__(self, state: ReflexionState, config: RunnableConfig) -> Update:
        """Write the finished step and how the episode stands."""
        decision, episode = cast(Decision, state["decision"]), state["episode"]
        number = len(state["trajectory"]) + 1
        action = decision["action"]
        if action is None:
            return {"trajectory": [Step(number=number, thought=decision["thought"], action=None, observation=HEARD)]}
        approval = self._approval(state, action) if action["name"] in self.approve else Approval()
        action = approval.edited or action
        if approval.rejected:
            # Without a name it changes nothing in the environment, live or replayed.
            action = Action(name="", args={}, text=action["text"])
        done = actions_of(state)
        try:
            result, snapshot = await self.retries(
                lambda: self.pool.step(state["task"], done, action, episode["snapshot"])
            )
        except Fault as fault:
            return {"stop_reason": "fault", "fault": str(fault)}
        observation = f"{REJECTED} {approval.reason}".strip() if approval.rejected else storable(result.observation)
        step = Step(number=number, thought=decision["thought"], action=action, observation=observation)
        after = EpisodeState(
            task=episode["task"],
            began=episode["began"],
            observation=episode["observation"],
            # An engine's numbers may be numpy's, which no checkpointer takes. Where an action says nothing of how
            # the task stands, it stands as before.
            reward=episode["reward"] if result.reward is None else float(result.reward),
            terminated=bool(result.terminated),
            truncated=bool(result.truncated),
            snapshot=snapshot,
        )
        return {"trajectory": [step], "episode": after}

    def _approval(self, state: ReflexionState, action: Action) -> Approval:
        request = {
            "kind": "action",
            "task": state["task"]["instruction"],
            "trial": state["trial"],
            "thought": cast(Decision, state["decision"])["thought"],
            "action": action["text"],
        }
        parse = self.pool.environment.parse
        return ask_person(request, lambda edit: parse(edit) if isinstance(edit, str) else None)


def actions_of(state: ReflexionState) -> list[Action]:
    """What was done in the current trial, in order: the history that its episode is found by."""
    return [step["action"] for step in state["trajectory"] if step["action"] is not None]
