"""Experiments: a matrix of runs, each in its own run folder."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from types import MappingProxyType
from typing import Any, Literal

from langgraph_reflexion.envs.base import Environment, Task
from langgraph_reflexion.errors import ConfigurationError, EnvironmentUnavailable, ReflexionError
from langgraph_reflexion.lab.experiments.matrix_file import Experiment, RunSpec
from langgraph_reflexion.lab.experiments.provenance import expect_same_code, resumed_info
from langgraph_reflexion.lab.experiments.runner import arun, expect_same_prompts
from langgraph_reflexion.lab.experiments.runs import Run, holds_run, read_run
from langgraph_reflexion.lab.experiments.scheduler import Observer
from langgraph_reflexion.lab.experiments.setup import Setup, set_up
from langgraph_reflexion.lab.experiments.workers import check_workers
from langgraph_reflexion.lab.run_settings import RunSettings
from langgraph_reflexion.models.load import ModelUnavailable
from langgraph_reflexion.support.files import FileMissing
from langgraph_reflexion.support.sync import finished
from langgraph_reflexion.support.text import count, sanitize

SHOWN_NAMES = 3
"""Names of runs in an error message."""

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
    in_words: str = ""
    """The same for a reader."""
    seconds: float = 0.0

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "status": self.status,
            "why": self.why,
            "tasks": self.tasks,
            "seconds": round(self.seconds, 3),
            "dir": str(self.folder),
        }


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
    found: list[PlannedRun] = []
    try:
        for spec in experiment.specs:
            try:
                settings = spec.settings.changed(dict(given))
                check_workers(settings)
                found.append(_check(spec, settings, folder / spec.name, environments))
            except ConfigurationError as error:
                wrong[str(error)].append(spec.name)
    finally:
        for environment in environments.values():
            finished(environment.close())
    if wrong:
        lines = [f"{_some(names)}: {error}" for error, names in wrong.items()]
        hint = "change that table, or leave these runs out by [[exclude]]"
        raise ConfigurationError(f"{experiment.file}: {'; '.join(lines)} ({hint})")
    return found


def _some(names: Sequence[str]) -> str:
    """Return the first of many names, and how many there are besides."""
    shown = ", ".join(names[:SHOWN_NAMES])
    if len(names) <= SHOWN_NAMES:
        return shown
    return f"{shown} and {count(len(names) - SHOWN_NAMES, 'other run')}"


def _check(spec: RunSpec, settings: RunSettings, folder: Path, environments: dict[str, Environment]) -> PlannedRun:
    """Return a run that can be run, or is refused by something that this machine lacks.

    Raises:
        ConfigurationError: its settings are wrong.
    """
    run = None
    if holds_run(folder):
        run = read_run(folder)
    try:
        # Runs that differ in other settings share an environment.
        key = json.dumps([settings.environment, settings.options, settings.seed], sort_keys=True, default=str)
        if key not in environments:
            environments[key] = settings.make_environment()
        environment = environments[key]
        setup = set_up(settings, environment)
        if run is not None:
            _expect_same(run, setup, folder)
        return PlannedRun(spec, folder, setup.settings, tuple(setup.tasks), run)
    except (EnvironmentUnavailable, ModelUnavailable, FileMissing, _OtherRun) as error:
        return PlannedRun(spec, folder, settings, run=run, refusal=str(error))


class _OtherRun(Exception):
    """The folder holds a run with other settings, tasks or code."""


def _expect_same(run: Run, setup: Setup, folder: Path) -> None:
    """Raise `_OtherRun` if a recorded run cannot go on under these settings."""
    goals = {task["id"]: sanitize(task["instruction"]) for task in setup.tasks}
    try:
        resumed_info(run.info, setup.settings, goals, folder)
        expect_same_code(run.info, setup.settings, folder)
        expect_same_prompts(setup, folder, dict(run.info))
    except ConfigurationError as error:
        raise _OtherRun(str(error)) from error


async def run_experiment(
    runs: Sequence[PlannedRun], observer: ExperimentObserver, given: Mapping[str, Any]
) -> list[RunOutcome]:
    """Run or resume the runs of an experiment one after the other. One that stops does not stop the others."""
    outcomes: list[RunOutcome] = []
    for each in runs:
        began = perf_counter()
        outcome = await _run(each, observer, given)
        outcome = replace(outcome, seconds=perf_counter() - began)
        outcomes.append(outcome)
        observer.on_outcome(outcome)
    return outcomes


async def _run(each: PlannedRun, observer: ExperimentObserver, given: Mapping[str, Any]) -> RunOutcome:
    """Run or resume one run."""
    name = each.spec.name
    if each.refusal:
        return RunOutcome(name, each.folder, "refused", _in_one_line(each.refusal))
    observer.on_run(name)
    try:
        settings = each.spec.settings.changed(dict(given))
        summary = await arun(settings, each.folder, observer, each.spec.axes)
    except ReflexionError as error:
        return RunOutcome(name, each.folder, "stopped", _in_one_line(str(error)))
    except Exception as error:  # a bug in one run's environment does not stop the other runs
        return RunOutcome(name, each.folder, "stopped", _in_one_line(f"{type(error).__name__}: {error}"))
    status: RunStatus = "finished"
    if not summary.clean:
        status = "faults"
    return RunOutcome(name, each.folder, status, tasks=summary.statuses, in_words=summary.in_words)


def _in_one_line(text: str) -> str:
    return " ".join(text.split())
