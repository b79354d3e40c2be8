"""Self-consistency as the evaluator (Wang et al. 2022): is the answer the actor's majority answer?"""

import asyncio
from typing import cast

from langchain_core.runnables import RunnableConfig

from langgraph_reflexion.actors.base import Actor
from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.evaluators.base import STOPPED, Evaluator, Score
from langgraph_reflexion.models.calls import CallId, Spent
from langgraph_reflexion.state import ReflexionState


class SelfConsistencyEvaluator(Evaluator):
    """Samples the actor's last action again, and accepts it if most samples are equivalent to it.

    It needs no truth. The samples have the same prompt and different seeds, so the model needs a temperature above 0,
    or all samples agree. A systematic mistake passes.

    Args:
        actor: The actor.
        seed: The run's seed.
        samples: Number of samples; odd, so that there is a majority.

    Raises:
        ConfigurationError: the number is not odd, or below 1.
    """

    def __init__(self, actor: Actor, seed: int, samples: int) -> None:
        if samples < 1 or samples % 2 == 0:
            raise ConfigurationError(f"self-consistency:{samples}: an odd number is needed for a majority")
        self.actor = actor
        self.seed = seed
        self.samples = samples

    async def evaluate(self, state: ReflexionState, config: RunnableConfig) -> Score:
        """Return 1 if most samples agree, else their share; 0 if the last action did not end the task."""
        before, last = state["trajectory"][:-1], state["trajectory"][-1:]
        answer = last[0]["action"] if last else None
        if state["stop_reason"] != "terminated" or answer is None or not answer["name"]:
            return Score(0.0, STOPPED.get(state["stop_reason"] or "", ""))
        asked = cast(ReflexionState, {**state, "trajectory": before})
        call = CallId(self.seed, state["task"]["id"], state["trial"], "evaluate")
        calls = [call._replace(name=f"evaluate {number}") for number in range(1, self.samples + 1)]
        sampling = [self.actor.choose(asked, config, call) for call in calls]
        settled = await asyncio.gather(*sampling, return_exceptions=True)
        # Wait for all samples, so that every call is accounted for.
        for each in settled:
            if isinstance(each, BaseException):
                raise each
        samples = [sample for sample in settled if not isinstance(sample, BaseException)]
        actions = [decision["action"] for decision, _ in samples]
        agreed = sum(action is not None and self.actor.environment.equivalent(action, answer) for action in actions)
        return Score(
            1.0 if agreed * 2 > self.samples else agreed / self.samples,
            f"Of {self.samples} more samples, {agreed} gave the same answer.",
            sum((reply.spent for _, reply in samples), Spent()),
        )
