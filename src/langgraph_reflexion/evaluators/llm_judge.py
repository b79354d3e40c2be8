"""A model as the evaluator, without access to the truth."""

import re

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig

from langgraph_reflexion.context import call_with_trajectory, opening_of
from langgraph_reflexion.evaluators.base import Evaluator, Score
from langgraph_reflexion.models.calls import CallId
from langgraph_reflexion.models.client import Client
from langgraph_reflexion.prompts import Prompts
from langgraph_reflexion.state import ReflexionState, Step


class LLMEvaluator(Evaluator):
    """A model that reads the trajectory and says whether the task was solved (the paper's GPT variant).

    Args:
        client: The model that judges.
        prompts: The domain's templates.
        seed: The run's seed.
    """

    def __init__(self, client: Client, prompts: Prompts, seed: int) -> None:
        self.client = client
        self.prompts = prompts
        self.seed = seed

    async def evaluate(self, state: ReflexionState, config: RunnableConfig) -> Score:
        """Ask the model; anything but a clear yes is a no."""

        def render(steps: list[Step]) -> list[BaseMessage]:
            trial = self.prompts.render("trial", observation=opening_of(state, self.prompts), steps=steps)
            return [SystemMessage(self.prompts.render("judge")), HumanMessage(trial)]

        call = CallId(self.seed, state["task"]["id"], state["trial"], "evaluate")
        reply = await call_with_trajectory(
            self.client, render, state["trajectory"], state["observation_budget"], config, call
        )
        verdicts = re.findall(r"^[^\w\n]*verdict\W+(yes|no)\b", reply.text, re.IGNORECASE | re.MULTILINE)
        solved = bool(verdicts) and verdicts[-1].lower() == "yes"
        return Score(float(solved), reply.text, reply.spent)
