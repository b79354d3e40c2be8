"""Estimates of the work left in an experiment: trials, model calls, tokens, time and money.

The minimum assumes that every task is solved at once; the maximum, that every trial is as long as its limits allow.
The likely amounts, and the size and the duration of a call, come from recorded runs of the same environment and
actor; without any they are unknown.
"""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

from langgraph_reflexion.budgets import Budget
from langgraph_reflexion.envs import environment_class
from langgraph_reflexion.envs.base import Environment, Task
from langgraph_reflexion.errors import ReflexionError
from langgraph_reflexion.evaluators import SAMPLES
from langgraph_reflexion.experiments.matrix import PlannedRun
from langgraph_reflexion.experiments.record import Run
from langgraph_reflexion.experiments.rows import TrialRow
from langgraph_reflexion.graph.reflexion import create_reflexion
from langgraph_reflexion.models.load import DEMO
from langgraph_reflexion.models.options import ModelOptions
from langgraph_reflexion.models.usage import CHARACTERS_PER_TOKEN, Price
from langgraph_reflexion.profiles import load_profile
from langgraph_reflexion.retries import Retries
from langgraph_reflexion.settings import RunSettings
from langgraph_reflexion.state import Strategy

ONE_TURN = ("cot", "cot-gt", "code")
"""Actors whose first action ends the trial."""
_FIRST = (
    *("model", "strategy", "evaluator", "feedback", "profile", "memory_size"),
    *("split", "options", "reflection_model", "temperature", "base_url"),
)
_IGNORED = ("environment", "actor", "seed", "prices", "checkpoints", "database")
LIKENESS = [*_FIRST, *(name for name in RunSettings.resumable("fixed") if name not in (*_IGNORED, *_FIRST))]
"""The settings that a run should share with one that it is measured by, the most important first."""
_RANGES = {"calls": "llm_calls", "tokens": "tokens", "seconds": "seconds", "money": "cost"}
"""The amounts of an estimate that a budget limits, and its names for them."""


@dataclass(frozen=True)
class Range:
    """An amount that is not known yet; None where nothing determines it."""

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


NOTHING, UNKNOWN = Range(0.0, 0.0, 0.0), Range(0.0, None, None)


