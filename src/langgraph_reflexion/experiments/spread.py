"""How much a series differs from seed to seed: mean, standard deviation, range, and Student's interval of the mean.

That interval is about seeds: where the tasks are generated from the seed it holds what another seed would give, tasks
included; where every seed has the same tasks it says nothing of other tasks. For those there is the interval over
tasks (`experiments.statistics.interval`), which takes a task's answers under several seeds as one cluster.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

from langgraph_reflexion.experiments.record import Run
from langgraph_reflexion.experiments.report import report_run
from langgraph_reflexion.experiments.series import Series
from langgraph_reflexion.experiments.statistics import CONFIDENCE, Interval, have_scipy


@dataclass(frozen=True)
class Spread:
    """Shares of tasks solved, one for each seed.

    Attributes:
        shares: By seed, between 0 and 1.
        mean: Their mean, every seed counting the same.
        sd: Their standard deviation, as of a sample; None for a single seed.
        interval: Student's 95 % interval of the mean over seeds; None for a single seed, for seeds that are all alike
            (they do not say how far others are), and without scipy.
    """

    shares: tuple[float, ...]
    mean: float
    sd: float | None
    interval: Interval | None

    @property
    def text(self) -> str:
        """The mean in per cent, with the standard deviation where there is one."""
        return f"{100 * self.mean:.0f}" + (f" ± {100 * self.sd:.0f}" if self.sd is not None else "")


def spread(shares: Sequence[float]) -> Spread:
    """The spread of shares, one for each seed."""
    sd = stdev(shares) if len(shares) > 1 else None
    return Spread(tuple(shares), fmean(shares), sd, _student(fmean(shares), sd, len(shares)) if sd else None)


def spreads(runs: Sequence[Run]) -> list[Spread]:
    """By trial, how the runs of a series differ; as far as all of them have come."""
    curves = []
    for run in runs:
        report = report_run(run)
        curves.append([report.share(solved) for solved in report.solved])
    return [spread(shares) for shares in zip(*curves, strict=False)]


def spread_json(series: Series) -> dict[str, Any]:
    """The spread by trial as plain JSON."""
    by_trial = spreads(series.runs)
    return {
        "seeds": [run.settings["seed"] for run in series.runs],
        "shares": [[round(share, 4) for share in each.shares] for each in by_trial],
        "mean": [round(each.mean, 4) for each in by_trial],
        "sd": [None if each.sd is None else round(each.sd, 4) for each in by_trial],
        "interval": [
            None if each.interval is None else [round(end, 4) for end in each.interval] for each in by_trial
        ],
    }


def unpaired(one: Series, other: Series) -> str:
    """Two series whose tasks cannot be paired, held against each other seed by seed; empty for single seeds.

    The test is Welch's, over what each seed came to after the last trial that both have.
    """
    curves = spreads(one.runs), spreads(other.runs)
    trials = min(map(len, curves))
    if not trials or min(len(one.runs), len(other.runs)) < 2:
        return ""
    first, second = (curve[trials - 1] for curve in curves)
    told = (
        f"Unpaired, over seeds: {first.text} % ({one.name}) and {second.text} % ({other.name}) after {trials} trials"
    )
    return f"{told}{_welch(first.shares, second.shares)}."


def _student(mean: float, sd: float, seeds: int) -> Interval | None:
    if not have_scipy():
        return None
    from scipy.special import stdtrit

    half = float(stdtrit(seeds - 1, (1 + CONFIDENCE) / 2)) * sd / seeds**0.5
    return Interval(max(0.0, mean - half), min(1.0, mean + half))


def _welch(one: Sequence[float], other: Sequence[float]) -> str:
    errors = [stdev(shares) ** 2 / len(shares) for shares in (one, other)]
    if not have_scipy() or not sum(errors):
        return ""
    from scipy.special import stdtr  # in scipy.stats it warns where all seeds of one series are alike

    t = abs(fmean(one) - fmean(other)) / sum(errors) ** 0.5
    freedom = sum(errors) ** 2 / sum(
        error**2 / (len(shares) - 1) for error, shares in zip(errors, (one, other), strict=True)
    )
    return f" (Welch's t-test, p = {2 * float(stdtr(freedom, -t)):.3f})"
