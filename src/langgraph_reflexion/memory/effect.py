"""What a lesson does: the success of first trials with it and without it, and when it is retired."""

from collections import Counter
from math import sqrt
from statistics import NormalDist
from typing import NamedTuple

from langgraph_reflexion.memory.summaries import Tally

MIN_TRIALS = 10
"""Minimum number of first trials with a lesson, and of others without it, before it can be retired."""

ALPHA = 0.01
"""Significance level of the test by which a lesson is retired."""


def _won(tally: Tally) -> Counter[str]:
    """Return the first trials that succeeded, by kind."""
    won = Counter[str]()
    for kind, played in tally.first.items():
        succeeded = tally.first_succeeded.get(kind, 0)
        # Within what is possible, as an imported file may say anything.
        won[kind] = min(max(succeeded, 0), played)
    return won


def effect(tally: Tally, all_trials: Tally) -> tuple[float | None, bool]:
    """Return the success rate expected without a lesson, None for too few trials, and whether to retire the lesson.

    Only first trials count: later ones belong to tasks that have failed already. Trials are compared by kind of task,
    so that a lesson is not retired for being recalled where tasks are hard. It is retired where the test of Cochran,
    Mantel and Haenszel gives so few successes a probability below `ALPHA`.
    """
    # Most lessons have been shown in few trials, and need no tables.
    if sum(tally.first.values()) < MIN_TRIALS:
        return None, False
    tables = _tables(tally, all_trials)
    trials = sum(table.with_it for table in tables)
    others = sum(table.without for table in tables)
    # Again, as kinds of task without trials of both sorts have no table.
    if min(trials, others) < MIN_TRIALS:
        return None, False
    succeeded = sum(table.won_with_it for table in tables)
    expected = sum(table.expected for table in tables)
    by_chance = sum(table.by_chance for table in tables)
    variance = sum(table.variance for table in tables)
    # With the usual correction for continuity.
    fewer = by_chance - succeeded - 0.5
    significant = NormalDist().inv_cdf(1 - ALPHA) * sqrt(variance)
    # Without any variance, all trials of each kind have succeeded, or none: nothing can be said.
    retires = variance > 0 and fewer > significant
    return expected / trials, retires


class _Table(NamedTuple):
    """The first trials of one kind of task: with a lesson and without, won and lost."""

    with_it: int
    without: int
    won_with_it: int
    won: int
    """Those won with it or without."""

    @property
    def expected(self) -> float:
        """The successes of the trials with it at the success rate of the others."""
        return self.with_it * (self.won - self.won_with_it) / self.without

    @property
    def by_chance(self) -> float:
        """The successes of the trials with it if it made no difference."""
        return self.with_it * self.won / (self.with_it + self.without)

    @property
    def variance(self) -> float:
        """The variance of the number of these successes."""
        total = self.with_it + self.without
        lost = total - self.won
        return self.with_it * self.without * self.won * lost / (total**2 * (total - 1))


def _tables(tally: Tally, all_trials: Tally) -> list[_Table]:
    """Return the tables of the kinds of task with trials of both sorts; others say nothing about the lesson."""
    mine_won = _won(tally)
    won = _won(all_trials)
    tables = []
    for kind, with_it in tally.first.items():
        without = all_trials.first.get(kind, 0) - with_it
        # An imported file may say that fewer trials were played than had the lesson.
        if with_it and without > 0:
            tables.append(_Table(with_it, without, mine_won[kind], won[kind]))
    return tables
