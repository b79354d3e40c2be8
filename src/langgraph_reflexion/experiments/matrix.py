"""Experiments: a matrix of runs, each in its own run folder, with a common budget."""

import asyncio
import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic, perf_counter
from types import MappingProxyType
from typing import Any, Literal

from langgraph_reflexion.budgets import Budget, Consumption
from langgraph_reflexion.envs.base import Environment, Task
from langgraph_reflexion.errors import ConfigurationError, EnvironmentUnavailable, ReflexionError
from langgraph_reflexion.experiments.experiment_folder import write_experiment
from langgraph_reflexion.experiments.locks import locked
from langgraph_reflexion.experiments.matrix_file import Experiment, RunSpec
from langgraph_reflexion.experiments.record import Run, holds_run, read_info, read_run
from langgraph_reflexion.experiments.rows import TrialRow, key_of
from langgraph_reflexion.experiments.run_info import continued
from langgraph_reflexion.experiments.runner import arun
from langgraph_reflexion.experiments.scheduler import Observer
from langgraph_reflexion.experiments.setup import set_up
from langgraph_reflexion.experiments.workers import check_workers
from langgraph_reflexion.models.load import DEMO, ModelUnavailable
from langgraph_reflexion.models.usage import Price, price_of
from langgraph_reflexion.settings import RunSettings

Opening = Callable[[RunSettings, Environment, Task], int | None]
Status = Literal["finished", "faults", "stopped", "refused"]


@dataclass(frozen=True)
class PlannedRun:
    """A run of an experiment whose settings have been checked.

    Attributes:
        spec: Its place in the matrix.
        folder: Its run folder.
        settings: Its settings, resolved; as in the file if it cannot run.
        tasks: Its tasks.
        run: Its record; None before it has begun.
        finished: True if nothing is left to run.
        refusal: Why it cannot run; empty if it can.
        opening: Approximate tokens of its first prompt; None if they were not counted.
    """

    spec: RunSpec
    folder: Path
    settings: RunSettings
    tasks: tuple[Task, ...] = ()
    run: Run | None = None
    finished: bool = False
    refusal: str = ""
    opening: int | None = None


@dataclass(frozen=True)
class Outcome:
    """The outcome of a run.

    Attributes:
        name: The run's.
        folder: Its run folder.
        status: `finished`; `faults` if tasks ended by faults, by errors or on their own budget; `stopped` by an
            error or by the experiment's budget; `refused` if it was not begun.
        why: What stopped or refused it.
        tasks: N tasks by the status that they ended with; None if the run was not begun.
        seconds: Wall time of this process.
    """

    name: str
    folder: Path
    status: Status
    why: str = ""
    tasks: dict[str, int] | None = None
    seconds: float = 0.0

    def as_json(self) -> dict[str, Any]:
        """Return the outcome as plain JSON."""
        return {
            "name": self.name,
            "dir": str(self.folder),
            "status": self.status,
            "why": self.why,
            "tasks": self.tasks or {},
            "seconds": round(self.seconds, 3),
        }


class ExperimentObserver(Observer):
    """Sees how the runs of an experiment go; the methods of this one do nothing."""

    def on_run(self, name: str) -> None:
        """A run begins."""

    def on_outcome(self, outcome: Outcome) -> None:
        """A run has ended, or was not begun."""


class BudgetExceeded(Exception):
    """The experiment's budget is used up. The message says which limit."""


