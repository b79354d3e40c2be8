"""Estimates of what is left of an experiment: trials, model calls, tokens, time and money.

The least is every task solved at once. The most follows from the limits: every trial of every task as long as it may
be. What is likely, and how large a call is and how long it takes, is taken from recorded runs of the same environment
and actor; without any it is unknown, and called so.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from langgraph_reflexion.budgets import Budget
from langgraph_reflexion.evaluators import SAMPLES
from langgraph_reflexion.experiments.matrix import Checked
from langgraph_reflexion.experiments.measured import Measured, choose
from langgraph_reflexion.experiments.record import Run
from langgraph_reflexion.models.load import DEMO
from langgraph_reflexion.profiles import load_profile
from langgraph_reflexion.state import Strategy

ONE_TURN = ("cot", "cot-gt", "code")
"""Actors whose first action ends the trial."""


@dataclass(frozen=True)
class Range:
    """A number that is not known yet; None where nothing says it."""

    low: float
    likely: float | None
    most: float | None

    def __add__(self, other: "Range") -> "Range":
        def plus(one: float | None, two: float | None) -> float | None:
            return None if one is None or two is None else one + two

        return Range(self.low + other.low, plus(self.likely, other.likely), plus(self.most, other.most))

    def capped(self, limit: float | None) -> "Range":
        """Return the range cut off at a limit."""
        if limit is None:
            return self
        likely = None if self.likely is None else min(self.likely, limit)
        return Range(min(self.low, limit), likely, limit if self.most is None else min(self.most, limit))

    def as_json(self) -> dict[str, float | None]:
        """It as plain JSON."""
        return {name: None if value is None else round(value, 4) for name, value in vars(self).items()}


NOTHING = Range(0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Estimate:
    """The work that is left of a run, or of all.

    Attributes:
        name: The run's.
        state: `new`, `begun`, `finished`, or why it cannot run.
        refused: Whether it cannot run.
        tasks: How many tasks are not finished.
        trials: Trials that are still to be played.
        calls: Model calls that are answered.
        tokens: Sent and received.
        seconds: Wall time.
        money: At the prices of the file.
        basis: What it was measured by.
    """

    name: str
    state: str
    refused: bool = False
    tasks: int = 0
    trials: Range = NOTHING
    calls: Range = NOTHING
    tokens: Range = NOTHING
    seconds: Range = NOTHING
    money: Range = NOTHING
    basis: str = ""

    def as_json(self) -> dict[str, Any]:
        """It as plain JSON."""
        return {
            each.name: value.as_json() if isinstance(value := getattr(self, each.name), Range) else value
            for each in fields(self)
        }


def estimate_all(runs: Sequence[Checked], like: Sequence[Run], budget: Budget) -> tuple[list[Estimate], Estimate]:
    """Estimate the work that is left of every run, and of all together.

    Args:
        runs: The runs, as they were checked.
        like: Recorded runs to measure by, beside those of the experiment.
        budget: The experiment's.
    """
    known = [*(each.run for each in runs if each.run and each.run.trials), *like]
    found = [_estimate(each, known) for each in runs]
    total = Estimate("all", "")
    for each in found:
        parts = {name: getattr(total, name) + getattr(each, name) for name in ("tasks", *RANGES)}
        total = Estimate("all", "", **parts)
    # What was spent counts towards the budget.
    spent = {"llm_calls": 0.0, "tokens": 0.0, "cost": 0.0, "seconds": 0.0}
    for run in (each.run for each in runs if each.run):
        spent["seconds"] += run.info.get("seconds", 0.0)
        for row in run.trials:
            spent["llm_calls"] += row["llm_calls"]
            spent["tokens"] += row["input_tokens"] + row["output_tokens"]
            spent["cost"] += row["cost"]
    left = {
        name: None if (limit := getattr(budget, name)) is None else max(0.0, limit - amount)
        for name, amount in spent.items()
    }
    return found, _capped(total, left)


RANGES = ("trials", "calls", "tokens", "seconds", "money")


def _estimate(each: Checked, known: Sequence[Run]) -> Estimate:
    if each.why_not:
        return Estimate(each.cell.name, each.why_not, refused=True)
    if each.finished:
        return Estimate(each.cell.name, "finished")
    settings = each.settings.public()
    limit = int(settings["max_trials"])
    played = _played(each, limit)
    measured = choose(settings, each.run, known)
    trials, calls = _trials_and_calls(settings, played, limit, each.run is not None, measured)
    tokens, seconds, money = _amounts(each, settings, trials, calls, measured, len(played))
    found = Estimate(
        each.cell.name,
        "begun" if each.run else "new",
        tasks=len(played),
        trials=trials,
        calls=calls,
        tokens=tokens,
        seconds=seconds,
        money=money,
        basis=measured.told if measured else "",
    )
    caps = {
        what: min(limits) if (limits := _limits(settings, what, len(played), limit)) else None
        for what in ("llm_calls", "tokens", "cost", "seconds")
    }
    return _capped(found, caps)


def _played(each: Checked, limit: int) -> list[int]:
    """Return the number of whole trials of each unfinished task."""
    rows = {row["task_id"]: row for row in each.run.trials} if each.run else {}
    last = [row for task in each.tasks if not (row := rows.get(task["id"])) or not row["verdict"]]
    trials = [row["trial"] - (row["stop_reason"] in ("fault", "budget")) if row else 0 for row in last]
    return [trial for trial in trials if trial < limit]


def _trials_and_calls(
    settings: Mapping[str, Any], played: Sequence[int], limit: int, begun: bool, measured: Measured | None
) -> tuple[Range, Range]:
    strategy = Strategy(settings["strategy"])
    name, _, samples = str(settings["evaluator"]).partition(":")
    judging = {"llm": 1, "self-consistency": int(samples or SAMPLES)}.get(name, 0)
    once = int(settings["evaluator"] == "self-tests")
    untested = settings["evaluator"] == "none"
    left = [limit - trials for trials in played]
    new = sum(trials == 0 for trials in played)
    least = sum(left) if untested else len(left)
    # What a killed process had in flight may be as good as done.
    in_flight = min(int(settings["concurrency"]), len(left)) if begun else 0
    most_calls = sum(left) * (_longest(settings) + judging) + new * once
    if strategy.reflects:
        most_calls += sum(left) if begun else sum(left) - len(left)
    likely: float | None = None
    calls: float | None = None
    if measured:
        accepted = {} if untested else measured.accepted()
        likely = sum(_expected(trials, limit, accepted) for trials in played)
        calls = likely * measured.per_trial("llm_calls")
    fewest = max(0, least - in_flight) * (1 + judging) + max(0, new - in_flight) * once
    return Range(least - in_flight, likely, sum(left)), Range(fewest, calls, most_calls)


def _longest(settings: Mapping[str, Any]) -> int:
    """Return the most calls that a trial's actor makes."""
    profile = load_profile(settings["profile"]).resolve(settings["environment"], actor=settings["actor"])
    actions = 1 if settings["actor"] in ONE_TURN else settings["max_actions"] + 1
    # Before each action there may be a thought, and in the layout of the notebooks both are asked for, one by one.
    return actions if profile.heuristic.count_thoughts and profile.layout == "react" else 2 * actions


