"""act: the actor chooses the next step."""

from langchain_core.runnables import RunnableConfig

from langgraph_reflexion.actors.base import Actor
from langgraph_reflexion.context import charged, noted
from langgraph_reflexion.envs.base import Action
from langgraph_reflexion.errors import ModelFault
from langgraph_reflexion.models.calls import Call
from langgraph_reflexion.nodes.node import Update
from langgraph_reflexion.state import Decision, ReflexionState


class Act:
    """One model call chooses one step (M_a, section 3 of the paper).

    Args:
        actor: Renders the prompt and reads the reply.
        seed: The run's seed.
    """

    def __init__(self, actor: Actor, seed: int) -> None:
        self.actor = actor
        self.seed = seed

    async def __call__(self, state: ReflexionState, config: RunnableConfig) -> Update:
        """Write the decision; nothing has been done yet."""
        trajectory = state["trajectory"]
        call = Call(self.seed, state["task"]["id"], state["trial"], f"act {len(trajectory)}")
        try:
            decision, asked = await self.actor.choose(state, config, call)
        except ModelFault as fault:
            if fault.permanent:
                raise
            return {"decision": None, "stop_reason": "fault", "fault": str(fault)}
        if decision["action"] is None and trajectory and trajectory[-1]["action"] is None:
            # One thought alone is free; a second in a row is an action that is missing, or the trial would not end.
            decision = Decision(thought=decision["thought"], action=Action(name="", args={}, text=""))
        update: Update = {"decision": decision, "usage": charged(state, "act", asked.usage)}
        if asked.notes or asked.room != state["room"]:
            update |= {"notes": noted(state, asked.notes), "room": asked.room}
        return update
