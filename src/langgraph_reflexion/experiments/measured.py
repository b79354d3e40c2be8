"""Measures of recorded runs for estimates: calls, tokens and seconds per trial, and the success curve."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langgraph_reflexion.experiments.record import Run
from langgraph_reflexion.experiments.rows import TrialRow
from langgraph_reflexion.models.load import DEMO
from langgraph_reflexion.models.usage import Price
from langgraph_reflexion.settings import RunSettings

_APART = ("environment", "actor", "seed", "prices", "checkpoints", "database")
_FIRST = (
    *("model", "strategy", "evaluator", "feedback", "profile", "memory_size"),
    *("split", "options", "reflection_model", "temperature", "base_url"),
)

LIKENESS = [*_FIRST, *(name for name in RunSettings.resumable("fixed") if name not in (*_APART, *_FIRST))]
"""The settings that a run should share with one to be measured by, the most important first; it must share
environment and actor."""


@dataclass(frozen=True)
class Measured:
    """Recorded runs, as a measure of one.

    Attributes:
        runs: The runs, all equally like it.
        told: Which they are, and in what they differ from it, in words.
        timed: Whether they say how long it takes: a demo model and an LLM say nothing about each other's time.
    """

    runs: tuple[Run, ...]
    told: str
    timed: bool

    @property
    def rows(self) -> list[TrialRow]:
        """Their trials, those that met a fault left out."""
        return [row for run in self.runs for row in run.trials if not row["fault"]]

    def per_trial(self, amount: str) -> float:
        """The mean of a number over trials, such as `llm_calls`."""
        return sum(row[amount] for row in self.rows) / len(self.rows)  # type: ignore[literal-required]

    def per_call(self, *amounts: str) -> tuple[float, float, float]:
        """Return amounts per call: the least of any trial, the mean, and the most."""
        of = [(sum(row[name] for name in amounts), row["llm_calls"]) for row in self.rows if row["llm_calls"]]  # type: ignore[literal-required]
        each = [amount / calls for amount, calls in of]
        if not each:
            return 0.0, 0.0, 0.0
        return min(each), sum(amount for amount, _ in of) / sum(calls for _, calls in of), max(each)

    def accepted(self) -> Mapping[int, float]:
        """By trial, the share of the tasks that came to it whose answer was accepted in it."""
        came = Counter(row["trial"] for row in self.rows)
        accepted = Counter(row["trial"] for row in self.rows if row["verdict"])
        return {trial: accepted[trial] / count for trial, count in came.items()}

    def money(self, settings: Mapping[str, Any]) -> tuple[float, float, float] | None:
        """Return the cost of calls and trials at a run's prices; None without prices.

        Args:
            settings: The run's, as `run.json` has them.

        Returns:
            The cost of a call in the cheapest trial, of a trial, and of a call in the dearest trial.
        """
        actor = price_of(settings, settings["model"])
        other = price_of(settings, settings["reflection_model"] or settings["model"])
        if actor is None or other is None:
            return None
        costs, calls = [], []
        for row in self.rows:
            usage: Mapping[str, Any] = row.get("usage") or {"act": row}
            cost = sum(_cost(each, actor if node == "act" else other) for node, each in usage.items())
            costs.append(cost)
            if row["llm_calls"]:
                calls.append(cost / row["llm_calls"])
        return min(calls, default=0.0), sum(costs) / len(costs), max(calls, default=0.0)

    def together(self, concurrency: int, tasks: int) -> float:
        """Return the number of trials at once in a run of N tasks, as in these runs."""
        seconds = sum(run.info.get("seconds", 0.0) for run in self.runs)
        in_trials = sum(row["seconds"] for run in self.runs for row in run.trials)
        if not seconds or not in_trials:
            return float(max(1, min(concurrency, tasks)))
        had = max(min(run.settings.get("concurrency", 1), len(run.info["tasks"])) for run in self.runs)
        return float(in_trials / seconds * max(1, min(concurrency, tasks)) / max(1, had))


def price_of(settings: Mapping[str, Any], model: str) -> Price | None:
    """The price of a model's tokens under a run's settings: 0 for the demo model, None where it is not known."""
    if model == DEMO:
        return Price(0.0, 0.0)
    prices = settings["prices"]
    names = [name for name in prices if name in (model, model.partition(":")[2]) or name.partition(":")[2] == model]
    return Price.parse(prices[names[0]]) if names else None


def choose(settings: Mapping[str, Any], own: Run | None, runs: Sequence[Run]) -> Measured | None:
    """The recorded runs that are most like one, of the same environment and actor; None where there are none.

    Args:
        settings: The one, as `run.json` has its settings.
        own: What it has recorded itself, which goes before all others.
        runs: Those that may be like it.
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


def _cost(usage: Any, price: Price) -> float:
    return float(usage["input_tokens"] * price.input + usage["output_tokens"] * price.output) / 1e6
