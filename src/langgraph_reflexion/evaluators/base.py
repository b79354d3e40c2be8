"""Evaluators: what gives a finished trial its score."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, cast

from langchain_core.runnables import RunnableConfig

from langgraph_reflexion.envs.base import Task
from langgraph_reflexion.models.usage import NO_USAGE, Usage
from langgraph_reflexion.state import ReflexionState


class Scored(NamedTuple):
    """What an evaluator says of a trial."""

    score: float
    """1.0 is solved."""
    feedback: str = ""
    """Why, in words."""
    usage: Usage = NO_USAGE
    """What the judgement cost."""
    notes: Sequence[str] = ()
    """What was not as it was meant to be, for the record."""
    prepared: dict[str, Any] | None = None
    """What changes of that which was made once for the task."""


class Prepared(NamedTuple):
    """What an evaluator makes once per task."""

    data: dict[str, Any]
    """What it has made, as JSON."""
    usage: Usage = NO_USAGE
    """What making it cost."""
    notes: Sequence[str] = ()
    """What was not as it was meant to be, for the record."""


class Evaluator(ABC):
    """Gives a finished trial its score (M_e); the graph makes a verdict of it by the threshold.

    Attributes:
        oracle: Whether the score is the environment's truth, as in the papers' ALFWorld and HotPotQA.
    """

    oracle: ClassVar[bool] = False

    async def prepare(self, task: Task, config: RunnableConfig) -> Prepared:
        """Make what is made once per task, such as tests; it is kept in the state as `task["prepared"]`.

        Raises:
            Fault: it cannot be made. The trial is recorded as a fault.
        """
        return Prepared({})

    @abstractmethod
    async def evaluate(self, state: ReflexionState, config: RunnableConfig) -> Scored:
        """Score the trial that has just ended.

        Raises:
            Fault: no verdict can be had. The trial is recorded as a fault.
        """


class EnvironmentEvaluator(Evaluator):
    """The environment's own signal."""

    oracle = True

    async def evaluate(self, state: ReflexionState, config: RunnableConfig) -> Scored:
        """The reward after the last action; 0 where there was none."""
        reward = state["episode"]["reward"] or 0.0
        return Scored(reward, STOPPED.get(state["stop_reason"] or "", "") if reward < 1.0 else "")


class Untested(Evaluator):
    """No verdict at all, so that every trial runs: the ablation without tests (Table 3 of the paper)."""

    async def evaluate(self, state: ReflexionState, config: RunnableConfig) -> Scored:
        """Say that tests were left out."""
        return Scored(0.0, "Tests were left out: whether it is right is not known.")


STOPPED = {
    "terminated": "The trial came to its end without success.",
    "truncated": "The trial was ended by a limit of the environment.",
    "hallucination": "The trial was stopped because the same actions met the same observations again and again.",
    "inefficient planning": "The trial was stopped because it took too many actions.",
}
"""How the end of a trial that failed is put in words."""


def result_in(state: ReflexionState) -> Any:
    """What a wrapped agent returned in the current trial; None where it returned nothing."""
    return (cast(dict[str, Any], state).get("attempt") or {}).get("result")
