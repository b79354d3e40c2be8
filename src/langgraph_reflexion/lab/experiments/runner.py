"""Runs: many tasks through one agent into a run folder, from the start or resumed."""

import asyncio
import re
import sqlite3
from collections import Counter
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path
from time import perf_counter
from typing import Any, cast

from langgraph_reflexion.errors import ConfigurationError, ModelFault
from langgraph_reflexion.lab.experiments.locks import locked
from langgraph_reflexion.lab.experiments.provenance import new_info, resumed_info, settings_of
from langgraph_reflexion.lab.experiments.record import (
    CHECKPOINTS,
    RunRecord,
    expect_prompts,
    holds_run,
    read_info,
    read_run,
)
from langgraph_reflexion.lab.experiments.report import RunReport, report_run
from langgraph_reflexion.lab.experiments.scheduler import Observer, Scheduler
from langgraph_reflexion.lab.experiments.setup import Setup, open_run, open_setup, user_of
from langgraph_reflexion.lab.experiments.workers import check_workers, open_workers
from langgraph_reflexion.lab.settings import RunSettings
from langgraph_reflexion.memory.store import expect_lessons, seen_tasks
from langgraph_reflexion.support.sync import run_blocking
from langgraph_reflexion.support.text import sanitize

STATUSES = {
    "solved": "solved",
    "failed": "failed",
    "fault": "ended by a fault",
    "error": "ended by an error",
    "budget": "stopped by the budget",
    "stopped": "not tried again after a trial that solved nothing new",
    "unfinished": "unfinished",
}
"""How a run's tasks can end, in the words for a reader."""


@dataclass(frozen=True)
class Summary:
    """The outcome of a run.

    Attributes:
        report: The same as `report` says of the run folder.
        statuses: N tasks that are `solved`, `failed`, ended by a `fault`, by an `error` (a bug in an evaluator, a
            tool or the environment) or on a `budget`, were `stopped` by the rule `until_no_improvement`, or are
            `unfinished` because the run stopped as a whole.
        seconds: Wall time of this process.
        recorded: N trials that this process recorded: none if a resumed run was complete.
        faults: The causes of faults, each with N tasks that ended by it; causes that differ in numbers alone are one.
    """

    report: RunReport
    statuses: dict[str, int]
    seconds: float
    recorded: int
    faults: dict[str, int]

    @property
    def clean(self) -> bool:
        """True if every task was solved or failed on its own."""
        return not (self.statuses["fault"] or self.statuses["error"] or self.statuses["budget"])

    def as_json(self) -> dict[str, Any]:
        return self.report.as_json() | {
            "statuses": self.statuses,
            "faults": self.faults,
            "seconds": round(self.seconds, 3),
        }


def run(settings: RunSettings, out: Path | str | None = None, observer: Observer | None = None) -> Summary:
    """Run every task and record every trial. If the folder holds the run already, it is resumed.

    Args:
        settings: What to run.
        out: The run folder; the first free one under `runs/` unless given.
        observer: Sees how it goes.

    Raises:
        ConfigurationError: a setting is wrong, the folder holds a run with other settings, or another process
            works on it.
        EnvironmentUnavailable: the environment cannot be used here.
        ModelFault: the model refused for good, or never answered. The rows so far are kept.
    """
    return _wait_for(arun(settings, out, observer))


def resume(folder: Path | str, observer: Observer | None = None, **changes: Any) -> Summary:
    """Resume a run exactly where it stopped, under the settings in its folder. Raises as `run` does.

    Finished tasks stay as they are. Those that ended by a fault or an error are tried again, and those that ended on
    a budget continue if it is no longer used up.

    Args:
        folder: The run folder.
        observer: Sees how it goes.
        **changes: Fields of `RunSettings`. Those whose `resume` is `free` may have any value; `max_trials`, `limit`
            and limits of `budgets` can be raised (None lifts a limit); `database` and `lessons` are given where they
            need a password.
    """
    return _wait_for(aresume(folder, observer, **changes))


async def arun(
    settings: RunSettings,
    out: Path | str | None = None,
    observer: Observer | None = None,
    axes: Mapping[str, Any] | None = None,
) -> Summary:
    """See `run`. `axes` are the run's values on the axes of its experiment; `run.json` keeps them."""
    check_workers(settings)
    async with open_setup(settings) as (settings, setup):
        folder = _default_folder(settings, setup) if out is None else Path(out)
        with locked(folder) as token:
            return await run_setup(settings, setup, folder, observer, token, axes)


async def aresume(folder: Path | str, observer: Observer | None = None, **changes: Any) -> Summary:
    """See `resume`."""
    folder = Path(folder)
    read_info(folder)  # raises before the lock is made
    with locked(folder) as token:
        settings = settings_of(read_info(folder)).changed(changes)
        check_workers(settings)
        async with open_setup(settings) as (settings, setup):
            return await run_setup(settings, setup, folder, observer, token)


