"""What a sample's trials come to, as Inspect's scores. They are read off its store, so a log can be scored again."""

from typing import Any

from inspect_ai.scorer import CORRECT, INCORRECT, Score, Scorer, Target, accuracy, mean, scorer, stderr
from inspect_ai.solver import TaskState

from langgraph_reflexion.adapters.inspect.sample import Row, Sampled, answer_of


@scorer(metrics=[accuracy(), stderr()])
def solved() -> Scorer:
    """Whether the answer that the loop returns is right in truth: hidden tests, gold answer, the goal reached.

    Not what the evaluator said of it: that is `verdict` in the score's metadata. A task whose truth cannot be known
    is not scored.
    """

    async def score(state: TaskState, target: Target) -> Score:
        sampled = state.store_as(Sampled)
        rows = sampled.rows
        answer = answer_of(rows)
        known: dict[str, Any] = {"answer": answer["answer"] if answer else None, "explanation": _told(rows)}
        known["metadata"] = {
            "status": sampled.status,
            "verdict": answer["verdict"] if answer else None,
            "trials": len(rows),
            "max_trials": sampled.max_trials,
            "resumed": sampled.resumed,
            "solved_by_trial": _curve(sampled),
            "stop_reasons": [row["stop_reason"] for row in rows],
            "measures": answer["measures"] if answer else {},
        }
        if why := _unknowable(sampled):
            return Score.unscored(reason=why, **known)
        return Score(value=CORRECT if answer and answer["success"] else INCORRECT, **known)

    return score


@scorer(metrics={"*": [mean()]})
def solved_by_trial() -> Scorer:
    """The same after each trial, from the first to the last that a task may have; its means are the success curve."""

    async def score(state: TaskState, target: Target) -> Score:
        sampled = state.store_as(Sampled)
        if why := _unknowable(sampled):
            return Score.unscored(reason=why)
        return Score(value={f"trial {trial}": float(right) for trial, right in enumerate(_curve(sampled), 1)})

    return score


def _curve(sampled: Sampled) -> list[bool]:
    answers = [answer_of(sampled.rows[:trial]) for trial in range(1, sampled.max_trials + 1)]
    return [bool(answer and answer["success"]) for answer in answers]


def _unknowable(sampled: Sampled) -> str:
    """Why the sample counts for no rate; empty where it does."""
    rows = sampled.rows
    if any(not row.get("gradable", True) for row in rows):
        return "the task has no truth that could be known"
    if not sampled.has_truth:
        return "an agent alone has no environment that knows the truth"
    return ""


def _told(rows: list[Row]) -> str:
    """The trials in a table, for the viewer."""
    words: dict[Any, str] = {True: "yes", False: "no", None: "unknown"}
    lines = ["| trial | right | verdict | ended | actions |", "| --- | --- | --- | --- | --- |"]
    for row in rows:
        cells = (row["trial"], words[row["success"]], words[row["verdict"]], row["stop_reason"], row["actions"])
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)
