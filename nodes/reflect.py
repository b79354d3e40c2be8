"""reflect: a failed trial is turned into a lesson."""

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig

from langgraph_reflexion.context import ask_about, charged, noted, opening_of, with_lessons, without_longest
from langgraph_reflexion.errors import ModelFault
from langgraph_reflexion.memory.memory_map import Mapper
from langgraph_reflexion.models.calls import Call, storable
from langgraph_reflexion.models.client import Client
from langgraph_reflexion.models.prices import NO_USAGE, add_usage
from langgraph_reflexion.nodes.node import Update
from langgraph_reflexion.prompts import Prompts
from langgraph_reflexion.state import Reflection, ReflexionState, Step, Usage
from langgraph_reflexion.strategies import Feedback, remember, status_line


class Reflect:
    """Verbal reinforcement (M_sr, section 3 of the paper): task, trajectory, verdict and memory become a reflection.

    Args:
        client: The model that writes the reflection.
        prompts: The domain's templates and its two examples.
        feedback: How much of the verdict the model is told.
        memory_size: Ω, how many reflections are kept.
        seed: The run's seed.
        truncation: How many tokens the trajectory may have before its longest observations are left out.
        with_memory: Whether the model is shown its earlier reflections.
        mapper: Draws the memory map that the model is shown; none unless given.
    """

    def __init__(
        self,
        client: Client,
        prompts: Prompts,
        feedback: Feedback,
        memory_size: int,
        seed: int,
        *,
        truncation: int | None = None,
        with_memory: bool = True,
        mapper: Mapper | None = None,
    ) -> None:
        self.client = client
        self.prompts = prompts
        self.feedback = feedback
        self.memory_size = memory_size
        self.seed = seed
        self.truncation = truncation
        self.with_memory = with_memory
        self.mapper = mapper

    async def __call__(self, state: ReflexionState, config: RunnableConfig) -> Update:
        """Write the memory, the new reflection at its end."""

        def render(steps: list[Step]) -> list[BaseMessage]:
            failed = self.prompts.render(
                "failed_trial",
                observation=opening_of(state, self.prompts),
                steps=without_longest(steps, self.truncation),
                status=status_line(state["evaluation"], self.feedback),
                reflections=state["reflections"] if self.with_memory else [],
                memory_map=self.mapper.text(state) if self.mapper else "",
            )
            failed = with_lessons(failed, state, self.prompts)
            instruction = self.prompts.render("reflect", examples=self.prompts.reflections)
            return [SystemMessage(instruction), HumanMessage(failed)]

        call = Call(self.seed, state["task"]["id"], state["trial"], "reflect")
        try:
            asked = await ask_about(self.client, render, state["trajectory"], state["room"], config, call)
            reflection = Reflection(trial=state["trial"], text=storable(asked.reply.text.strip()))
            memory, usage = await self.remember(state, reflection, config)
        except ModelFault as fault:
            if fault.permanent:
                raise
            return {"status": "fault", "fault": str(fault)}
        usage = add_usage(asked.usage, usage)
        account = {"usage": charged(state, "reflect", usage), "notes": noted(state, asked.notes)}
        return {
            "reflections": memory,
            # What the reflection has cost belongs to its trial, whose record is already there.
            "trials": [{**state["trials"][-1], **account}],
            **account,
        }

    async def remember(
        self, state: ReflexionState, reflection: Reflection, config: RunnableConfig
    ) -> tuple[list[Reflection], Usage]:
        """The memory with one more reflection, of which the last Ω are kept, and what it cost to put it together."""
        return remember(state["reflections"], reflection, self.memory_size), NO_USAGE
