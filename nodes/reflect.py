"""reflect: a failed trial becomes a reflection."""

from dataclasses import dataclass

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig

from langgraph_reflexion.context import ask_about, opening_of, spent, with_lessons, without_longest
from langgraph_reflexion.errors import ModelFault
from langgraph_reflexion.memory.episodic import EpisodicMemory, status_line
from langgraph_reflexion.memory.memory_map import Mapper
from langgraph_reflexion.models.calls import Call, storable
from langgraph_reflexion.models.client import Client
from langgraph_reflexion.models.usage import NO_USAGE, add_usage
from langgraph_reflexion.profiles import Profile
from langgraph_reflexion.prompts import Prompts
from langgraph_reflexion.state import Reflection, ReflexionState, Step, Update


@dataclass
class Reflect:
    """Turn task, trajectory, verdict and memory into a reflection (M_sr, section 3 of the paper).

    The profile says how much of the verdict, the trajectory and the memory the model sees.
    """

    client: Client
    prompts: Prompts
    memory: EpisodicMemory
    rules: Profile
    seed: int
    mapper: Mapper | None = None

    async def __call__(self, state: ReflexionState, config: RunnableConfig) -> Update:
        """Write the memory with the new reflection at its end."""

        def render(steps: list[Step]) -> list[BaseMessage]:
            failed = self.prompts.render(
                "failed_trial",
                observation=opening_of(state, self.prompts),
                steps=without_longest(steps, self.rules.truncation),
                status=status_line(state["evaluation"], self.rules.feedback),
                reflections=state["reflections"] if self.rules.reflects_on_memory else [],
                memory_map=self.mapper.text(state) if self.mapper else "",
            )
            instruction = self.prompts.render("reflect", examples=self.prompts.reflections)
            return [SystemMessage(instruction), HumanMessage(with_lessons(failed, state, self.prompts))]

        call = Call(self.seed, state["task"]["id"], state["trial"], "reflect")
        try:
            asked = await ask_about(self.client, render, state["trajectory"], state["room"], config, call)
            reflection = Reflection(trial=state["trial"], text=storable(asked.reply.text.strip()))
            reflections, condensed = await self.memory.add(state, reflection, config)
        except ModelFault as fault:
            if fault.permanent:
                raise
            return {"status": "fault", "fault": str(fault)}
        usage = add_usage(asked.usage, condensed.usage if condensed else NO_USAGE)
        account = spent(state, "reflect", usage, asked.notes)
        # The reflection is paid for by its trial, which is on record already.
        return {"reflections": reflections, "trials": [{**state["trials"][-1], **account}], **account}
