"""The interface of evaluators, and those that call no model."""

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, TypeVar

from langchain_core.runnables import RunnableConfig

from langgraph_reflexion.envs.base import Task
from langgraph_reflexion.errors import ConfigurationError, ModelFault
from langgraph_reflexion.models.client import Client
from langgraph_reflexion.models.faults import outside_fault
from langgraph_reflexion.prompts import Prompts
from langgraph_reflexion.state import ReflexionState
from langgraph_reflexion.support.retries import Retries

T = TypeVar("T")

TRUTH = "truth="
"""The key of `task["prepared"]` under which `truth=` finds what it has prepared itself; no evaluator sees it."""


class Score(NamedTuple):
    """An evaluator's score of a trial."""

    score: float
    """1.0 is solved."""
    feedback: str = ""
    """The reason in words."""
    success: bool | None = None
    """The verdict; None compares the score with the profile's threshold."""
    unverified: bool = False
    """Whether nothing could be checked, so that the score says nothing about the trial."""
    prepared: dict[str, Any] | None = None
    """Changes of what `prepare` returned."""
    by_model: bool = False
    """Whether only chat models have refused the trial, where other evaluators have judged it, too."""

    def accepts(self, threshold: float) -> bool:
        """Return the verdict, where scores from `threshold` on are a success."""
        if self.success is None:
            return self.score >= threshold
        return self.success


class Evaluator(ABC):
    """Scores finished trials (M_e, section 3 of the paper); the graph compares the score with the threshold.

    Attributes:
        oracle: Whether the score is the environment's truth, as in the papers' ALFWorld and HotPotQA.
        needs_world: Whether it is to find a wrapped agent's world in `state["world"]`: what `make` returned beside
            the agent, or the `World`.
        by_model: Whether a chat model judges, so that the same answer may get another verdict. Set it in an evaluator
            of your own that asks one.
        teaches: Whether its verdicts may become lessons for other tasks, and count in the statistics of lessons.
    """

    oracle: bool = False
    needs_world: bool = False
    by_model: bool = False
    teaches: bool = True

    @property
    def label(self) -> str:
        """Its name in the feedback, where several evaluators score a trial."""
        return type(self).__name__

    def bind(self, client: Client, prompts: Prompts, seed: int) -> "Evaluator":
        """Return the evaluator with what it needs of the graph that it is built into; itself if it needs nothing.

        Args:
            client: The model that judges, with retries and accounts.
            prompts: The domain's templates.
            seed: The run's seed.

        Raises:
            ConfigurationError: there is no model of the name that it was given.
        """
        return self

    def expect(self, task: Task) -> None:  # noqa: B027 - most need nothing
        """Expect a task to have what a verdict on it needs, such as a reference answer.

        Asked about each task before a run begins, and again when the task does. It calls nothing outside.

        Raises:
            ConfigurationError: the task lacks it.
        """

    async def prepare(self, task: Task, config: RunnableConfig) -> dict[str, Any]:
        """Return plain JSON that is made once per task, such as tests, and kept in the state as `task["prepared"]`.

        Raises:
            Fault: it cannot be made. The trial is recorded as a fault.
        """
        return {}

    @abstractmethod
    async def evaluate(self, state: ReflexionState, config: RunnableConfig) -> Score:
        """Score the trial that has just ended. What a service that is down makes it raise is retried.

        Raises:
            Fault: there is no score. The trial is recorded as a fault.
        """


def expect_on_scale(evaluator: Evaluator, score: Score, threshold: float) -> None:
    """Refuse a score that cannot be compared with the threshold.

    Raises:
        ValueError: it is not finite.
        ConfigurationError: it is on another scale than the threshold.
    """
    # Every comparison with `nan` is false: such a score has no place among those of other trials.
    if not math.isfinite(score.score):
        raise ValueError(f"an evaluator returns a finite score, not {score.score!r}")
    if evaluator.oracle:
        # A reward is on the environment's own scale.
        return
    # Under a threshold above 1, the evaluator has a scale of its own.
    is_usual_scale = threshold <= 1.0
    if is_usual_scale and score.score > 1.0:
        raise ConfigurationError(
            f"the evaluator returned the score {score.score:g}, and scores are at most 1, which is a success: divide "
            "it by the highest score, or give a profile with a threshold on its scale, such as "
            "replace(PROFILES['paper'], threshold=8)"
        )


