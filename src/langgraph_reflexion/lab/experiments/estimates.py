"""Estimates of the work left in the runs of an experiment: unfinished tasks times the means of recorded runs."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langgraph_reflexion.lab.experiments.matrix import PlannedRun
from langgraph_reflexion.lab.experiments.metrics import lacks_tokens, tokens
from langgraph_reflexion.lab.experiments.rows import TrialRow
from langgraph_reflexion.lab.experiments.runs import Run
from langgraph_reflexion.lab.experiments.tables import Table
from langgraph_reflexion.lab.in_turn import model_names, model_of
from langgraph_reflexion.models.load import DEMO
from langgraph_reflexion.models.recorded import ended_at_no_gain
from langgraph_reflexion.models.usage import Price, price_of

LEGEND = (
    "Estimates are trials per task and means per trial of a recorded run with the same environment and actor. "
    "?: no such run is recorded (name one with --like), or a price is missing."
)
LIKENESS = ("model", "strategy", "evaluator", "profile", "max_trials", "seed")
"""The settings in which a recorded run should be like the run that is estimated, the weightiest first."""
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
    """Wall time, with as many tasks at once as the run has."""
    cost: float | None = 0.0
    """At the prices of the file."""
    basis: str = ""
    """The recorded run that the means come from."""


def estimate(planned: PlannedRun, recorded: Sequence[Run]) -> Estimate:
    """Estimate what is left of a run."""
    name = planned.spec.name
    if planned.refusal:
        return Estimate(name, planned.refusal)
    left = _trials_left(planned)
    if not left:
        return Estimate(name)
    settings = planned.settings.public()
    own: list[Run] = []
    if planned.run:
        own.append(planned.run)
    pilot = _pilot(settings, own, recorded)
    if pilot is None:
        return Estimate(
            name,
            tasks=len(left),
            most=sum(left),
            trials=None,
            calls=None,
            tokens=None,
            seconds=None,
            cost=None,
        )
    rows = _measured(pilot)
    tasks = {row["task_id"] for row in rows}
    per_task = len(rows) / len(tasks)
    trials = sum(min(per_task, most) for most in left)

    def in_all(amounts: Sequence[float]) -> float:
        """Return an amount in all trials that are left, from its amount in each measured one."""
        return trials * sum(amounts) / len(rows)

    seconds = None
    pilot_is_demo = DEMO in model_names(pilot.settings["model"])
    is_demo = DEMO in model_names(settings["model"])
    # The demo model answers at once, and no other model is as quick.
    if pilot_is_demo == is_demo:
        in_trials = in_all([row["seconds"] for row in rows])
        seconds = wall_time(in_trials, settings["concurrency"], left, rows)
    used = None
    cost = None
    # An older run has not recorded what its cached replies had cost.
    if not lacks_tokens(rows):
        used = in_all([tokens(row) for row in rows])
        costs = _costs(settings, rows)
        if costs is not None:
            cost = in_all(costs)
    return Estimate(
        name,
        tasks=len(left),
        most=sum(left),
        trials=trials,
        calls=in_all([row["llm_calls"] + row["cached_calls"] for row in rows]),
        tokens=used,
        seconds=seconds,
        cost=cost,
        basis=pilot.folder.name,
    )


def wall_time(in_trials: float, concurrency: int, left: Sequence[int], rows: Sequence[TrialRow]) -> float:
    """Return the wall time of the work that is left.

    Tasks run at once, and the trials of one task one after the other: a run takes at least as long as the task that
    needed longest.

    Args:
        in_trials: Seconds of all trials that are left, one after the other.
        concurrency: The number of tasks at once.
        left: The number of trials that each task has left at most.
        rows: The measured trials.
    """
    by_task: dict[str, float] = defaultdict(float)
    for row in rows:
        by_task[row["task_id"]] += row["seconds"]
    shared = in_trials / min(concurrency, len(left))
    return max(shared, max(by_task.values()))


def _trials_left(planned: PlannedRun) -> list[int]:
    """Return the number of trials that each unfinished task of a run still has at most."""
    limit: int = planned.settings.public()["max_trials"]
    recorded: Mapping[str, Sequence[TrialRow]] = {}
    if planned.run:
        recorded = planned.run.tasks
        if planned.run.stopped_after is not None:
            limit = min(limit, planned.run.stopped_after)
    left: list[int] = []
    for task in planned.tasks:
        played = _played(recorded.get(task["id"], ()), limit)
        if played < limit:
            left.append(limit - played)
    return left


def total(estimates: Sequence[Estimate]) -> Estimate:
    """Return the sum of estimates."""
    return Estimate(
        "all",
        tasks=sum(each.tasks for each in estimates),
        most=sum(each.most for each in estimates),
        trials=_sum([each.trials for each in estimates]),
        calls=_sum([each.calls for each in estimates]),
        tokens=_sum([each.tokens for each in estimates]),
        seconds=_sum([each.seconds for each in estimates]),
        cost=_sum([each.cost for each in estimates]),
    )


def _sum(amounts: Sequence[float | None]) -> float | None:
    """Return the sum of amounts; None if one is unknown, without which it would say too little."""
    known = [amount for amount in amounts if amount is not None]
    if len(known) < len(amounts):
        return None
    return sum(known)


def estimate_table(estimates: Sequence[Estimate]) -> Table:
    """Return the estimates of some runs, and of all of them together, as a table."""
    rows = [_estimate_row(each) for each in estimates]
    if len(estimates) != 1:
        rows.append(_estimate_row(total(estimates)))
    notes = [LEGEND]
    runs_by_basis: dict[str, list[str]] = defaultdict(list)
    for each in estimates:
        if each.refusal:
            notes.append(f"{each.name}: {each.refusal}")
        if each.basis:
            runs_by_basis[each.basis].append(each.name)
    for basis in sorted(runs_by_basis):
        names = ", ".join(runs_by_basis[basis])
        notes.append(f"the means of {basis} are used for {names}")
    return Table("What is left to run, with estimates", HEAD, rows, " · ".join(notes), dense=True)


def _estimate_row(estimate: Estimate) -> list[str]:
    """Return an estimate as a row of the table."""
    if estimate.refusal:
        return [estimate.name, "cannot run"]
    return [
        estimate.name,
        f"{estimate.tasks:,}",
        f"{estimate.most:,}",
        _text(estimate.trials),
        _text(estimate.calls),
        _text(estimate.tokens),
        _text(estimate.seconds),
        _text(estimate.cost),
    ]


def _text(amount: float | None) -> str:
    """Return an amount for a reader: small ones with decimals, and a question mark for an unknown one."""
    if amount is None:
        return "?"
    if amount >= 10 or amount == int(amount):
        return f"{amount:,.0f}"
    return f"{amount:.2f}"


def _played(rows: Sequence[TrialRow], limit: int) -> int:
    """Return the number of a task's finished trials; the limit if it is solved, or has stopped at no gain."""
    if not rows:
        return 0
    last = rows[-1]
    if last["verdict"] or ended_at_no_gain(last["notes"]):
        return limit
    if last["stop_reason"] in ("fault", "budget"):
        # That trial is played again.
        return last["trial"] - 1
    return last["trial"]


