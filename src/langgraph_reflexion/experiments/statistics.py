"""How sure the numbers are: intervals of a share, and the paired test between two strategies. From scipy.

Tasks are what was sampled. Trials of a task depend on each other, as they end with the first success, and so do runs
of the same task under several seeds: neither makes a number surer than its tasks do.
"""

import importlib.util
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from langgraph_reflexion.errors import the_extra

CONFIDENCE = 0.95
"""How often such an interval holds the true share."""

SIGNIFICANT = 0.05
"""Below this p a difference is called shown."""

MISSING = f"Intervals and tests (scipy) and figures (matplotlib) need {the_extra('bench')}."
"""What is said where scipy is not installed."""


class Interval(NamedTuple):
    """An interval of a share, between 0 and 1."""

    low: float
    high: float


class SignTest(NamedTuple):
    """A paired comparison, task by task."""

    wins: int
    """Tasks on which the first is better."""
    losses: int
    """Tasks on which the second is."""
    p: float | None
    """How likely so uneven a split is by chance, two-sided; None without scipy."""

    @property
    def shown(self) -> bool:
        """Whether the difference is shown."""
        return self.p is not None and self.p < SIGNIFICANT


def have_scipy() -> bool:
    """Whether the extra `bench` is installed."""
    return importlib.util.find_spec("scipy") is not None


def interval(solved: Mapping[str, Sequence[bool]]) -> Interval | None:
    """The 95 % interval of the share that is solved (Wilson's).

    Where a task was run under several seeds, the tasks are clusters: what counts is the effective number of answers
    (Korn and Graubard 1998), which lies between the number of tasks and the number of answers.

    Args:
        solved: By task, whether it was solved, once for each seed.

    Returns:
        The interval; None without scipy, and without tasks.
    """
    answers = [each for task in solved.values() for each in task]
    if not answers or not have_scipy():
        return None
    effective = _effective(solved.values())
    return wilson(effective * sum(answers) / len(answers), effective)


def wilson(solved: float, tasks: float) -> Interval:
    """Wilson's interval of a share; the numbers may be effective ones, and need not be whole."""
    from scipy.special import ndtri

    z = float(ndtri((1 + CONFIDENCE) / 2))
    share = solved / tasks
    middle = (share + z * z / (2 * tasks)) / (1 + z * z / tasks)
    half = z / (1 + z * z / tasks) * (share * (1 - share) / tasks + z * z / (4 * tasks * tasks)) ** 0.5
    return Interval(max(0.0, middle - half), min(1.0, middle + half))


def sign_test(differences: Collection[int]) -> SignTest:
    """The exact sign test on tasks; with one answer per task and strategy, that is McNemar's exact test.

    Args:
        differences: For each task, in how many of its seeds the first strategy alone solved it, less in how many the
            second did. So a task votes once, however many seeds it was run under.
    """
    wins, losses = sum(each > 0 for each in differences), sum(each < 0 for each in differences)
    return SignTest(wins, losses, _p(wins, losses) if have_scipy() else None)


def _p(wins: int, losses: int) -> float:
    from scipy.stats import binomtest  # it takes a second to import

    return float(binomtest(wins, wins + losses).pvalue) if wins + losses else 1.0


def _effective(clusters: Collection[Sequence[bool]]) -> float:
    """How many independent answers the answers are worth."""
    tasks, answers = len(clusters), sum(map(len, clusters))
    share = sum(map(sum, clusters)) / answers
    if tasks == answers:
        return float(answers)
    if tasks == 1 or share in (0.0, 1.0):
        return float(tasks)
    # The variance of a ratio of totals over clusters.
    spread = sum((sum(each) - share * len(each)) ** 2 for each in clusters)
    variance = tasks / (tasks - 1) * spread / answers**2
    return min(float(answers), max(float(tasks), share * (1 - share) / variance)) if variance else float(answers)
