"""Experiments: a matrix of runs, each in a run folder of its own, run as a whole and resumed."""

import asyncio
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from types import MappingProxyType
from typing import Any, Literal, Protocol

from langgraph_reflexion.envs.base import Environment, Task
from langgraph_reflexion.errors import ConfigurationError, EnvironmentUnavailable, ReflexionError
from langgraph_reflexion.experiments.executors import check_executor
from langgraph_reflexion.experiments.experiment_budget import Purse, SpentAll
from langgraph_reflexion.experiments.lock import locked
from langgraph_reflexion.experiments.matrix_file import Cell, Experiment
from langgraph_reflexion.experiments.matrix_folder import write_info
from langgraph_reflexion.experiments.record import Run, holds_run, read_info, read_run
from langgraph_reflexion.experiments.run_info import continued
from langgraph_reflexion.experiments.runner import arun
from langgraph_reflexion.experiments.scheduler import Observer
from langgraph_reflexion.experiments.setup import set_up
from langgraph_reflexion.models.load import DEMO, ModelUnavailable
from langgraph_reflexion.models.usage import Price, price_of
from langgraph_reflexion.settings import RunSettings

Status = Literal["finished", "faults", "stopped", "refused"]


@dataclass(frozen=True)
class Checked:
    """A run that was put together, and not begun.

    Attributes:
        cell: What it is.
        folder: Its run folder.
        settings: Its settings, resolved; as the file has them where it cannot run.
        tasks: Its tasks.
        run: What is recorded of it; None before it began.
        finished: Whether nothing is left to be done.
        why_not: Why it cannot run; empty where it can.
        opening: How many tokens its first prompt has, about; None where that was not looked at.
    """

    cell: Cell
    folder: Path
    settings: RunSettings
    tasks: tuple[Task, ...] = ()
    run: Run | None = None
    finished: bool = False
    why_not: str = ""
    opening: int | None = None


@dataclass(frozen=True)
class Outcome:
    """The outcome of a run.

    Attributes:
        name: The run's.
        folder: Its run folder.
        status: `finished`; `faults` if tasks ended by faults, by errors or on a budget of their own; `stopped` in
            the middle by an error or by the experiment's budget; `refused` if it was not begun.
        why: What stopped or refused it.
        tasks: How many tasks ended in which way; empty where it is not known.
        seconds: Wall time of this process.
    """

    name: str
    folder: Path
    status: Status
    why: str = ""
    tasks: dict[str, int] | None = None
    seconds: float = 0.0

    def as_json(self) -> dict[str, Any]:
        """The outcome as plain JSON."""
        return {
            "name": self.name,
            "dir": str(self.folder),
            "status": self.status,
            "why": self.why,
            "tasks": self.tasks or {},
            "seconds": round(self.seconds, 3),
        }


class Watcher(Observer, Protocol):
    """What wants to see how an experiment goes: an observer of each run, told which one it is."""

    def on_run(self, name: str) -> None:
        """A run begins."""

    def on_outcome(self, outcome: Outcome) -> None:
        """A run has ended, or was not begun."""


@contextmanager
def checked(
    experiment: Experiment,
    folder: Path | str,
    given: Mapping[str, Any] = MappingProxyType({}),
    *,
    openings: bool = False,
) -> Iterator[list[Checked]]:
    """Put every run together before the first one begins, and hold the experiment's folder meanwhile.

    Args:
        experiment: The matrix.
        folder: Where it is recorded.
        given: Settings that replace the file's, as for `run_experiment`.
        openings: Whether to look how long the first prompts are, where nothing was recorded yet.

    Raises:
        ConfigurationError: something in the file is wrong for a run: all that is wrong is named. Or another process
            is at work on the folder.
    """
    folder = Path(folder)
    with locked(folder):
        yield check(experiment, folder, given, openings=openings)


def check(
    experiment: Experiment,
    folder: Path | str,
    given: Mapping[str, Any] = MappingProxyType({}),
    *,
    openings: bool = False,
) -> list[Checked]:
    """Put every run together without holding the folder; see `checked`."""
    folder = Path(folder)
    if holds_run(folder):
        raise ConfigurationError(f"{folder} holds a single run: choose another --out for the experiment")
    environments: dict[str, Environment] = {}
    wrong: dict[str, list[str]] = defaultdict(list)
    found = []
    try:
        for cell in experiment.cells:
            try:
                check_executor(cell.settings.changed(dict(given)))
                if experiment.budget.cost is not None:
                    _expect_prices(cell.settings)
                found.append(_check(cell, folder / cell.name, environments, openings=openings))
            except ConfigurationError as error:
                wrong[str(error)].append(cell.name)
    finally:
        for environment in environments.values():
            environment.close()
    if wrong:
        told = [f"{_names(names)}: {error}" for error, names in wrong.items()]
        hint = "change the table that says it, or leave these runs out by [[exclude]]"
        raise ConfigurationError(f"{experiment.file}: {'; '.join(told)} ({hint})")
    return found


