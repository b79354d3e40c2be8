"""reflect: a failed trial is turned into a lesson."""

from langchain_core.messages import HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig

from langgraph_reflexion.errors import ModelFault
from langgraph_reflexion.graph.memory import Feedback, remember, status_line
from langgraph_reflexion.graph.state import Reflection, ReflexionState
from langgraph_reflexion.nodes.model import ChatModel, add_usage, ask, derive_seed
from langgraph_reflexion.nodes.node import Update
from langgraph_reflexion.prompts import Prompts


class Reflect:
    """Verbal reinforcement (M_sr, section 3 of the paper): task, trajectory, verdict and memory become a reflection.

    Args:
        model: Writes the reflection.
        prompts: The domain's templates and its two examples.
        feedback: How much of the verdict the model is told.
        memory_size: Ω, how many reflections are kept.
        seed: The run's seed.
    """

    def __init__(self, model: ChatModel, prompts: Prompts, feedback: Feedback, memory_size: int, seed: int) -> None:
        self.model = model
        self.prompts = prompts
        self.feedback = feedback
        self.memory_size = memory_size
        self.seed = seed

    async def __call__(self, state: ReflexionState, config: RunnableConfig) -> Update:
        """Write the memory, the new reflection at its end."""
        messages = [
            SystemMessage(self.prompts.render("reflect", examples=self.prompts.reflections)),
            HumanMessage(
                self.prompts.render(
                    "failed_trial",
                    observation=state["episode"]["observation"],
                    steps=state["trajectory"],
                    status=status_line(state["evaluation"], self.feedback),
                    reflections=state["reflections"],
                )
            ),
        ]
        seed = derive_seed(self.seed, state["task"]["id"], state["trial"], "reflect")
        try:
            reply, usage = await ask(self.model, messages, config, seed=seed)
        except ModelFault as fault:
            if fault.permanent:
                raise
            return {"status": "fault", "fault": str(fault)}
        reflection = Reflection(trial=state["trial"], text=reply.text.strip())
        return {
            "reflections": remember(state["reflections"], reflection, self.memory_size),
            "usage": add_usage(state["usage"], usage),
        }
