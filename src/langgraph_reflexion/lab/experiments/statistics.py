"""Statistics of shares of solved tasks: intervals, spread over seeds, and a paired test.

Tasks are the sampling unit. Trials of a task depend on each other, as they end with the first success, and so do runs
of the same task under several seeds: neither makes a number more certain than its tasks do.
"""

from collections.abc import Collection, Mapping, Sequence
from math import comb
from statistics import NormalDist, fmean, stdev
from typing import NamedTuple

CONFIDENCE = 0.95
"""Confidence level of every interval."""

ALPHA = 0.05
"""Significance level: a smaller p is significant."""


class Interval(NamedTuple):
    """A confidence interval of a share, between 0 and 1."""

    low: float
    high: float


class SignTest(NamedTuple):
    """A paired comparison, task by task.

    `wins` are the tasks on which the first strategy is better, `losses` those on which the second one is. `p` is
    two-sided.
    """

    wins: int
    losses: int
    p: float
    tasks: int

    @property
    def significant(self) -> bool:
        """Whether p is below `ALPHA`."""
        return self.p < ALPHA


class SeedStats(NamedTuple):
    """Shares of solved tasks, one for each seed, with mean and standard deviation (None for a single seed)."""

    shares: tuple[float, ...]
    mean: float
    sd: float | None

    @property
    def text(self) -> str:
        """The mean in per cent, with the standard deviation if there is one."""
        return f"{100 * self.mean:.0f}" + (f" ± {100 * self.sd:.0f}" if self.sd is not None else "")


def interval(solved: Mapping[str, Sequence[bool]]) -> Interval | None:
    """Return Wilson's 95% interval of the share of solved tasks; None without tasks.

    `solved` says for each task, once for each seed, whether it was solved. A task that was run under several seeds is
    a cluster: what counts is the effective sample size (Korn and Graubard 1998), which lies between the number of
    tasks and the number of answers.
    """
    answers = [each for task in solved.values() for each in task]
    if not answers:
        return None
    size = _effective_size(solved.values())
    return wilson(size * sum(answers) / len(answers), size)


def wilson(solved: float, tasks: float) -> Interval:
    """Return Wilson's interval of a share; effective numbers need not be whole."""
    z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
    share = solved / tasks
    middle = (share + z * z / (2 * tasks)) / (1 + z * z / tasks)
    half = z / (1 + z * z / tasks) * (share * (1 - share) / tasks + z * z / (4 * tasks * tasks)) ** 0.5
    return Interval(max(0.0, middle - half), min(1.0, middle + half))


def sign_test(differences: Collection[int]) -> SignTest:
    """Return the exact sign test over tasks; with one answer per task and strategy, it is McNemar's exact test.

    Args:
        differences: For each task, the number of seeds under which only the first strategy solved it, minus the
            number under which only the second did. So a task votes once, however many seeds it was run under.
    """
    wins, losses = sum(each > 0 for each in differences), sum(each < 0 for each in differences)
    voted = wins + losses
    tail = sum(comb(voted, each) for each in range(min(wins, losses) + 1))
    return SignTest(wins, losses, min(1.0, 2 * tail / 2**voted), len(differences))


def seed_stats(shares: Sequence[float]) -> SeedStats:
    """Return the statistics of shares, one for each seed."""
    return SeedStats(tuple(shares), fmean(shares), stdev(shares) if len(shares) > 1 else None)


def format_p(p: float) -> str:
    """Return a p for a table; three decimals."""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _effective_size(clusters: Collection[Sequence[bool]]) -> float:
    """Return the number of independent answers that clustered answers are worth."""
    tasks, answers = len(clusters), sum(map(len, clusters))
    share = sum(map(sum, clusters)) / answers
    if tasks == answers:
        return float(answers)
    if tasks == 1 or share in (0.0, 1.0):
        return float(tasks)
    # The variance of a ratio of totals over clusters.
    squares = sum((sum(each) - share * len(each)) ** 2 for each in clusters)
    variance = tasks / (tasks - 1) * squares / answers**2
    return min(float(answers), max(float(tasks), share * (1 - share) / variance)) if variance else float(answers)
