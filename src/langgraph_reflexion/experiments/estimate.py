"""Estimates of the work left in an experiment: unfinished tasks times the means of recorded runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Any

from langgraph_reflexion.experiments.matrix import PlannedRun
from langgraph_reflexion.experiments.metrics import tokens
from langgraph_reflexion.experiments.record import Run
from langgraph_reflexion.experiments.rows import TrialRow
from langgraph_reflexion.experiments.tables import Table
from langgraph_reflexion.models.load import DEMO
from langgraph_reflexion.models.usage import Price, price_of

LEGEND = (
    "Estimates are trials per task and means per trial of a recorded run with the same environment and actor. "
    "?: no such run is recorded (name one with --like), or a price is missing."
)
AMOUNTS = ("trials", "calls", "tokens", "seconds", "cost")
HEAD = ("run", "tasks", "trials\nat most", "trials\nlikely", "model\ncalls", "tokens", "seconds", "cost")


@dataclass(frozen=True)
class Estimate:
    """The work left in a run: unfinished tasks, trials at most, and likely amounts; None is an unknown amount."""

    name: str
    refusal: str = ""
    """Why it cannot run; empty if it can."""
    tasks: int = 0
    most: int = 0
    trials: float | None = 0.0
    calls: float | None = 0.0
    tokens: float | None = 0.0
    seconds: float | None = 0.0
    """Wall time."""
    cost: float | None = 0.0
    """At the prices of the file."""
    basis: str = ""
    """The recorded run that the means come from."""


def estimate(planned: PlannedRun, recorded: Sequence[Run]) -> Estimate:
    """Estimate what is left of a run."""
    name, settings = planned.spec.name, planned.settings.public()
    if planned.refusal:
        return Estimate(name, planned.refusal)
    last = {row["task_id"]: row for row in planned.run.trials} if planned.run else {}
    played = [_played(last.get(task["id"]), settings["max_trials"]) for task in planned.tasks]
    left = [settings["max_trials"] - trials for trials in played if trials < settings["max_trials"]]
    if not left:
        return Estimate(name)
    pilot = _pilot(settings, [planned.run] if planned.run else [], recorded)
    if pilot is None:
        unknown: dict[str, Any] = dict.fromkeys(AMOUNTS)
        return Estimate(name, tasks=len(left), most=sum(left), **unknown)
    rows = _measured(pilot)
    per_task = len(rows) / len({row["task_id"] for row in rows})
    trials = sum(min(per_task, each) for each in left)
    calls, sent, seconds = (
        trials * sum(amounts) / len(rows)
        for amounts in zip(*((row["llm_calls"], tokens(row), row["seconds"]) for row in rows), strict=True)
    )
    comparable = (pilot.settings["model"] == DEMO) == (settings["model"] == DEMO)
    at_once = min(settings["concurrency"], len(left))
    costs = [_cost(settings, row) for row in rows]
    cost = None if None in costs else trials * sum(each or 0.0 for each in costs) / len(rows)
    wall = seconds / at_once if comparable else None
    return Estimate(name, "", len(left), sum(left), trials, calls, sent, wall, cost, pilot.folder.name)


def total(estimates: Sequence[Estimate]) -> Estimate:
    """Return the sum of estimates."""
    sums: dict[str, Any] = {name: sum(getattr(each, name) for each in estimates) for name in ("tasks", "most")}
    for name in AMOUNTS:
        amounts = [getattr(each, name) for each in estimates]
        sums[name] = None if None in amounts else sum(amounts)
    return Estimate("all", **sums)


def estimate_table(estimates: Sequence[Estimate]) -> Table:
    """Return the estimates of some runs, and of all of them together, as a table."""
    rows = []
    for each in [*estimates, *([total(estimates)] if len(estimates) != 1 else [])]:
        amounts = [_text(vars(each)[name]) for name in AMOUNTS]
        left = [f"{each.tasks:,}", f"{each.most:,}", *amounts]
        rows.append([each.name, *(["cannot run"] if each.refusal else left)])
    basis_of = attrgetter("basis")
    notes = [f"{each.name}: {each.refusal}" for each in estimates if each.refusal]
    for basis, runs in groupby(sorted(estimates, key=basis_of), basis_of):
        notes += [f"the means of {basis} are used for {', '.join(run.name for run in runs)}"] if basis else []
    return Table("What is left to run, with estimates", HEAD, rows, " · ".join([LEGEND, *notes]), dense=True)


def _text(amount: float | None) -> str:
    if amount is None:
        return "?"
    return f"{amount:,.0f}" if amount >= 10 or amount == int(amount) else f"{amount:.2f}"


def _played(last: TrialRow | None, limit: int) -> int:
    """Return the number of a task's finished trials, by its last row; the limit if it is solved."""
    if last is None:
        return 0
    return limit if last["verdict"] else last["trial"] - (last["stop_reason"] in ("fault", "budget"))


def _pilot(settings: Mapping[str, Any], own: Sequence[Run], recorded: Sequence[Run]) -> Run | None:
    """Return the recorded run to measure by: the run's own record, or the one most like it."""

    def shared(run: Run, *names: str) -> list[bool]:
        return [run.settings.get(name) == settings[name] for name in names]

    for runs in (own, recorded):
        fit = [run for run in runs if all(shared(run, "environment", "actor")) and _measured(run)]
        if fit:
            return max(fit, key=lambda run: shared(run, "model", "strategy", "evaluator", "profile", "max_trials"))
    return None


def _measured(run: Run) -> list[TrialRow]:
    return [row for row in run.trials if not row["fault"]]


def _cost(settings: Mapping[str, Any], row: TrialRow) -> float | None:
    """Return a trial's cost at the prices of these settings; None without one."""
    prices = {name: Price.parse(price) for name, price in settings["prices"].items()}
    cost = 0.0
    for node, usage in row.get("usage", {}).items():
        model = settings["model"] if node == "act" else settings["reflection_model"] or settings["model"]
        if model == DEMO:
            continue
        price = price_of(model.partition(":")[2] or model, prices, needed=False)
        if price is None:
            return None
        cost += (usage["input_tokens"] * price.input + usage["output_tokens"] * price.output) / 1e6
    return cost