async def run_setup(
    settings: RunSettings,
    setup: Setup,
    folder: Path,
    observer: Observer | None = None,
    token: str = "",
    axes: Mapping[str, Any] | None = None,
) -> Summary:
    """Run or resume a run whose parts are built. This process must hold the folder (`experiments.locks`)."""
    started = perf_counter()
    observer = observer or Observer()
    goals = {task["id"]: sanitize(task["instruction"]) for task in setup.tasks}
    ids = list(goals)
    before = read_info(folder) if holds_run(folder) else None
    info = resumed_info(before, settings, goals, folder) if before else new_info(settings, ids)
    prompts = setup.graph.loop["reflect"].prompts.files()
    if before:
        expect_prompts(folder, prompts)
    info["rules"] = asdict(setup.graph.rules)
    info.pop("errors", None)  # those tasks are tried again
    info.pop("stopped_after", None)  # the rule decides anew
    info["goals"] = goals
    if axes:
        info["axes"] = dict(axes)
    added = ids[len(before["tasks"]) :] if before else ids
    if settings.lessons and (before or settings.frozen):
        expect_lessons(settings.lessons)
    if played_by := setup.environment.played_by(setup.tasks):
        info |= {"played_by": played_by}
    record = RunRecord(folder, info, setup.secrets)
    record.keep_prompts(prompts)
    scheduler, begun = None, True
    try:
        async with AsyncExitStack() as stack:
            opened = await stack.enter_async_context(open_run(settings, setup, folder, info["run_id"]))
            if opened.store and added:
                users = {each["id"]: user_of(setup.environment, each) or settings.user for each in setup.tasks}
                seen = await seen_tasks(opened.store, setup.environment.name, {task: users[task] for task in added})
                record.update_info(seen=[*info.get("seen", []), *seen])
            workers = open_workers(settings, setup, folder, info["run_id"], token, observer.on_action)
            scheduler = Scheduler(
                [opened.task_run(task, on_action=observer.on_action) for task in ids],
                record,
                observer,
                setup.budgets,
                settings.concurrency,
                await stack.enter_async_context(workers),
            )
            setup.budgets.start_clock(info.get("seconds", 0.0))
            observer.on_start(folder, len(setup.tasks), cast(int, settings.max_trials), played_by)
            try:
                if before:
                    await scheduler.restore()
                await (scheduler.run_in_lockstep() if settings.until_no_improvement else scheduler.run_all())
            finally:
                begun = await scheduler.begun()
            if scheduler.stopped_after is not None:
                record.update_info(stopped_after=scheduler.stopped_after)
    except sqlite3.Error as error:
        raise ConfigurationError(
            f"cannot use {folder / CHECKPOINTS}: {error}: free it or the disk, or restore it from a backup, and "
            "resume the run; its rows are kept"
        ) from error
    except ModelFault as fault:
        # Servers quote the key that they refuse.
        raise ModelFault(record.without_secrets(str(fault)), permanent=fault.permanent) from None
    finally:
        record.close(setup.budgets.seconds)
        if record.new and not record.trials and not (scheduler and begun):
            record.discard()
    scheduler.check()
    waiting = "unfinished"
    if setup.budgets.run_used_up():
        waiting = "budget"
    elif scheduler.stopped_after is not None:
        waiting = "stopped"
    states = [waiting if task.status == "running" else task.status for task in scheduler.runs if not task.error]
    counts = Counter([*states, *("error" for task in scheduler.runs if task.error)])
    statuses = {status: counts[status] for status in STATUSES}
    faulted = [run.task["id"] for run in scheduler.runs if run.status == "fault"]
    causes = [record.trials[task, record.last_trial(task)]["fault"] for task in faulted]
    report, seconds = report_run(read_run(folder)), perf_counter() - started
    return Summary(report, statuses, seconds, scheduler.recorded, _grouped(causes))


def in_words(statuses: Mapping[str, int]) -> str:
    """Return how many tasks ended in each way."""
    return ", ".join(f"{count} {STATUSES[status]}" for status, count in statuses.items() if count)


def _grouped(causes: Sequence[str]) -> dict[str, int]:
    """Count causes, the most frequent first, under the words of the first of each group."""
    alike: dict[str, list[str]] = {}
    for cause in causes:
        alike.setdefault(re.sub(r"\d+", "", cause), []).append(cause)
    return {group[0]: len(group) for group in sorted(alike.values(), key=len, reverse=True)}


def _default_folder(settings: RunSettings, setup: Setup) -> Path:
    stem = re.sub(r"[^\w.-]+", "-", f"{setup.environment.name}-{settings.split}-{settings.strategy}")
    numbered = (Path("runs", f"{stem}-{number}") for number in count(1))
    return next(folder for folder in numbered if not folder.exists())


def _wait_for(work: Coroutine[Any, Any, Summary]) -> Summary:
    loop = None
    with suppress(RuntimeError):
        loop = asyncio.get_running_loop()  # a notebook's cells run in one
    return run_blocking(work) if loop else asyncio.run(work)
