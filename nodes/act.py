"""act: the actor chooses the next step."""

from langchain_core.runnables import RunnableConfig

from langgraph_reflexion.envs.base import Action
from langgraph_reflexion.errors import ModelFault
from langgraph_reflexion.graph.state import Decision, ReflexionState
from langgraph_reflexion.nodes.actors import Actor
from langgraph_reflexion.nodes.model import add_usage, ask, derive_seed
from langgraph_reflexion.nodes.node import Update


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
        seed = derive_seed(self.seed, state["task"]["id"], state["trial"], f"act {len(trajectory)}")
        try:
            reply, usage = await ask(self.actor.model, self.actor.messages(state), config, seed=seed)
        except ModelFault as fault:
            if fault.permanent:
                raise
            return {"stop_reason": "fault", "fault": str(fault)}
        decision = self.actor.decide(reply)
        if decision["action"] is None and trajectory and trajectory[-1]["action"] is None:
            # One thought alone is free; a second in a row is an action that is missing, or the trial would not end.
            decision = Decision(thought=decision["thought"], action=Action(name="", args={}, text=""))
        return {"decision": decision, "usage": add_usage(state["usage"], usage)}
