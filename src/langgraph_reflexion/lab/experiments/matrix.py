"""Experiments: a matrix of runs, each in its own run folder, and estimates of the work left in it.

An estimate is unfinished tasks times the means of recorded runs.
"""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from time import perf_counter
from types import MappingProxyType
from typing import Any, Literal

from langgraph_reflexion.envs.base import Environment, Task
from langgraph_reflexion.errors import ConfigurationError, EnvironmentUnavailable, ReflexionError
from langgraph_reflexion.lab.experiments.matrix_file import Experiment, RunSpec
from langgraph_reflexion.lab.experiments.metrics import tokens
from langgraph_reflexion.lab.experiments.record import Run, holds_run, read_run
from langgraph_reflexion.lab.experiments.rows import TrialRow
from langgraph_reflexion.lab.experiments.runner import arun
from langgraph_reflexion.lab.experiments.scheduler import Observer
from langgraph_reflexion.lab.experiments.setup import set_up
from langgraph_reflexion.lab.experiments.tables import Table
from langgraph_reflexion.lab.experiments.workers import check_workers
from langgraph_reflexion.lab.settings import RunSettings
from langgraph_reflexion.models.load import DEMO, ModelUnavailable
from langgraph_reflexion.models.usage import Price, price_of
from langgraph_reflexion.support.sync import finished

RunStatus = Literal["finished", "faults", "stopped", "refused"]


@dataclass(frozen=True)
class PlannedRun:
    """A run of an experiment whose settings have been checked and resolved."""

    spec: RunSpec
    folder: Path
    settings: RunSettings
    tasks: tuple[Task, ...] = ()
    run: Run | None = None
    """Its record; None before it has begun."""
    refusal: str = ""
    """Why it cannot run; empty if it can."""


@dataclass(frozen=True)
class RunOutcome:
    """The outcome of a run."""

    name: str
    folder: Path
    status: RunStatus
    """`finished`; `faults` if tasks ended by faults, by errors or on their own budget; `stopped` by an error;
    `refused` if it was not begun."""
    why: str = ""
    """What stopped or refused it."""
    tasks: dict[str, int] = field(default_factory=dict)
    """N tasks by the status that they ended with."""
    seconds: float = 0.0

    def as_json(self) -> dict[str, Any]:
        fields = {name: value for name, value in vars(self).items() if name != "folder"}
        return fields | {"dir": str(self.folder), "seconds": round(self.seconds, 3)}


class ExperimentObserver(Observer):
    """Sees how the runs of an experiment go; the methods of this one do nothing."""

    def on_run(self, name: str) -> None:
        """A run begins."""

    def on_outcome(self, outcome: RunOutcome) -> None:
        """A run has ended, or was not begun."""


def check(
    experiment: Experiment, folder: Path | str, given: Mapping[str, Any] = MappingProxyType({})
) -> list[PlannedRun]:
    """Check every run before the first one begins, with settings that replace the file's (`given`).

    Raises:
        ConfigurationError: settings of some runs are wrong, all of which are named.
    """
    folder = Path(folder)
    if holds_run(folder):
        raise ConfigurationError(f"{folder} holds a single run: choose another --out for the experiment")
    environments: dict[str, Environment] = {}
    wrong: dict[str, list[str]] = defaultdict(list)
    found = []
    try:
        for spec in experiment.specs:
            try:
                check_workers(spec.settings.changed(dict(given)))
                found.append(_check(spec, folder / spec.name, environments))
            except ConfigurationError as error:
                wrong[str(error)].append(spec.name)
    finally:
        for environment in environments.values():
            finished(environment.close())
    if wrong:
        lines = [f"{', '.join(names)}: {error}" for error, names in wrong.items()]
        hint = "change that table, or leave these runs out by [[exclude]]"
        raise ConfigurationError(f"{experiment.file}: {'; '.join(lines)} ({hint})")
    return found


def _check(spec: RunSpec, folder: Path, environments: dict[str, Environment]) -> PlannedRun:
    settings, run = spec.settings, read_run(folder) if holds_run(folder) else None
    try:
        key = json.dumps([settings.environment, settings.options, settings.seed], sort_keys=True, default=str)
        if key not in environments:
            environments[key] = settings.make_environment()
        settings = settings.resolved(environments[key])
        return PlannedRun(spec, folder, settings, tuple(set_up(settings, environments[key]).tasks), run)
    except (EnvironmentUnavailable, ModelUnavailable) as error:
        return PlannedRun(spec, folder, settings, run=run, refusal=str(error))


async def run_experiment(
    runs: Sequence[PlannedRun], observer: ExperimentObserver, given: Mapping[str, Any]
) -> list[RunOutcome]:
    """Run or resume the runs of an experiment one after the other. One that stops does not stop the others."""
    outcomes = []
    for each in runs:
        began = perf_counter()
        status, why, tasks = await _run(each, observer, given)
        seconds = perf_counter() - began
        outcomes.append(RunOutcome(each.spec.name, each.folder, status, " ".join(why.split()), tasks, seconds))
        observer.on_outcome(outcomes[-1])
    return outcomes


async def _run(
    each: PlannedRun, observer: ExperimentObserver, given: Mapping[str, Any]
) -> tuple[RunStatus, str, dict[str, int]]:
    if each.refusal:
        return "refused", each.refusal, {}
    observer.on_run(each.spec.name)
    try:
        summary = await arun(each.spec.settings.changed(dict(given)), each.folder, observer, each.spec.axes)
    except ReflexionError as error:
        return "stopped", str(error), {}
    except Exception as error:  # a bug in one run's environment does not stop the other runs
        return "stopped", f"{type(error).__name__}: {error}", {}
    return ("finished" if summary.clean else "faults"), "", summary.statuses


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
    trials = planned.run.tasks if planned.run else {}
    limit = settings["max_trials"]
    if planned.run and planned.run.stopped_after is not None:
        limit = min(limit, planned.run.stopped_after)
    played = [_played(trials.get(task["id"], ()), limit) for task in planned.tasks]
    left = [limit - trials for trials in played if trials < limit]
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


def _played(rows: Sequence[TrialRow], limit: int) -> int:
    """Return the number of a task's finished trials; the limit if it is solved."""
    if not rows:
        return 0
    last = rows[-1]
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