class ExperimentBudget(Observer):
    """Counts what all runs spend, and stops the current one when the budget is used up.

    Money, tokens, calls and actions are counted when a trial is recorded, time continuously. Trials in flight when a
    run stops are counted when it is resumed.

    Args:
        budget: The experiment's.
        observer: Sees each run, too.
        runs: The records of earlier processes.
    """

    def __init__(self, budget: Budget, observer: Observer, runs: Sequence[Run]) -> None:
        self._budget, self._observer = budget, observer
        self._rows: dict[tuple[str, str, int], Consumption] = {}
        self._total = Consumption()
        self._earlier = sum(run.info.get("seconds", 0.0) for run in runs)
        self._began = monotonic()
        for run in runs:
            for row in run.trials:
                self._count(run.folder.name, row)

    def begin(self, name: str) -> None:
        """Begin a run: the next rows are its own."""
        self._name = name

    def seconds_left(self) -> float | None:
        """Return the seconds that are left; None without a limit."""
        if self._budget.seconds is None:
            return None
        return max(0.0, self._budget.seconds - self._seconds)

    def used_up(self) -> str | None:
        """Return which limit is reached, in words; None while nothing is used up."""
        limit = self._budget.used_up(self._total._replace(seconds=self._seconds))
        return f"the experiment's budget of {limit} is used up" if limit else None

    def on_start(self, folder: Path, tasks: int, trials: int, played_by: str) -> None:
        self._observer.on_start(folder, tasks, trials, played_by)

    def on_action(self) -> None:
        self._observer.on_action()

    def on_trial(self, row: TrialRow, finished: bool) -> None:
        self._observer.on_trial(row, finished)
        self._count(self._name, row)
        if limit := self.used_up():
            raise BudgetExceeded(limit)

    def on_error(self, task: str, error: str) -> None:
        self._observer.on_error(task, error)

    @property
    def _seconds(self) -> float:
        return float(self._earlier) + monotonic() - self._began

    def _count(self, name: str, row: TrialRow) -> None:
        # A trial is reported again when its run is resumed, and when it is repeated after a fault.
        key = (name, *key_of(row))
        spent = Consumption(row["actions"], row["llm_calls"], row["input_tokens"] + row["output_tokens"], row["cost"])
        self._total = self._total + (spent - self._rows.get(key, Consumption()))
        self._rows[key] = spent


@contextmanager
def checked(
    experiment: Experiment,
    folder: Path | str,
    given: Mapping[str, Any] = MappingProxyType({}),
    *,
    opening: Opening | None = None,
) -> Iterator[list[PlannedRun]]:
    """Check every run before the first one begins, and hold the experiment's folder meanwhile.

    Args:
        experiment: The matrix.
        folder: Where it is recorded.
        given: Settings that replace the file's, as for `run_experiment`.
        opening: Counts the tokens of the first prompt of a run that has not begun.

    Raises:
        ConfigurationError: settings of some runs are wrong, all of which are named; or another process holds the
            folder.
    """
    folder = Path(folder)
    with locked(folder):
        yield check(experiment, folder, given, opening=opening)


def check(
    experiment: Experiment,
    folder: Path | str,
    given: Mapping[str, Any] = MappingProxyType({}),
    *,
    opening: Opening | None = None,
) -> list[PlannedRun]:
    """Check every run without holding the folder; see `checked`."""
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
                if experiment.budget.cost is not None:
                    _expect_prices(spec.settings)
                found.append(_check(spec, folder / spec.name, environments, opening=opening))
            except ConfigurationError as error:
                wrong[str(error)].append(spec.name)
    finally:
        for environment in environments.values():
            environment.close()
    if wrong:
        lines = [f"{_names(names)}: {error}" for error, names in wrong.items()]
        hint = "change that table, or leave these runs out by [[exclude]]"
        raise ConfigurationError(f"{experiment.file}: {'; '.join(lines)} ({hint})")
    return found


def _expect_prices(settings: RunSettings) -> None:
    prices = {name: Price.parse(price) for name, price in settings.prices.items()}
    for model in (settings.model, settings.reflection_model):
        if model not in (None, DEMO):
            price_of(str(model).partition(":")[2] or str(model), prices, needed=True)


def _check(
    spec: RunSpec, folder: Path, environments: dict[str, Environment], *, opening: Opening | None
) -> PlannedRun:
    settings = spec.settings
    try:
        key = json.dumps([settings.environment, settings.options, settings.seed], sort_keys=True, default=str)
        if key not in environments:
            environments[key] = settings.make_environment()
        settings = settings.resolved(environments[key])
        tasks = set_up(settings, environments[key]).tasks
    except (EnvironmentUnavailable, ModelUnavailable) as error:
        return PlannedRun(spec, folder, settings, run=_recorded(folder), refusal=str(error))
    run = _recorded(folder)
    found = PlannedRun(spec, folder, settings, tuple(tasks), run)
    if run is None:
        return replace(found, opening=opening(settings, environments[key], tasks[0]) if opening else None)
    try:
        ids = [task["id"] for task in tasks]
        continued(read_info(folder), settings, ids, folder)
    except ConfigurationError as error:
        return replace(found, refusal=str(error))
    return replace(found, finished=_finished(run, settings, ids))