@dataclass(frozen=True)
class Estimate:
    """The work left in a run, or in all runs.

    Attributes:
        name: The run's.
        state: `new`, `begun`, `finished`, or why it cannot run.
        refused: True if it cannot run.
        tasks: N unfinished tasks.
        trials: Trials to run.
        calls: Model calls.
        tokens: Sent and received.
        seconds: Wall time.
        money: At the prices of the file.
        basis: The runs that it was measured by.
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
        """Return the estimate as plain JSON."""

        def plain(value: Any) -> Any:
            if not isinstance(value, Range):
                return value
            return {name: None if number is None else round(number, 4) for name, number in vars(value).items()}

        return {each.name: plain(getattr(self, each.name)) for each in fields(self)}

    def capped(self, limits: Mapping[str, float | None]) -> "Estimate":
        """Return the estimate cut off at limits, by their names in a budget."""
        return replace(self, **{name: getattr(self, name).capped(limits[what]) for name, what in _RANGES.items()})


def estimate_all(runs: Sequence[PlannedRun], like: Sequence[Run], budget: Budget) -> tuple[list[Estimate], Estimate]:
    """Estimate the work left in every run, and in all together.

    Args:
        runs: The planned runs.
        like: Recorded runs to measure by, besides those of the experiment.
        budget: The experiment's.
    """
    begun = [each.run for each in runs if each.run]
    known = [*(run for run in begun if run.trials), *like]
    estimates = [_estimate(each, known) for each in runs]
    names = ("tasks", "trials", *_RANGES)
    total = Estimate("all", "")
    for each in estimates:
        total = replace(total, **{name: getattr(total, name) + getattr(each, name) for name in names})
    rows = [row for run in begun for row in run.trials]
    spent = {
        "llm_calls": sum(row["llm_calls"] for row in rows),
        "tokens": sum(row["input_tokens"] + row["output_tokens"] for row in rows),
        "cost": sum(row["cost"] for row in rows),
        "seconds": sum(run.info.get("seconds", 0.0) for run in begun),
    }
    limits = {name: getattr(budget, name) for name in spent}
    left = {name: None if limit is None else max(0.0, limit - spent[name]) for name, limit in limits.items()}
    return estimates, total.capped(left)


def _estimate(each: PlannedRun, known: Sequence[Run]) -> Estimate:
    if each.refusal:
        return Estimate(each.spec.name, each.refusal, refused=True)
    if each.finished:
        return Estimate(each.spec.name, "finished")
    settings = each.settings.public()
    limit = int(settings["max_trials"])
    played = _played(each, limit)
    measured = choose(settings, each.run, known)
    trials, calls = _trials_and_calls(settings, played, limit, each.run is not None, measured)
    amounts = _amounts(settings, trials, calls, measured, len(played), each.opening or 0)
    estimate = Estimate(each.spec.name, "begun" if each.run else "new", tasks=len(played), trials=trials, calls=calls)
    named: dict[str, Any] = {"basis": measured.basis if measured else "", **amounts}
    estimate = replace(estimate, **named)
    return estimate.capped({what: _limit(settings, what, len(played), limit) for what in _RANGES.values()})


def _played(each: PlannedRun, limit: int) -> list[int]:
    """Return the number of whole trials of each unfinished task."""
    rows = {row["task_id"]: row for row in each.run.trials} if each.run else {}
    last = [row for task in each.tasks if not (row := rows.get(task["id"])) or not row["verdict"]]
    trials = [row["trial"] - (row["stop_reason"] in ("fault", "budget")) if row else 0 for row in last]
    return [trial for trial in trials if trial < limit]


def _trials_and_calls(
    settings: Mapping[str, Any], played: Sequence[int], limit: int, begun: bool, measured: "Measured | None"
) -> tuple[Range, Range]:
    evaluator, _, samples = str(settings["evaluator"]).partition(":")
    judging = {"llm": 1, "self-consistency": int(samples or SAMPLES)}.get(evaluator, 0)
    once = int(evaluator == "self-tests")
    left = [limit - trials for trials in played]
    new = sum(trials == 0 for trials in played)
    least = sum(left) if evaluator == "none" else len(left)
    # The trials in flight of a killed process may be almost done.
    in_flight = min(int(settings["concurrency"]), len(left)) if begun else 0
    most = sum(left) * (_longest(settings) + judging) + new * once
    if Strategy(settings["strategy"]).reflects:
        most += sum(left) if begun else sum(left) - len(left)
    fewest = max(0, least - in_flight) * (1 + judging) + max(0, new - in_flight) * once
    likely = likely_calls = None
    if measured:
        accepted = {} if evaluator == "none" else measured.accepted()
        likely = sum(_expected(trials, limit, accepted) for trials in played)
        likely_calls = likely * measured.per_trial("llm_calls")
    return Range(least - in_flight, likely, sum(left)), Range(fewest, likely_calls, most)


def _longest(settings: Mapping[str, Any]) -> int:
    """Return the largest number of calls of a trial's actor."""
    profile = load_profile(settings["profile"]).resolve(
        environment_class(settings["environment"]), actor=settings["actor"]
    )
    actions = 1 if settings["actor"] in ONE_TURN else settings["max_actions"] + 1
    # A thought may precede each action; in the layout of the notebooks, each of the two is a call.
    return actions if profile.heuristic.count_thoughts and profile.layout == "react" else 2 * actions


def _expected(played: int, limit: int, accepted: Mapping[int, float]) -> float:
    """Return the number of trials that a task is likely to need after those that it has played."""
    reaches, expected = 1.0, 0.0
    for trial in range(played + 1, limit + 1):
        expected += reaches
        reaches *= 1 - accepted.get(trial, 0.0)  # in trials that were not measured, nothing more is solved
    return expected


