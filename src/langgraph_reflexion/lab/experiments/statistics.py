"""Statistics of shares of solved tasks: intervals, spread over seeds, and a paired test.

Tasks are the sampling unit. Trials of a task depend on each other, as they end with the first success, and so do runs
of the same task under several seeds: neither makes a number more certain than its tasks do.
"""

from collections.abc import Collection, Mapping, Sequence
from math import comb, exp, lgamma, log
from statistics import NormalDist, fmean, stdev
from typing import NamedTuple

CONFIDENCE = 0.95
"""Confidence level of every interval."""

ALPHA = 0.05
"""Significance level: a smaller p is significant."""

FEWEST_VOTES = 6
"""N tasks that at least have to differ, all to the same side, for a significant sign test."""

MOST_TASKS = 500
"""N tasks that `tasks_needed` considers."""


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
    def votes(self) -> int:
        """N tasks on which one of the two is better."""
        return self.wins + self.losses

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
        mean = f"{100 * self.mean:.0f}"
        if self.sd is None:
            return mean
        return f"{mean} ± {100 * self.sd:.0f}"


def interval(solved: Mapping[str, Sequence[bool]]) -> Interval | None:
    """Return Wilson's 95% interval of the share of solved tasks; None without tasks.

    `solved` says for each task, once for each seed, whether it was solved. A task that was run under several seeds is
    a cluster: what counts is the effective sample size (Korn and Graubard 1998), which lies between the number of
    tasks and the number of answers.
    """
    answers = 0
    right = 0
    for of_task in solved.values():
        answers += len(of_task)
        right += sum(of_task)
    if not answers:
        return None
    size = _effective_size(solved.values())
    return wilson(size * right / answers, size)


def wilson(solved: float, tasks: float) -> Interval:
    """Return Wilson's interval of a share; effective numbers need not be whole."""
    z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
    share = solved / tasks
    shrinkage = 1 + z * z / tasks
    middle = (share + z * z / (2 * tasks)) / shrinkage
    variance = share * (1 - share) / tasks + z * z / (4 * tasks * tasks)
    half = z / shrinkage * variance**0.5
    # Rounding errors would leave the range of shares.
    low = max(0.0, middle - half)
    high = min(1.0, middle + half)
    return Interval(low, high)


def sign_test(differences: Collection[int]) -> SignTest:
    """Return the exact sign test over tasks; with one answer per task and strategy, it is McNemar's exact test.

    Args:
        differences: For each task, the number of seeds under which only the first strategy solved it, minus the
            number under which only the second did. So a task votes once, however many seeds it was run under.
    """
    wins = sum(each > 0 for each in differences)
    losses = sum(each < 0 for each in differences)
    voted = wins + losses
    # The number of ways in which votes of a fair coin would be at least as uneven, on one side.
    tail = 0
    for fewer in range(min(wins, losses) + 1):
        tail += comb(voted, fewer)
    p = 2 * tail / 2**voted
    return SignTest(wins, losses, min(1.0, p), len(differences))


def tasks_needed(gained: float, lost: float, power: float = 0.8) -> int:
    """Return how many tasks a comparison of two strategies needs to find their difference.

    Args:
        gained: The share of tasks that only the better strategy solves, between 0 and 1.
        lost: The share of tasks that only the other one solves.
        power: The probability that `sign_test` will be significant, for the better strategy.

    Raises:
        ValueError: If there can be no such shares, or more than `MOST_TASKS` tasks would be needed.
    """
    if lost < 0 or gained <= lost or gained + lost > 1:
        raise ValueError(f"0 <= lost < gained, and a sum of at most 1, do not hold for {lost:g} and {gained:g}")
    votes = gained + lost
    found: list[float] = []
    for tasks in range(1, MOST_TASKS + 1):
        reached = 0.0
        found.append(_chance_of_finding(tasks, gained / votes))
        for voted in range(1, tasks + 1):
            reached += _binomial(voted, tasks, votes) * found[voted - 1]
        if reached >= power:
            return tasks
    raise ValueError(f"a difference of {100 * (gained - lost):g} points needs more than {MOST_TASKS} tasks")


def seed_stats(shares: Sequence[float]) -> SeedStats:
    """Return the statistics of shares, one for each seed."""
    deviation = None
    if len(shares) > 1:
        deviation = stdev(shares)
    return SeedStats(tuple(shares), fmean(shares), deviation)


def format_n(answers: int, tasks: int) -> str:
    """Return a number of answers for a table: N tasks, or N tasks x N seeds if each was answered several times."""
    if answers == tasks or not tasks:
        return str(answers)
    seeds, rest = divmod(answers, tasks)
    if rest:
        # Not every task was answered under every seed.
        return f"{answers} ({tasks})"
    return f"{tasks}x{seeds}"


def format_p(p: float) -> str:
    """Return a p for a table; three decimals."""
    if p < 0.001:
        return "< 0.001"
    return f"{p:.3f}"


def p_clause(p: float) -> str:
    """Return a p for a sentence, as in "p = 0.062" or "p < 0.001"."""
    said = format_p(p)
    if said.startswith("<"):
        return f"p {said}"
    return f"p = {said}"


def _chance_of_finding(voted: int, share: float) -> float:
    """Return the probability that the sign test of so many votes is significant, if this share are wins."""
    chance = 0.0
    tail = 0
    for losses in range(voted):
        tail += comb(voted, losses)
        if 2 * tail / 2**voted >= ALPHA:
            break
        chance += _binomial(voted - losses, voted, share)
    return chance


def _binomial(wins: int, tosses: int, share: float) -> float:
    """Return the probability of so many wins in independent tosses, each of which is won with probability `share`."""
    if share == 1:
        return float(wins == tosses)
    ways = lgamma(tosses + 1) - lgamma(wins + 1) - lgamma(tosses - wins + 1)
    return exp(ways + wins * log(share) + (tosses - wins) * log(1 - share))


def _effective_size(clusters: Collection[Sequence[bool]]) -> float:
    """Return the number of independent answers that clustered answers are worth."""
    tasks = len(clusters)
    answers = sum(map(len, clusters))
    share = sum(map(sum, clusters)) / answers
    if tasks == answers:
        return float(answers)
    if tasks == 1 or share in (0.0, 1.0):
        return float(tasks)
    # The variance of a ratio of totals over clusters.
    squares = sum((sum(each) - share * len(each)) ** 2 for each in clusters)
    variance = tasks / (tasks - 1) * squares / answers**2
    if not variance:
        return float(answers)
    size = share * (1 - share) / variance
    size = max(float(tasks), size)
    return min(float(answers), size)
