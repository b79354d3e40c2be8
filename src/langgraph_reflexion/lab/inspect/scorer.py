"""A sample's trials in Inspect's store, and scores that are computed from it, so that a log can be scored again."""

from collections.abc import Sequence
from typing import Any, cast

from inspect_ai.scorer import CORRECT, INCORRECT, Score, Scorer, Target, accuracy, mean, scorer, stderr
from inspect_ai.solver import TaskState
from inspect_ai.util import StoreModel
from pydantic import Field

from langgraph_reflexion.lab.experiments.metrics import final_answer
from langgraph_reflexion.lab.experiments.rows import TrialRow

AnsweredRow = dict[str, Any]
"""A finished trial: a row of a run's record (`experiments.rows.TrialRow`), with the trial's `answer`."""


class SampleStore(StoreModel):
    """A sample's task and trials, which Inspect writes to the log."""

    epoch: int = 1
    task: dict[str, Any] = Field(default_factory=dict)
    """The environment's task; empty unless `sample_context` has run."""
    status: str = "running"
    """The task's status (`state.Status`)."""
    has_truth: bool = True
    """Whether there is an environment, which knows the truth."""
    max_trials: int = 0
    rows: list[dict[str, Any]] = Field(default_factory=list)
    """The finished trials, in order."""


def answer_of(rows: Sequence[AnsweredRow]) -> AnsweredRow | None:
    """Return the trial whose answer the loop returns; None before the first trial."""
    if not rows:
        return None
    # Inspect's store has rows as plain dictionaries.
    trials = cast(Sequence[TrialRow], rows)
    return cast(AnsweredRow, final_answer(trials))


@scorer(metrics=[accuracy(), stderr()])
def solved() -> Scorer:
    """Score whether the loop's answer is right, by hidden tests, the gold answer or the goal.

    The evaluator's verdict is in the score's metadata. A task whose truth is unknown is not scored.
    """

    async def score(state: TaskState, target: Target) -> Score:
        sampled = state.store_as(SampleStore)
        rows = sampled.rows
        answer = answer_of(rows) or _NO_ANSWER
        metadata = {
            "status": sampled.status,
            "verdict": answer["verdict"],
            "trials": len(rows),
            "max_trials": sampled.max_trials,
            "solved_by_trial": _curve(sampled),
            "stop_reasons": [row["stop_reason"] for row in rows],
            "measures": answer["measures"],
        }
        unknowable = _unknowable(sampled)
        if unknowable:
            return Score.unscored(reason=unknowable, answer=answer["answer"], metadata=metadata)
        value = INCORRECT
        if answer["success"]:
            value = CORRECT
        return Score(value=value, answer=answer["answer"], metadata=metadata)

    return score


_NO_ANSWER: AnsweredRow = {"answer": None, "verdict": None, "success": False, "measures": {}}
"""What stands for the answer's trial before the first one has ended."""


@scorer(metrics={"*": [mean()]})
def solved_by_trial() -> Scorer:
    """Score the same after each trial, up to `max_trials`. The means are the success curve."""

    async def score(state: TaskState, target: Target) -> Score:
        sampled = state.store_as(SampleStore)
        unknowable = _unknowable(sampled)
        if unknowable:
            return Score.unscored(reason=unknowable)
        curve = enumerate(_curve(sampled), 1)
        value = {f"trial {trial}": float(right) for trial, right in curve}
        return Score(value=value)

    return score


def _curve(sampled: SampleStore) -> list[bool]:
    """Return whether the task counts as solved after each trial; nothing changes after the last one."""
    solved_by = []
    for trial in range(1, sampled.max_trials + 1):
        answer = answer_of(sampled.rows[:trial]) or _NO_ANSWER
        solved_by.append(bool(answer["success"]))
    return solved_by


def _unknowable(sampled: SampleStore) -> str:
    """Return why the sample counts in no rate; empty if it does."""
    rows = sampled.rows
    if any(not row.get("gradable", True) for row in rows):
        return "the truth of the task is unknown"
    if not sampled.has_truth:
        return "an agent without an environment has no known truth"
    return ""