def _expect_prices(settings: RunSettings) -> None:
    prices = {name: Price.parse(price) for name, price in settings.prices.items()}
    for model in (settings.model, settings.reflection_model):
        if model not in (None, DEMO):
            price_of(str(model).partition(":")[2] or str(model), prices, needed=True)


def _check(cell: Cell, folder: Path, environments: dict[str, Environment], *, openings: bool) -> Checked:
    settings = cell.settings
    try:
        key = json.dumps([settings.environment, settings.options, settings.seed], sort_keys=True, default=str)
        if key not in environments:
            environments[key] = settings.make_environment()
        settings = settings.resolved(environments[key])
        tasks = set_up(settings, environments[key]).tasks
    except (EnvironmentUnavailable, ModelUnavailable) as error:
        return Checked(cell, folder, settings, run=_recorded(folder), why_not=str(error))
    run = _recorded(folder)
    found = Checked(cell, folder, settings, tuple(tasks), run)
    if run is None:
        return replace(found, opening=_opening(settings, environments[key], tasks) if openings else None)
    try:
        ids = [task["id"] for task in tasks]
        continued(read_info(folder), settings, ids, folder)
    except ConfigurationError as error:
        return replace(found, why_not=str(error))
    return replace(found, finished=_finished(run, settings, ids))


def _recorded(folder: Path) -> Run | None:
    return read_run(folder) if holds_run(folder) else None


def _opening(settings: RunSettings, environment: Environment, tasks: Sequence[Task]) -> int | None:
    from langgraph_reflexion.experiments.opening import opening_tokens

    return opening_tokens(settings, environment, tasks[0])


def _finished(run: Run, settings: RunSettings, tasks: Sequence[str]) -> bool:
    """Return whether nothing is left: every task has ended, and none by a fault, an error or a budget."""
    if run.errors:
        return False
    last = {row["task_id"]: row for row in run.trials}
    if any(task not in last or last[task]["fault"] or last[task]["stop_reason"] == "budget" for task in tasks):
        return False
    left = [row for row in last.values() if not row["verdict"] and row["trial"] < (settings.max_trials or 0)]
    if not left or not settings.until_no_improvement:
        return not left
    # All tasks advance together: those that are left have ended, too, once a trial has solved nothing new.
    latest = max(row["trial"] for row in last.values())
    solved = any(row["verdict"] and row["trial"] == latest for row in last.values())
    return latest > 1 and not solved and all(row["trial"] == latest for row in left)


async def run_experiment(
    experiment: Experiment, runs: Sequence[Checked], folder: Path | str, watcher: Watcher, given: Mapping[str, Any]
) -> list[Outcome]:
    """Run what is left of an experiment, one run after the other. One that stops does not stop the others.

    Args:
        experiment: The matrix.
        runs: Its runs, as `checked` has them. The folder must be held.
        folder: Where it is recorded.
        watcher: Sees how it goes.
        given: Settings that replace the file's, on which no record depends, such as `concurrency`.

    Returns:
        What became of each run, in their order.
    """
    told = {
        each.cell.name: {
            "series": each.cell.series,
            "axes": dict(each.cell.axes),
            "settings": each.settings.public(),
        }
        for each in runs
    }
    budget = {name: limit for name, limit in vars(experiment.budget).items() if limit is not None}
    write_info(Path(folder), {"file": experiment.file.name, "budget": budget}, told)
    purse = Purse(experiment.budget, watcher, [run.run for run in runs if run.run])
    outcomes = []
    for each in runs:
        if each.why_not:
            outcome = Outcome(each.cell.name, each.folder, "refused", each.why_not)
        elif each.finished:
            outcome = Outcome(each.cell.name, each.folder, "finished")
        else:
            watcher.on_run(each.cell.name)
            outcome = await _run(each, purse, given)
        watcher.on_outcome(outcome)
        outcomes.append(outcome)
    return outcomes


async def _run(each: Checked, purse: Purse, given: Mapping[str, Any]) -> Outcome:
    settings = each.cell.settings.changed(dict(given))
    began = perf_counter()

    def outcome(status: Status, why: str = "", tasks: dict[str, int] | None = None) -> Outcome:
        return Outcome(each.cell.name, each.folder, status, " ".join(why.split()), tasks, perf_counter() - began)

    if used_up := purse.used_up():
        return outcome("refused", used_up)
    try:
        purse.begin(each.cell.name)
        async with asyncio.timeout(purse.seconds_left()):
            summary = await arun(settings, each.folder, purse)
        return outcome("finished" if summary.clean else "faults", tasks=summary.statuses)
    except SpentAll as spent:
        return outcome("stopped", str(spent))
    except ReflexionError as error:
        return outcome("stopped", str(error))
    # An environment is anybody's code, and the other runs have nothing to do with it.
    except Exception as error:
        late = purse.used_up() if isinstance(error, TimeoutError) else None
        return outcome("stopped", late or f"{type(error).__name__}: {error}")


def _names(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) < 4 else f"{names[0]}, {names[1]} and {len(names) - 2} more"
