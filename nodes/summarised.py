"""Episodic memory for long runs: what no longer fits into the window is condensed instead of forgotten."""

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig

from langgraph_reflexion.context import ask_about
from langgraph_reflexion.models.calls import Call, storable
from langgraph_reflexion.models.prices import NO_USAGE
from langgraph_reflexion.nodes.reflect import Reflect
from langgraph_reflexion.state import Reflection, ReflexionState, Step, Usage

UP_TO_HERE = "(this trial, and all before it)"
"""What a note begins with that was put together."""


class SummarisingReflect(Reflect):
    """reflect, where the oldest reflections are put into one when there are more than Ω of them.

    The newest Ω - 1 stay as they are; what is older, an earlier summary among it, becomes one by one more model call.
    """

    async def remember(
        self, state: ReflexionState, reflection: Reflection, config: RunnableConfig
    ) -> tuple[list[Reflection], Usage]:
        """The memory with one more reflection, and what the call cost that it took.

        Raises:
            ModelFault: the model did not condense it.
        """
        memory = [*state["reflections"], reflection]
        if len(memory) <= self.memory_size:
            return memory, NO_USAGE
        older = memory[: len(memory) - self.memory_size + 1]

        def render(steps: list[Step]) -> list[BaseMessage]:
            told = self.prompts.render("condensed", reflections=older)
            return [SystemMessage(self.prompts.render("condense")), HumanMessage(told)]

        call = Call(self.seed, state["task"]["id"], state["trial"], "condense")
        asked = await ask_about(self.client, render, [], None, config, call)
        text = f"{UP_TO_HERE} {storable(asked.reply.text.strip())}"
        return [Reflection(trial=older[-1]["trial"], text=text), *memory[len(older) :]], asked.usage
