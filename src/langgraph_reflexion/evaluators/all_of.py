"""Several evaluators in one: a trial is accepted if all of them accept it."""

from collections.abc import Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig

from langgraph_reflexion.envs.base import Task
from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.evaluators.base import Evaluator, Score, expect_on_scale
from langgraph_reflexion.state import ReflexionState

PREPARED = "evaluators"
"""The key of `task["prepared"]` under which each evaluator finds what it has prepared itself, by its number."""


class AllOf:
    """Evaluators that all have to accept a trial, in this order: cheap ones first, and a judge last.

    One is asked only if those before it accept, so that a judge after a check can only veto. The score is the lowest
    one, and the feedback says whose it is.

    Args:
        evaluators: Whatever `create_reflexion(evaluator=...)` takes: names, functions, and evaluators.
        ask_all: Whether all are asked in any case, so that the feedback has the reasons of all.

    Raises:
        ConfigurationError: there are none.
    """

    def __init__(self, *evaluators: Any, ask_all: bool = False) -> None:
        if not evaluators:
            raise ConfigurationError("AllOf needs at least one evaluator")
        self.evaluators = evaluators
        self.ask_all = ask_all


def parts_of(evaluator: object) -> Sequence[Any]:
    """Return what `create_reflexion(evaluator=...)` is given: several evaluators, or the one."""
    if isinstance(evaluator, AllOf):
        return evaluator.evaluators
    if isinstance(evaluator, list):
        return evaluator
    return [evaluator]


class AllOfEvaluator(Evaluator):
    """`AllOf` within a graph.

    Args:
        evaluators: The evaluators, in the order in which they are asked.
        ask_all: Whether all are asked.
        threshold: The score from which on one accepts a trial.
    """

    def __init__(self, evaluators: Sequence[Evaluator], threshold: float, *, ask_all: bool) -> None:
        self.evaluators = evaluators
        self.threshold = threshold
        self.ask_all = ask_all
        self.needs_world = any(each.needs_world for each in evaluators)
        # A stranger's criteria in one of them decide the verdict of all, so no lesson may come of it.
        self.teaches = all(each.teaches for each in evaluators)

    def expect(self, task: Task) -> None:
        for evaluator in self.evaluators:
            evaluator.expect(task)

    async def prepare(self, task: Task, config: RunnableConfig) -> dict[str, Any]:
        """Return what each evaluator prepares, by its number.

        Raises:
            Fault: one cannot prepare the task.
        """
        prepared: dict[str, Any] = {}
        for number, evaluator in enumerate(self.evaluators, 1):
            own = await evaluator.prepare(task, config)
            if own:
                prepared[str(number)] = own
        if not prepared:
            return {}
        return {PREPARED: prepared}

    async def evaluate(self, state: ReflexionState, config: RunnableConfig) -> Score:
        """Ask the evaluators until one does not accept the trial, or all of them."""
        scores: list[Score] = []
        refusals: list[Score] = []
        refused_by: list[Evaluator] = []
        feedback: list[str] = []
        has_changed = False
        # A copy, as the state changes only by a node's update.
        prepared = dict(_prepared(state).get(PREPARED, {}))
        for number, evaluator in enumerate(self.evaluators, 1):
            key = str(number)
            own = prepared.get(key, {})
            score = await evaluator.evaluate(_as_seen_by(state, own), config)
            # Each score is checked here: the graph sees only the lowest one, which may hide another above the scale.
            expect_on_scale(evaluator, score, self.threshold)
            scores.append(score)
            if score.feedback:
                feedback.append(f"{evaluator.label}: {score.feedback}")
            if score.prepared is not None:
                has_changed = True
                # A score holds only what has changed.
                updated = dict(own)
                updated.update(score.prepared)
                prepared[key] = updated
            if score.accepts(self.threshold):
                continue
            refusals.append(score)
            refused_by.append(evaluator)
            if not self.ask_all:
                break
        # Those that refuse decide the verdict: that another evaluator could not check the trial does not matter then.
        deciding = scores
        by_model = False
        if refusals:
            deciding = refusals
            by_model = all(evaluator.by_model for evaluator in refused_by)
        changed = None
        if has_changed:
            changed = {PREPARED: prepared}
        return Score(
            score=min(score.score for score in scores),
            feedback="\n\n".join(feedback),
            success=not refusals,
            # One verified score is enough: it settles the verdict, whatever else could not be verified.
            unverified=all(score.unverified for score in deciding),
            prepared=changed,
            by_model=by_model,
        )


def _prepared(state: ReflexionState) -> dict[str, Any]:
    """Return what the environment and the evaluators have prepared for the task."""
    return state["task"].get("prepared", {})


def _as_seen_by(state: ReflexionState, own: dict[str, Any]) -> ReflexionState:
    """Return the state in which an evaluator finds what it has prepared itself, as if it were alone."""
    prepared = dict(_prepared(state))
    # What the environment has prepared stays visible; what other evaluators have prepared does not.
    prepared.pop(PREPARED, None)
    prepared.update(own)
    task = state["task"].copy()
    task["prepared"] = prepared
    seen = state.copy()
    seen["task"] = task
    return seen
