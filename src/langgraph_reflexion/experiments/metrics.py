"""Metrics of a run's rows: the success curve, failures by reason, verdicts against the truth."""

from collections import Counter
from collections.abc import Sequence
from itertools import accumulate, groupby

from langgraph_reflexion.experiments.rows import TrialRow


def solved_by_trial(rows: Sequence[TrialRow], trials: int) -> list[int]:
    """Return the number of tasks solved at each trial, cumulatively.

    A task counts as solved at trial t if the answer that the loop would return after t trials is truly right:
    the trial that the verdict accepted, and without one the best-scored so far, the latest among equals. A
    task that ended earlier keeps its last value.

    Args:
        rows: The rows of a run, in task-then-trial order.
        trials: How many trials the curve has.

    Returns:
        One count for each trial from 1 to `trials`.
    """
    return [sum(bool(row["success"]) for row in answers) for answers in returned_by_trial(rows, trials)]


def measures_by_trial(rows: Sequence[TrialRow], trials: int, tasks: int) -> dict[str, list[float]]:
    """The environment's measures of the answers that the loop would return, as means over all tasks.

    As in the official evaluation of question answering, a task without an answer counts as 0.

    Args:
        rows: The rows of a run, in task-then-trial order.
        trials: How many trials the curve has.
        tasks: How many tasks there are.

    Returns:
        By name, one mean for each trial from 1 to `trials`, as for `solved_by_trial`.
    """
    # Runs that were recorded before there were measures have none.
    names = dict.fromkeys(name for row in rows for name in row.get("measures", {}))
    by_trial = returned_by_trial(rows, trials)
    return {
        name: [round(sum(row["measures"].get(name, 0.0) for row in answers) / tasks, 4) for answers in by_trial]
        for name in names
    }


def returned_by_trial(rows: Sequence[TrialRow], trials: int) -> list[list[TrialRow]]:
    """For each trial the rows of the answers that the loop would return after it, one for each task that has any."""
    answers: list[list[TrialRow]] = [[] for _ in range(trials)]
    for _, group in groupby(rows, key=lambda row: row["task_id"]):
        task = list(group)
        for trial in range(1, trials + 1):
            if done := [row for row in task if row["trial"] <= trial]:
                answers[trial - 1].append(returned(done))
    return answers


def failures_by_trial(rows: Sequence[TrialRow], trials: int) -> list[dict[str, int]]:
    """Why trials did not solve their task, counted for each trial (Figure 3b of the paper).

    By its own end, with an answer that is not right: `wrong answer`. Stopped by the heuristic: `hallucination` or
    `inefficient planning`, or a reason of your own heuristic. By a limit of the environment: `truncated`. A `fault`
    is counted beside them, and is none of the agent's failures; a trial that a budget cut short is not counted.
    """
    counts: list[Counter[str]] = [Counter() for _ in range(trials)]
    for row in rows:
        if row["trial"] <= trials and (reason := failure(row)):
            counts[row["trial"] - 1][reason] += 1
    return [dict(sorted(count.items())) for count in counts]


def failure(row: TrialRow) -> str | None:
    """Why a trial did not solve its task; None where it did, and where a budget cut it short."""
    truth = row["verdict"] if row["success"] is None else row["success"]
    if row["stop_reason"] == "fault":
        return "fault"
    if truth or row["stop_reason"] == "budget":
        return None
    return "wrong answer" if row["stop_reason"] == "terminated" else row["stop_reason"]


def tokens_by_trial(rows: Sequence[TrialRow], trials: int) -> list[int]:
    """The tokens that all tasks together have spent after each trial, sent and received."""
    spent = [0] * trials
    for row in rows:
        if row["trial"] <= trials:
            spent[row["trial"] - 1] += tokens(row)
    return list(accumulate(spent))


def tokens(row: TrialRow) -> int:
    """The tokens of a trial, its verdict and its reflection, sent and received."""
    return row["input_tokens"] + row["output_tokens"]


def verdicts(rows: Sequence[TrialRow]) -> dict[str, int]:
    """Count right and wrong verdicts over the trials where verdict and truth are known."""
    counts = dict.fromkeys(("true_positive", "false_negative", "false_positive", "true_negative"), 0)
    for row in rows:
        if row["verdict"] is not None and row["success"] is not None:
            right = "true" if row["verdict"] == row["success"] else "false"
            counts[f"{right}_{'positive' if row['verdict'] else 'negative'}"] += 1
    return counts


def rates(counts: dict[str, int]) -> dict[str, float | None]:
    """The counts of `verdicts` as shares of the trials with the same verdict, as in Table 2 of the paper.

    A wrong yes is a share of all that were accepted, and a wrong no of all that were not; None where there were none.
    """
    positive = counts["true_positive"] + counts["false_positive"]
    negative = counts["true_negative"] + counts["false_negative"]
    of = {name: positive if name.endswith("positive") else negative for name in counts}
    return {name: round(count / of[name], 4) if of[name] else None for name, count in counts.items()}


def returned(done: Sequence[TrialRow]) -> TrialRow:
    """The row of the answer that the loop would return after these trials of a task."""
    for row in done:
        if row["verdict"]:
            return row
    return max(reversed(done), key=lambda row: float("-inf") if row["score"] is None else row["score"])
