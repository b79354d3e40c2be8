"""Metrics of a run's rows: the success curve, failures by reason, verdicts compared with the truth."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import accumulate

from langgraph_reflexion.lab.experiments.rows import TrialRow
from langgraph_reflexion.models.recorded import all_tokens, ended_at_no_gain, ended_on_budget

WRONG_ANSWER = "wrong answer"
"""Why a trial failed that ended by itself."""


def has_ended(last: TrialRow, limit: int) -> bool:
    """Return whether a task is finished after its last trial, by the number of trials that it may have."""
    if ended_at_no_gain(last["notes"]):
        return True
    return bool(last["verdict"] or last["fault"]) or last["trial"] >= limit


def solved_by_trial(answers: Sequence[Sequence[TrialRow]]) -> list[int]:
    """Return the number of tasks solved after each trial, by the answers returned after it (`answers_by_trial`).

    A task counts as solved after trial t if the answer that the loop would return after t trials is truly right. A
    task that ended earlier keeps its last value.
    """
    found: list[int] = []
    for rows in answers:
        solved = sum(bool(row["success"]) for row in rows)
        found.append(solved)
    return found


def accepted_by_trial(answers: Sequence[Sequence[TrialRow]]) -> list[int]:
    """Return the number of tasks whose answer the verdict accepts after each trial (`answers_by_trial`)."""
    found: list[int] = []
    for rows in answers:
        accepted = sum(bool(row["verdict"]) for row in rows)
        found.append(accepted)
    return found


def measures_by_trial(answers: Sequence[Sequence[TrialRow]], tasks: int) -> dict[str, list[float]]:
    """Return the means of the environment's measures (F1, say) of the answers returned after each trial.

    As in the official evaluation of question answering, a task without an answer counts as 0.
    """
    found: dict[str, list[float]] = {}
    for rows in answers:
        for row in rows:
            for name in row.get("measures", {}):
                found.setdefault(name, [])
    for name, means in found.items():
        for rows in answers:
            total = sum(row.get("measures", {}).get(name, 0.0) for row in rows)
            means.append(round(total / tasks, 4))
    return found


def answers_by_trial(tasks: Iterable[Sequence[TrialRow]], trials: int) -> list[list[TrialRow]]:
    """Return, for each trial, the rows of the answers that the loop would return after it, one per answered task.

    Args:
        tasks: The trials of each task, in order.
        trials: The last trial.
    """
    answers: list[list[TrialRow]] = [[] for _ in range(trials)]
    for rows in tasks:
        for trial in range(1, trials + 1):
            done = [row for row in rows if row["trial"] <= trial]
            if done:
                answers[trial - 1].append(final_answer(done))
    return answers


def final_answer(done: Sequence[TrialRow]) -> TrialRow:
    """Return the row of the answer that the loop would return after these trials of a task.

    It is the trial that the verdict accepted; without one, the best-scored trial. Of equals, it is one that came to
    its own end rather than one that was stopped, and then the latest.
    """
    for row in done:
        if row["verdict"]:
            return row
    # Of equals, `max` returns the first one.
    latest_first = reversed(done)
    best: TrialRow = max(latest_first, key=_rank)
    return best


def _rank(row: TrialRow) -> tuple[float, bool]:
    """Return what the answers of trials are ranked by, as the loop does in `nodes.evaluate`."""
    if row["score"] is None:
        return float("-inf"), False
    return float(row["score"]), row["stop_reason"] == "terminated"


def failures_by_trial(rows: Sequence[TrialRow], trials: int) -> list[dict[str, int]]:
    """Return the number of failed trials by reason, for each trial (Figure 3b of the paper; see `failure`)."""
    counts: list[Counter[str]] = [Counter() for _ in range(trials)]
    for row in rows:
        reason = failure(row)
        if reason and row["trial"] <= trials:
            of_trial = counts[row["trial"] - 1]
            of_trial[reason] += 1
    return [dict(sorted(of_trial.items())) for of_trial in counts]


def failure(row: TrialRow) -> str | None:
    """Return why a trial did not solve its task; None if it did, or if a budget cut it short.

    A trial that ended by itself failed by a `wrong answer`. The heuristic stops it for `hallucination` or
    `inefficient planning`, or for a reason of your own heuristic; a limit of the environment for `truncated`. A
    `fault` is counted beside these, as it is not a failure of the agent.
    """
    reason: str = row["stop_reason"]
    if reason == "fault":
        return "fault"
    if solved_or_accepted(row) or reason == "budget":
        return None
    if reason == "terminated":
        return WRONG_ANSWER
    return reason


def solved_or_accepted(row: TrialRow) -> bool:
    """Return whether a trial solved its task; where the truth is unknown, the verdict stands for it."""
    if row["success"] is None:
        return bool(row["verdict"])
    return row["success"]


def tokens_by_trial(rows: Sequence[TrialRow], trials: int) -> list[int]:
    """Return the tokens that all tasks together have spent for each trial, sent and received.

    A reflection is spent for the trial that reads it, as it helps no earlier one.
    """
    spent = [0] * trials
    for row in rows:
        trial = row["trial"]
        if trial > trials:
            continue
        for_next = reflection_tokens(row)
        spent[trial - 1] += tokens(row) - for_next
        # None reads the reflection on the last one.
        reading = min(trial + 1, trials)
        spent[reading - 1] += for_next
    return list(accumulate(spent))


def tokens(row: TrialRow) -> int:
    """Return the tokens of a trial, its verdict and its reflection, sent and received.

    Those of cached calls count as well: how good a strategy is does not depend on who paid for its first trial.
    """
    return all_tokens(row)


def lacks_tokens(rows: Iterable[TrialRow]) -> bool:
    """Return whether the tokens of some cached calls are not known, as in runs of version 0.2.0."""
    return any(row["cached_calls"] and not row.get("reused_input_tokens") for row in rows)


def on_budget(row: TrialRow) -> bool:
    """Return whether a task has ended on a budget with this trial, which something else may have ended as well."""
    return row["stop_reason"] == "budget" or ended_on_budget(row["notes"])


def reflection_tokens(row: TrialRow) -> int:
    """Return those tokens of a trial that its reflection has spent; 0 where they were not counted apart."""
    reflecting = row.get("usage", {}).get("reflect")
    if not reflecting:
        return 0
    return all_tokens(reflecting)


def confusion(rows: Sequence[TrialRow]) -> dict[str, int]:
    """Count right and wrong verdicts over the trials whose verdict and truth are known."""
    counts = {"true_positive": 0, "false_negative": 0, "false_positive": 0, "true_negative": 0}
    for row in rows:
        name = kind_of_verdict(row["verdict"], row["success"])
        if name:
            counts[name] += 1
    return counts


def kind_of_verdict(verdict: bool | None, truth: bool | None) -> str:
    """Return whether a verdict is positive, and whether it is true; empty if one of the two is unknown."""
    if verdict is None or truth is None:
        return ""
    is_true = verdict == truth
    if verdict and is_true:
        return "true_positive"
    if verdict:
        return "false_positive"
    if is_true:
        return "true_negative"
    return "false_negative"


def confusion_rates(counts: dict[str, int]) -> dict[str, float | None]:
    """Return the counts of `confusion` as shares of the trials with the same verdict, as in Table 2 of the paper.

    A false positive is a share of all accepted trials, a false negative of all rejected ones; None without any.
    """
    positive = counts["true_positive"] + counts["false_positive"]
    negative = counts["true_negative"] + counts["false_negative"]
    rates: dict[str, float | None] = {}
    for name, count in counts.items():
        same_verdict = negative
        if name.endswith("positive"):
            same_verdict = positive
        rates[name] = None
        if same_verdict:
            rates[name] = round(count / same_verdict, 4)
    return rates
