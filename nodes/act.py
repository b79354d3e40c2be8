"""act: the actor chooses the next step."""

from dataclasses import dataclass
from typing import Protocol

from langchain_core.runnables import RunnableConfig

from langgraph_reflexion.envs.base import Action, Task
from langgraph_reflexion.errors import ModelFault
from langgraph_reflexion.loop.answers import HIGHER, RejectedAnswers
from langgraph_reflexion.loop.prompting import charging
from langgraph_reflexion.models.calls import CallId, Reply, as_data, note
from langgraph_reflexion.models.recorded import SAMPLED_AGAIN
from langgraph_reflexion.state import Decision, ReflexionState, Update


class Chooser(Protocol):
    """What `Act` asks for steps; an `Actor` is one."""

    def for_task(self, task: Task) -> "Chooser":
        """Return it with the actions of this task."""

    async def choose(
        self, state: ReflexionState, config: RunnableConfig, call: CallId, temperature: float | None = None
    ) -> tuple[Decision, Reply]:
        """Return the next step; see `Actor.choose`."""

    def keep(self, state: ReflexionState, reply: Reply) -> Update:
        """Return what the state keeps of the reply."""


@dataclass
class Act:
    """Choose one step (M_a, section 3 of the paper). Nothing is done in the environment yet.

    Attributes:
        actor: Chooses.
        seed: The run's seed.
        thoughts_count: Whether the heuristic counts thoughts as actions, so that they may follow one another.
        rejected: The answers that are sampled again before they are evaluated; none unless given.
    """

    actor: Chooser
    seed: int
    thoughts_count: bool = False
    rejected: RejectedAnswers | None = None

    async def __call__(self, state: ReflexionState, config: RunnableConfig) -> Update:
        task = state["task"]
        trajectory = state["trajectory"]
        actor = self.actor.for_task(task)
        call = CallId(self.seed, task["id"], state["trial"], f"act {len(trajectory)}")
        try:
            with charging(state, "act") as paid:
                decision, reply = await self._chosen(actor, state, config, call)
        except ModelFault as fault:
            # Trouble outside is not a step of the agent's; what was paid for is charged all the same.
            return {"decision": None, "stop_reason": "fault", "fault": as_data(fault), **paid}
        after_thought = bool(trajectory) and trajectory[-1]["action"] is None
        second_thought = after_thought and decision["action"] is None
        if second_thought and not self.thoughts_count:
            # A thought alone is free. A second in a row counts as an invalid action, or the trial would not end.
            decision = Decision(thought=decision["thought"], action=Action(name="", args={}, text=""))
        update: Update = {"decision": decision, "prompt_budget": reply.prompt_budget}
        update |= self.actor.keep(state, reply)
        return update | paid

    async def _chosen(
        self, actor: Chooser, state: ReflexionState, config: RunnableConfig, call: CallId
    ) -> tuple[Decision, Reply]:
        """Return the actor's choice; an answer that was rejected before is sampled again, at most twice.

        Raises:
            ModelFault: the model gave none.
        """
        decision, reply = await actor.choose(state, config, call)
        if self.rejected is None or not self.rejected.has(state, decision["action"]):
            return decision, reply
        for number, temperature in enumerate(HIGHER, 1):
            # Another name is another seed, and another place in a cache.
            sample = call._replace(name=f"{call.name} sampled again {number}")
            try:
                decision, reply = await actor.choose(state, config, sample, temperature)
            except ModelFault as fault:
                # There is an answer, which can be evaluated.
                note(f"{SAMPLED_AGAIN}, and no reply came: {fault}")
                return decision, reply
            if not self.rejected.has(state, decision["action"]):
                note(f"{SAMPLED_AGAIN}, and another choice came")
                return decision, reply
        note(f"{SAMPLED_AGAIN}, and came again")
        return decision, reply
