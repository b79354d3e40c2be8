"""observe: the chosen action is done, and what came of it joins the trajectory."""

from langchain_core.runnables import RunnableConfig

from langgraph_reflexion.envs.base import Action
from langgraph_reflexion.envs.pool import EpisodePool
from langgraph_reflexion.errors import Fault
from langgraph_reflexion.graph.state import EpisodeState, ReflexionState, Step
from langgraph_reflexion.nodes.node import Update

HEARD = "OK."
"""What a thought alone is answered with."""


class Observe:
    """Do the action in the episode in which exactly this trial's actions were done.

    Args:
        pool: Where episodes live.
    """

    def __init__(self, pool: EpisodePool) -> None:
        self.pool = pool

    async def __call__(self, state: ReflexionState, config: RunnableConfig) -> Update:
        """Write the finished step and how the episode stands."""
        decision, episode = state["decision"], state["episode"]
        action = decision["action"]
        if action is None:
            return {"trajectory": [Step(thought=decision["thought"], action=None, observation=HEARD)]}
        done = actions_of(state)
        try:
            result, snapshot = await self.pool.step(state["task"], done, action, episode["snapshot"])
        except Fault as fault:
            return {"stop_reason": "fault", "fault": str(fault)}
        step = Step(thought=decision["thought"], action=action, observation=result.observation)
        after = EpisodeState(
            observation=episode["observation"],
            # An engine's numbers may be numpy's, which no checkpointer takes. Where an action says nothing of how
            # the task stands, it stands as before.
            reward=episode["reward"] if result.reward is None else float(result.reward),
            terminated=bool(result.terminated),
            truncated=bool(result.truncated),
            snapshot=snapshot,
        )
        return {"trajectory": [step], "episode": after}


def actions_of(state: ReflexionState) -> list[Action]:
    """What was done in the current trial, in order: the history that its episode is found by."""
    return [step["action"] for step in state["trajectory"] if step["action"] is not None]