def _amounts(
    settings: Mapping[str, Any], trials: Range, calls: Range, measured: "Measured | None", tasks: int, opening: int
) -> dict[str, Range]:
    """Return the tokens, the seconds and the money of trials and calls."""
    free = {settings["model"], settings["reflection_model"] or DEMO} == {DEMO}
    if measured is None:
        money = NOTHING if free else UNKNOWN
        return {"tokens": Range(calls.low * opening, None, None), "seconds": UNKNOWN, "money": money}
    most, likely = calls.most or 0.0, trials.likely or 0.0
    small, large = measured.per_call("input_tokens", "output_tokens")
    of_trial = measured.per_trial("input_tokens") + measured.per_trial("output_tokens")
    tokens = Range(calls.low * small, likely * of_trial, most * large)
    seconds, money = UNKNOWN, NOTHING if free else UNKNOWN
    if measured.timed:
        concurrency = int(settings["concurrency"])
        together = measured.together(concurrency, tasks)
        quick, slow = measured.per_call("seconds")
        mean = likely * measured.per_trial("seconds") / together
        low = min(mean, calls.low * quick / max(1, concurrency))
        seconds = Range(low, mean, max(mean, most * slow / together))
    if not free and (prices := measured.money(settings)):
        cheap, of_trial, dear = prices
        money = Range(calls.low * cheap, likely * of_trial, most * dear)
    return {"tokens": tokens, "seconds": seconds, "money": money}


def _limit(settings: Mapping[str, Any], what: str, tasks: int, trials: int) -> float | None:
    """Return the lowest of the limits of a run's budgets on an amount."""
    times = {"run": 1, "task": tasks, "trial": tasks * trials}
    # Several tasks share each second: only the run's own limit on time counts.
    scopes = ("run",) if what == "seconds" else tuple(times)
    budgets = settings["budgets"]
    return min(
        (budgets[scope][what] * times[scope] for scope in scopes if what in budgets.get(scope, {})), default=None
    )


@dataclass(frozen=True)
class Measured:
    """Recorded runs that another one is measured by.

    Attributes:
        runs: The runs, all equally like it.
        basis: Their names, and the settings in which they differ from it.
        timed: True if their times count: those of a demo model and of an LLM say nothing about each other.
    """

    runs: tuple[Run, ...]
    basis: str
    timed: bool

    @property
    def rows(self) -> list[TrialRow]:
        """Their trials without those that ended by a fault."""
        return [row for run in self.runs for row in run.trials if not row["fault"]]

    def per_trial(self, amount: str) -> float:
        """Return the mean of an amount over the trials, such as `llm_calls`."""
        return sum(row[amount] for row in self.rows) / len(self.rows)  # type: ignore[literal-required]

    def per_call(self, *amounts: str) -> tuple[float, float]:
        """Return the least and the most of amounts per call, by trial."""
        each = [sum(row[name] for name in amounts) / row["llm_calls"] for row in self.rows if row["llm_calls"]]  # type: ignore[literal-required]
        return min(each, default=0.0), max(each, default=0.0)

    def accepted(self) -> Mapping[int, float]:
        """Return, by trial, the share of its tasks whose answer was accepted in it."""
        reached = Counter(row["trial"] for row in self.rows)
        accepted = Counter(row["trial"] for row in self.rows if row["verdict"])
        return {trial: accepted[trial] / count for trial, count in reached.items()}

    def money(self, settings: Mapping[str, Any]) -> tuple[float, float, float] | None:
        """Return the least cost of a call, the mean cost of a trial and the most of a call; None without prices.

        Args:
            settings: The settings with the prices, as in `run.json`.
        """
        actor = _price_of(settings, settings["model"])
        other = _price_of(settings, settings["reflection_model"] or settings["model"])
        if actor is None or other is None:
            return None
        costs, calls = [], []
        for row in self.rows:
            usage: Mapping[str, Any] = row.get("usage") or {"act": row}
            costs.append(sum(_cost(each, actor if node == "act" else other) for node, each in usage.items()))
            if row["llm_calls"]:
                calls.append(costs[-1] / row["llm_calls"])
        return min(calls, default=0.0), sum(costs) / len(costs), max(calls, default=0.0)

    def together(self, concurrency: int, tasks: int) -> float:
        """Return the mean number of trials in flight of N tasks."""
        seconds = sum(run.info.get("seconds", 0.0) for run in self.runs)
        in_trials = sum(row["seconds"] for run in self.runs for row in run.trials)
        in_flight = float(max(1, min(concurrency, tasks)))
        if not seconds or not in_trials:
            return in_flight
        had = max(min(run.settings.get("concurrency", 1), len(run.info["tasks"])) for run in self.runs)
        return float(in_trials / seconds * in_flight / max(1, had))


