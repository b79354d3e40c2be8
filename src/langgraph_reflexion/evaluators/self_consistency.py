"""Self-consistency as an evaluator: is the answer what the actor mostly says? (Wang et al. 2022)."""

import asyncio
from typing import cast

from langchain_core.runnables import RunnableConfig

from langgraph_reflexion.actors.base import Actor
from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.evaluators.base import STOPPED, Evaluator, Scored
from langgraph_reflexion.models.calls import Call
from langgraph_reflexion.models.usage import NO_USAGE, add_usage
from langgraph_reflexion.state import ReflexionState


class SelfConsistencyEvaluator(Evaluator):
    """Asks the actor again what it answered, and accepts the answer where most samples say the same.

    The truth is not needed. Samples come from the very prompt that the answer was given to, each with a seed of its
    own; so the model has to answer at random (a temperature above 0), or it cannot but agree with itself. A mistake
    that it makes every time passes.

    Args:
        actor: Whose answers they are.
        seed: The run's seed.
        samples: How many more times it is asked; odd, so that there is a majority.

    Raises:
        ConfigurationError: the number is not odd, or below 1.
    """

    def __init__(self, actor: Actor, seed: int, samples: int) -> None:
        if samples < 1 or samples % 2 == 0:
            raise ConfigurationError(f"self-consistency:{samples}: an odd number is needed for a majority")
        self.actor = actor
        self.seed = seed
        self.samples = samples

    async def evaluate(self, state: ReflexionState, config: RunnableConfig) -> Scored:
        """1 where most samples do what the last action did, else their share; 0 where it ended no task."""
        before, last = state["trajectory"][:-1], state["trajectory"][-1:]
        answer = last[0]["action"] if last else None
        if state["stop_reason"] != "terminated" or answer is None or not answer["name"]:
            return Scored(0.0, STOPPED.get(state["stop_reason"] or "", ""))
        asked = cast(ReflexionState, {**state, "trajectory": before})
        which = (state["task"]["id"], state["trial"])
        calls = [Call(self.seed, *which, f"evaluate {number}") for number in range(1, self.samples + 1)]
        asking = [self.actor.choose(asked, config, call) for call in calls]
        settled = await asyncio.gather(*asking, return_exceptions=True)
        # None is left behind on its way, where nobody would pay for it.
        for each in settled:
            if isinstance(each, BaseException):
                raise each
        choices = [choice for choice in settled if not isinstance(choice, BaseException)]
        said = [choice.decision["action"] for choice in choices]
        agreed = sum(action is not None and self.actor.environment.same(action, answer) for action in said)
        return Scored(
            1.0 if agreed * 2 > self.samples else agreed / self.samples,
            f"Asked {self.samples} more times, the same was answered {agreed} times.",
            add_usage(NO_USAGE, *(choice.asked.usage for choice in choices)),
            [note for choice in choices for note in choice.asked.notes],
        )