def _pilot(settings: Mapping[str, Any], own: Sequence[Run], recorded: Sequence[Run]) -> Run | None:
    """Return the recorded run to measure by: the run's own record, or the one most like it."""

    def likeness(run: Run) -> list[bool]:
        return [run.settings.get(name) == settings[name] for name in LIKENESS]

    for runs in (own, recorded):
        fit = [run for run in runs if _is_fit(run, settings)]
        if fit:
            return max(fit, key=likeness)
    return None


def _is_fit(run: Run, settings: Mapping[str, Any]) -> bool:
    """Return whether the means of a recorded run say something about a run with these settings."""
    for name in ("environment", "actor"):
        if run.settings.get(name) != settings[name]:
            return False
    return bool(_measured(run))


def _measured(run: Run) -> list[TrialRow]:
    """Return the trials of a run that no fault has cut short."""
    return [row for row in run.trials if not row["fault"]]


def _costs(settings: Mapping[str, Any], rows: Sequence[TrialRow]) -> list[float] | None:
    """Return the costs of trials at the prices of these settings; None if a price is missing."""
    costs: list[float] = []
    for row in rows:
        cost = _cost(settings, row)
        if cost is None:
            return None
        costs.append(cost)
    return costs


def _cost(settings: Mapping[str, Any], row: TrialRow) -> float | None:
    """Return a trial's cost at the prices of these settings; None without one."""
    prices = {name: Price.parse(price) for name, price in settings["prices"].items()}
    cost = 0.0
    for node, usage in row.get("usage", {}).items():
        model = model_of(settings, row["trial"], node)
        if model == DEMO:
            continue
        name = model.partition(":")[2] or model
        price = price_of(name, prices, needed=False)
        if price is None:
            return None
        # Nobody can count on a cache, so its replies are priced, too.
        sent = (usage["input_tokens"] + usage.get("reused_input_tokens", 0)) * price.input
        received = (usage["output_tokens"] + usage.get("reused_output_tokens", 0)) * price.output
        cost += (sent + received) / 1e6
    return cost