def choose(settings: Mapping[str, Any], own: Run | None, runs: Sequence[Run]) -> Measured | None:
    """Return the recorded runs that are most like one, of the same environment and actor; None without any.

    Args:
        settings: The run's, as in `run.json`.
        own: Its own record, which is preferred.
        runs: Other recorded runs.
    """
    if own is not None and any(not row["fault"] for row in own.trials):
        return Measured((own,), "itself", True)
    fit = [
        run
        for run in runs
        if all(run.settings.get(name) == settings[name] for name in ("environment", "actor"))
        and any(row["llm_calls"] and not row["fault"] for row in run.trials)
    ]
    if not fit:
        return None

    def likeness(run: Run) -> list[bool]:
        return [run.settings.get(name) == settings[name] for name in LIKENESS]

    best = max(map(likeness, fit))
    alike = tuple(run for run in fit if likeness(run) == best)
    others = [name.replace("_", " ") for name, same in zip(LIKENESS, best, strict=True) if not same]
    names = alike[0].folder.name + (f" and {len(alike) - 1} more" if len(alike) > 1 else "")
    timed = all((run.settings["model"] == DEMO) == (settings["model"] == DEMO) for run in alike)
    return Measured(alike, f"{names} (other {', '.join(others)})" if others else names, timed)


def _price_of(settings: Mapping[str, Any], model: str) -> Price | None:
    if model == DEMO:
        return Price(0.0, 0.0)
    prices = settings["prices"]
    names = [name for name in prices if name in (model, model.partition(":")[2]) or name.partition(":")[2] == model]
    return Price.parse(prices[names[0]]) if names else None


def _cost(usage: Any, price: Price) -> float:
    return float(usage["input_tokens"] * price.input + usage["output_tokens"] * price.output) / 1e6


def opening_tokens(settings: RunSettings, environment: Environment, task: Task) -> int | None:
    """Return the approximate tokens of a task's first prompt without tool schemas; None if it cannot be started here.

    Args:
        settings: The run's, resolved.
        environment: Its environment.
        task: One of its tasks.
    """
    from langgraph_reflexion.testing import ScriptedChatModel

    prompts: list[list[BaseMessage]] = []

    def reply(messages: list[BaseMessage]) -> AIMessage:
        prompts.append(messages)
        return AIMessage("Nothing.")  # an empty reply would be requested again

    graph = create_reflexion(
        ScriptedChatModel(replies=reply),
        environment,
        actor=settings.actor,
        strategy=settings.strategy,
        evaluator=settings.evaluator if settings.evaluator == "self-tests" else None,
        profile=settings.profile,
        options=ModelOptions(retries=Retries(1)),
    ).compile()

    async def first_step() -> None:
        async for update in graph.astream({"task": task}, stream_mode="updates"):
            if "act" in update:
                return

    try:
        asyncio.run(first_step())
    except ReflexionError:
        return None
    return sum(len(message.text) for message in prompts[-1]) // CHARACTERS_PER_TOKEN if prompts else None