async def tried(retries: Retries, call: Callable[[], Awaitable[T]], who: str = "the evaluator") -> T:
    """Call an evaluator, again after trouble outside, of which `who` is said to have had it.

    Raises:
        Fault: the last attempt's.
    """

    async def attempt() -> T | ModelFault:
        try:
            return await call()
        except ModelFault as fault:
            # Returned, and not raised, so that it is not tried again: the client has retried already.
            return fault
        except Exception as error:
            fault_outside = outside_fault(error, who)
            # A bug, or a fault already.
            if fault_outside is None or fault_outside is error:
                raise
            raise fault_outside from error

    outcome = await retries(attempt)
    if isinstance(outcome, ModelFault):
        raise outcome
    return outcome


class EnvironmentEvaluator(Evaluator):
    """The environment's own signal: the reward after the last action, 0 without one."""

    oracle = True

    async def evaluate(self, state: ReflexionState, config: RunnableConfig) -> Score:
        reward = state["episode"]["reward"] or 0.0
        if reward < 1.0:
            return Score(reward, how_it_ended(state))
        return Score(reward)


class NoEvaluator(Evaluator):
    """Judges nothing, so that all trials run: the ablation without tests (Table 3 of the paper)."""

    async def evaluate(self, state: ReflexionState, config: RunnableConfig) -> Score:
        return Score(0.0, "Tests were left out: it is unknown whether this is right.", unverified=True)


STOPPED = {
    "terminated": "The trial came to its end without success.",
    "truncated": "The trial was ended by a limit of the environment.",
    "hallucination": "The trial was stopped because the same actions met the same observations again and again.",
    "inefficient planning": "The trial was stopped because it took too many actions.",
}
"""The end of a failed trial in words, by its `stop_reason`."""


def how_it_ended(state: ReflexionState) -> str:
    """Return the end of a failed trial in words; empty if its reason is not the loop's."""
    return STOPPED.get(state["stop_reason"] or "", "")


def result_in(state: ReflexionState) -> Any:
    """Return a wrapped agent's result of the current trial, or None."""
    attempt = state.get("attempt")
    if attempt is None:
        return None
    return attempt["result"]


def reference_of(task: Task) -> Any:
    """Return a task's reference answer, or None."""
    return task.get("data", {}).get("reference")


def expect_reference(task: Task, evaluator: str) -> None:
    """Raise ConfigurationError if a task has no reference answer, and the evaluator needs one."""
    if reference_of(task) is None:
        raise ConfigurationError(
            f"the evaluator {evaluator} needs a reference answer, and the task {task['id']!r} has none: give it as "
            "data={'reference': ...} of the task, or name the task file's column with --answer-field"
        )


class ExactEvaluator(Evaluator):
    """Accepts a result that equals `task["data"]["reference"]`, the reference answer, except for whitespace."""

    oracle = True

    def expect(self, task: Task) -> None:
        expect_reference(task, "'exact'")

    async def evaluate(self, state: ReflexionState, config: RunnableConfig) -> Score:
        reference = reference_of(state["task"])
        result = result_in(state)
        if result in (None, ""):
            return Score(0.0, "Nothing was returned.")
        if _normalized(result) == _normalized(reference):
            return Score(1.0)
        # The feedback must not give the answer away.
        return Score(0.0, "The answer differs from the reference answer.")


def _normalized(value: Any) -> str:
    """Return a result as text, in which whitespace does not matter."""
    if not isinstance(value, str):
        # Objects are the same in any order of their keys.
        value = json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
    return " ".join(value.split())