def _recorded(folder: Path) -> Run | None:
    return read_run(folder) if holds_run(folder) else None


def _finished(run: Run, settings: RunSettings, tasks: Sequence[str]) -> bool:
    """Return whether every task has ended, and none by a fault, an error or a budget."""
    if run.errors:
        return False
    last = {row["task_id"]: row for row in run.trials}
    if any(task not in last or last[task]["fault"] or last[task]["stop_reason"] == "budget" for task in tasks):
        return False
    left = [row for row in last.values() if not row["verdict"] and row["trial"] < (settings.max_trials or 0)]
    if not left or not settings.until_no_improvement:
        return not left
    # Tasks that advance together end together, once a trial has solved nothing new.
    latest = max(row["trial"] for row in last.values())
    solved = any(row["verdict"] and row["trial"] == latest for row in last.values())
    return latest > 1 and not solved and all(row["trial"] == latest for row in left)


async def run_experiment(
    experiment: Experiment,
    runs: Sequence[PlannedRun],
    folder: Path | str,
    observer: ExperimentObserver,
    given: Mapping[str, Any],
) -> list[Outcome]:
    """Run the unfinished runs of an experiment one after the other. One that stops does not stop the others.

    Args:
        experiment: The matrix.
        runs: Its runs, as `checked` has them. The folder must be held.
        folder: Where it is recorded.
        observer: Sees how the runs go.
        given: Settings that replace the file's and do not affect the record, such as `concurrency`.

    Returns:
        The outcome of each run, in their order.
    """
    facts = {
        each.spec.name: {
            "series": each.spec.series,
            "axes": dict(each.spec.axes),
            "settings": each.settings.public(),
        }
        for each in runs
    }
    budget = {name: limit for name, limit in vars(experiment.budget).items() if limit is not None}
    write_experiment(Path(folder), {"file": experiment.file.name, "budget": budget}, facts)
    budget_left = ExperimentBudget(experiment.budget, observer, [run.run for run in runs if run.run])
    outcomes = []
    for each in runs:
        if each.refusal:
            outcome = Outcome(each.spec.name, each.folder, "refused", each.refusal)
        elif each.finished:
            outcome = Outcome(each.spec.name, each.folder, "finished")
        else:
            observer.on_run(each.spec.name)
            outcome = await _run(each, budget_left, given)
        observer.on_outcome(outcome)
        outcomes.append(outcome)
    return outcomes


async def _run(each: PlannedRun, budget_left: ExperimentBudget, given: Mapping[str, Any]) -> Outcome:
    settings = each.spec.settings.changed(dict(given))
    began = perf_counter()

    def outcome(status: Status, why: str = "", tasks: dict[str, int] | None = None) -> Outcome:
        return Outcome(each.spec.name, each.folder, status, " ".join(why.split()), tasks, perf_counter() - began)

    if used_up := budget_left.used_up():
        return outcome("refused", used_up)
    try:
        budget_left.begin(each.spec.name)
        async with asyncio.timeout(budget_left.seconds_left()):
            summary = await arun(settings, each.folder, budget_left)
        return outcome("finished" if summary.clean else "faults", tasks=summary.statuses)
    except BudgetExceeded as spent:
        return outcome("stopped", str(spent))
    except ReflexionError as error:
        return outcome("stopped", str(error))
    # An environment may have a bug, which is no reason to stop the other runs.
    except Exception as error:
        late = budget_left.used_up() if isinstance(error, TimeoutError) else None
        return outcome("stopped", late or f"{type(error).__name__}: {error}")


def _names(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) < 4 else f"{names[0]}, {names[1]} and {len(names) - 2} more"