def _expected(played: int, limit: int, accepted: Mapping[int, float]) -> float:
    """Return the number of trials that a task is likely to need after those that it has played."""
    reaches, expected = 1.0, 0.0
    for trial in range(played + 1, limit + 1):
        expected += reaches
        # Where nothing is known of later trials, nothing more is solved in them.
        reaches *= 1 - accepted.get(trial, 0.0)
    return expected


def _amounts(
    each: Checked,
    settings: Mapping[str, Any],
    trials: Range,
    calls: Range,
    measured: Measured | None,
    tasks: int,
) -> tuple[Range, Range, Range]:
    """Tokens, seconds and money."""
    most = calls.most or 0.0
    free = {settings["model"], settings["reflection_model"] or DEMO} == {DEMO}
    if measured is None:
        tokens = Range(calls.low * (each.opening or 0), None, None)
        return tokens, Range(0.0, None, None), NOTHING if free else Range(0.0, None, None)
    small, _, large = measured.per_call("input_tokens", "output_tokens")
    likely_trials = trials.likely or 0.0
    of_trial = measured.per_trial("input_tokens") + measured.per_trial("output_tokens")
    tokens = Range(calls.low * small, likely_trials * of_trial, most * large)
    concurrency = int(settings["concurrency"])
    together = measured.together(concurrency, tasks)
    quick, _, slow = measured.per_call("seconds")
    seconds = Range(0.0, None, None)
    if measured.timed:
        likely = likely_trials * measured.per_trial("seconds") / together
        seconds = Range(
            min(likely, calls.low * quick / max(1, concurrency)), likely, max(likely, most * slow / together)
        )
    if free:
        return tokens, seconds, NOTHING
    prices = measured.money(settings)
    if prices is None:
        return tokens, seconds, Range(0.0, None, None)
    cheap, of_trial, dear = prices
    return tokens, seconds, Range(calls.low * cheap, likely_trials * of_trial, most * dear)


def _limits(settings: Mapping[str, Any], what: str, tasks: int, trials: int) -> list[float]:
    times = {"run": 1, "task": tasks, "trial": tasks * trials}
    # Time passes for several tasks at once, so that only the run's own limit says something.
    scopes = ("run",) if what == "seconds" else tuple(times)
    budgets = settings["budgets"]
    return [budgets[scope][what] * times[scope] for scope in scopes if what in budgets.get(scope, {})]


def _capped(found: Estimate, limits: Mapping[str, float | None]) -> Estimate:
    return replace(
        found,
        calls=found.calls.capped(limits["llm_calls"]),
        tokens=found.tokens.capped(limits["tokens"]),
        seconds=found.seconds.capped(limits["seconds"]),
        money=found.money.capped(limits["cost"]),
    )
