"""The evaluator that is a model: it reads the trajectory, without the truth."""

import re

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig

from langgraph_reflexion.context import ask_about, opening_of
from langgraph_reflexion.evaluators.base import Evaluator, Scored
from langgraph_reflexion.models.calls import Call
from langgraph_reflexion.models.client import Client
from langgraph_reflexion.prompts import Prompts
from langgraph_reflexion.state import ReflexionState, Step


class LLMEvaluator(Evaluator):
    """A model reads the trajectory and says whether the task was solved, without the truth (the paper's GPT variant).

    Args:
        client: The model that judges.
        prompts: The domain's templates.
        seed: The run's seed.
    """

    def __init__(self, client: Client, prompts: Prompts, seed: int) -> None:
        self.client = client
        self.prompts = prompts
        self.seed = seed

    async def evaluate(self, state: ReflexionState, config: RunnableConfig) -> Scored:
        """Ask the judge; anything but a clear yes is a no."""

        def render(steps: list[Step]) -> list[BaseMessage]:
            trial = self.prompts.render("trial", observation=opening_of(state, self.prompts), steps=steps)
            return [SystemMessage(self.prompts.render("judge")), HumanMessage(trial)]

        call = Call(self.seed, state["task"]["id"], state["trial"], "evaluate")
        asked = await ask_about(self.client, render, state["trajectory"], state["room"], config, call)
        text = asked.reply.text.strip()
        said = re.findall(r"^[^\w\n]*verdict\W+(yes|no)\b", text, re.IGNORECASE | re.MULTILINE)
        solved = bool(said) and said[-1].lower() == "yes"
        return Scored(float(solved), text, asked.usage, asked.notes)
