"""What a run's rows say: the success curve, failures by reason, verdicts against the truth."""

from collections import Counter
from collections.abc import Sequence
from itertools import groupby

from langgraph_reflexion.bench.rows import TrialRow


def solved_by_trial(rows: Sequence[TrialRow], trials: int) -> list[int]:
    """How many tasks were solved at each trial, cumulatively.

    A task counts as solved at trial t if the answer that the loop would return after t trials is truly right:
    the trial that the verdict accepted, and without one the best-scored so far, the latest among equals. A
    task that ended earlier keeps its last value.

    Args:
        rows: The rows of a run, in task-then-trial order.
        trials: How many trials the curve has.

    Returns:
        One count for each trial from 1 to `trials`.
    """
    return [sum(bool(row["success"]) for row in returned) for returned in returned_by_trial(rows, trials)]


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
        name: [round(sum(row["measures"].get(name, 0.0) for row in returned) / tasks, 4) for returned in by_trial]
        for name in names
    }


def returned_by_trial(rows: Sequence[TrialRow], trials: int) -> list[list[TrialRow]]:
    """For each trial the rows of the answers that the loop would return after it, one for each task that has any."""
    returned: list[list[TrialRow]] = [[] for _ in range(trials)]
    for _, group in groupby(rows, key=lambda row: row["task_id"]):
        task = list(group)
        for trial in range(1, trials + 1):
            if done := [row for row in task if row["trial"] <= trial]:
                returned[trial - 1].append(_returned(done))
    return returned


def failures_by_trial(rows: Sequence[TrialRow], trials: int) -> list[dict[str, int]]:
    """Why the trials that did not solve their task ended, counted for each trial; a trial cut short is no failure."""
    counts: list[Counter[str]] = [Counter() for _ in range(trials)]
    for row in rows:
        truth = row["verdict"] if row["success"] is None else row["success"]
        if not truth and row["stop_reason"] not in ("fault", "budget") and row["trial"] <= trials:
            counts[row["trial"] - 1][row["stop_reason"]] += 1
    return [dict(sorted(count.items())) for count in counts]


def verdicts(rows: Sequence[TrialRow]) -> dict[str, int]:
    """How often the verdict was right, over the trials where verdict and truth are known."""
    counts = dict.fromkeys(("true_positive", "false_negative", "false_positive", "true_negative"), 0)
    for row in rows:
        if row["verdict"] is not None and row["success"] is not None:
            right = "true" if row["verdict"] == row["success"] else "false"
            counts[f"{right}_{'positive' if row['verdict'] else 'negative'}"] += 1
    return counts


def _returned(done: Sequence[TrialRow]) -> TrialRow:
    for row in done:
        if row["verdict"]:
            return row
    return max(reversed(done), key=lambda row: float("-inf") if row["score"] is None else row["score"])
