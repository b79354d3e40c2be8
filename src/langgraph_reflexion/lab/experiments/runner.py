"""Runs: many tasks through one agent into a run folder, from the start or resumed."""

import asyncio
import re
import sqlite3
from collections import Counter
from collections.abc import AsyncIterator, Collection, Coroutine, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from langgraph_reflexion.envs.protocols import SupportsPlayedBy
from langgraph_reflexion.errors import ConfigurationError, ModelFault
from langgraph_reflexion.lab.experiments.diagnostics import diagnose
from langgraph_reflexion.lab.experiments.locks import locked
from langgraph_reflexion.lab.experiments.provenance import (
    changed_code,
    digests_of_code,
    expect_same_code,
    new_info,
    resumed_info,
    settings_of,
)
from langgraph_reflexion.lab.experiments.record import (
    CHECKPOINTS,
    PROMPTS,
    RunRecord,
    expect_prompts,
    prompts_that_differ,
)
from langgraph_reflexion.lab.experiments.report import RunReport, report_run
from langgraph_reflexion.lab.experiments.runs import holds_run, read_info, read_run
from langgraph_reflexion.lab.experiments.scheduler import Observer, Scheduler
from langgraph_reflexion.lab.experiments.setup import Setup, open_run, open_setup, user_of
from langgraph_reflexion.lab.experiments.workers import check_workers, open_workers
from langgraph_reflexion.lab.run_settings import RunSettings
from langgraph_reflexion.memory.databases import expect_lessons
from langgraph_reflexion.memory.users import seen_tasks
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
        statuses: The number of tasks that are `solved`, `failed`, ended by a `fault`, by an `error` (a bug in an
            evaluator, a tool or the environment) or on a `budget`, were `stopped` by the rule `until_no_improvement`,
            or are `unfinished` because the run stopped as a whole.
        seconds: Wall time of this process.
        recorded: The number of trials that this process recorded: none if a resumed run was complete.
        faults: The number of tasks that each fault has ended, by its words. Faults whose words differ only in numbers
            count as one.
    """

    report: RunReport
    statuses: dict[str, int]
    seconds: float
    recorded: int
    faults: dict[str, int]

    @property
    def clean(self) -> bool:
        """True if no task ended by a fault, an error or the budget; tasks may be unfinished."""
        cut_short = self.statuses["fault"] + self.statuses["error"] + self.statuses["budget"]
        return cut_short == 0

    @property
    def in_words(self) -> str:
        """How many tasks ended in each way."""
        judged = self.report.verdicts is not None
        return _in_words(self.statuses, judged=judged)

    def as_json(self) -> dict[str, Any]:
        shown = self.report.as_json()
        shown["statuses"] = self.statuses
        shown["faults"] = self.faults
        shown["seconds"] = round(self.seconds, 3)
        run = read_run(self.report.folder)
        shown["diagnostics"] = diagnose([run]).as_json()
        return shown


def run(settings: RunSettings, out: Path | str | None = None, observer: Observer | None = None) -> Summary:
    """Run every task and record every trial. If the folder holds the run already, it is resumed.

    Args:
        settings: What to run.
        out: The run folder; the first free one under `runs/` unless given.
        observer: Sees how it goes.

    Raises:
        ConfigurationError: a setting is wrong, the folder holds a run with other settings or of other code, or
            another process works on it.
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
    async with open_setup(settings) as setup:
        if out is None:
            folder = _free_folder(setup)
        else:
            folder = Path(out)
        with locked(folder) as token:
            if holds_run(folder):
                expect_same_code(read_info(folder), setup.settings, folder)
            return await run_setup(setup, folder, observer, token, axes)


async def aresume(folder: Path | str, observer: Observer | None = None, **changes: Any) -> Summary:
    """See `resume`."""
    folder = Path(folder)
    # Before the lock, which would make the folder: this raises if there is no run in it.
    read_info(folder)
    with locked(folder) as token:
        # Again, as another process may have changed it before this one had the lock.
        info = read_info(folder)
        settings = settings_of(info).changed(changes)
        check_workers(settings)
        async with open_setup(settings) as setup:
            return await run_setup(setup, folder, observer, token)


async def run_setup(
    setup: Setup,
    folder: Path,
    observer: Observer | None = None,
    token: str = "",
    axes: Mapping[str, Any] | None = None,
) -> Summary:
    """Run or resume a run whose parts are built. This process must hold the folder (`experiments.locks`)."""
    started = perf_counter()
    observer = observer or Observer()
    before = None
    if holds_run(folder):
        before = read_info(folder)
    info = _info(setup, folder, before, axes)
    played_by = ""
    if isinstance(setup.environment, SupportsPlayedBy):
        played_by = setup.environment.played_by(setup.tasks)
    if played_by:
        info["played_by"] = played_by
    # Before the record forgets which prompts the run began with.
    new_prompts = prompts_that_differ(folder, _prompt_files(setup))
    record = RunRecord(folder, info, setup.secrets)
    had_trials = bool(record.trials)

    def take_over() -> None:
        """Make the record one of the present prompts and code."""
        record.keep_prompts(_prompt_files(setup))
        record.update_info(**_new_code(info, setup.settings, new_prompts, joins=had_trials))
        # `until_no_improvement` decides anew.
        record.drop_info("stopped_after")

    if record.new:
        record.keep_prompts(_prompt_files(setup))
    else:
        # A resumed run keeps its prompts until it has a trial that is new.
        record.before_next(take_over)
    setup.budgets.start_clock(info.get("seconds", 0.0))
    begun = False
    try:
        with _explained(record):
            async with _open_scheduler(setup, record, observer, info, before, token) as scheduler:
                # From here on trials may begin, and their folder is kept, unless the scheduler knows that none did.
                begun = True
                observer.on_start(folder, len(setup.tasks), setup.graph.rules.max_trials, played_by)
                try:
                    await _run_tasks(scheduler, setup.settings, resumed=before is not None)
                finally:
                    begun = await scheduler.begun()
                if scheduler.stopped_after is not None:
                    record.update_info(stopped_after=scheduler.stopped_after)
    finally:
        record.close(setup.budgets.seconds)
        if record.new and not record.trials and not begun:
            record.discard()
    scheduler.check()
    statuses = _statuses(scheduler, setup)
    causes = _causes_of_faults(scheduler, record)
    report = report_run(read_run(folder))
    seconds = perf_counter() - started
    return Summary(report, statuses, seconds, scheduler.recorded, _grouped(causes))


def _info(
    setup: Setup,
    folder: Path,
    before: dict[str, Any] | None,
    axes: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """Return what `run.json` says when the run begins or is resumed, where `before` is what it says so far.

    Raises:
        ConfigurationError: the folder's run cannot be resumed with these settings, or there are no lessons to use.
    """
    settings = setup.settings
    goals = {task["id"]: sanitize(task["instruction"]) for task in setup.tasks}
    if before:
        info = resumed_info(before, settings, goals, folder)
        expect_same_prompts(setup, folder, info)
    else:
        info = new_info(settings, list(goals))
    info["rules"] = asdict(setup.graph.rules)
    info["goals"] = goals
    if axes:
        info["axes"] = dict(axes)
    # A new run creates the file of its lessons, unless it only reads them.
    needs_lessons = before or settings.frozen
    if settings.lessons and needs_lessons:
        expect_lessons(settings.lessons)
    return info


def expect_same_prompts(setup: Setup, folder: Path, info: Mapping[str, Any]) -> None:
    """Check that a run still has the prompts that it began with.

    After an error, which ends a task, they may be what had to change, as for code of the user's.

    Raises:
        ConfigurationError: they are others, and no error has ended a task.
    """
    if not info.get("errors"):
        expect_prompts(folder, _prompt_files(setup))


def _new_code(
    info: Mapping[str, Any], settings: RunSettings, prompts: Sequence[str], *, joins: bool
) -> dict[str, Any]:
    """Return what `run.json` says of the user's code and prompts once there are trials of new ones.

    Args:
        info: What it said before.
        settings: The settings of the run.
        prompts: The names of the prompts that have changed.
        joins: Whether there were trials before.
    """
    changed = changed_code(info, settings)
    changed += [f"{PROMPTS}/{name}" for name in prompts]
    if not changed:
        return {}
    if not joins:
        return {"code": digests_of_code(settings)}
    every = {*info.get("changed_code", []), *changed}
    return {"changed_code": sorted(every), "code": digests_of_code(settings)}


def _prompt_files(setup: Setup) -> dict[str, str]:
    """Return the prompts of a run as the files of its folder."""
    files: dict[str, str] = setup.graph.loop["reflect"].prompts.files()
    return files


@contextmanager
def _explained(record: RunRecord) -> Iterator[None]:
    """Raise errors of the checkpoints with what to do, and those of models without secrets."""
    try:
        yield
    except sqlite3.Error as error:
        raise ConfigurationError(
            f"cannot use {record.folder / CHECKPOINTS}: {error}: free it or the disk, or restore it from a backup, "
            "and resume the run; its rows are kept"
        ) from error
    except ModelFault as fault:
        # Servers quote the key that they refuse.
        raise ModelFault(record.without_secrets(str(fault)), permanent=fault.permanent) from None


@asynccontextmanager
async def _open_scheduler(
    setup: Setup,
    record: RunRecord,
    observer: Observer,
    info: Mapping[str, Any],
    before: Mapping[str, Any] | None,
    token: str,
) -> AsyncIterator[Scheduler]:
    """Open checkpoints, lessons and workers of a run, and yield what runs its tasks."""
    settings = setup.settings
    run_id = info["run_id"]
    ids = [task["id"] for task in setup.tasks]
    # A raised limit adds tasks behind those that the run had before.
    added = ids
    if before:
        already = len(before["tasks"])
        added = ids[already:]
    async with open_run(setup, record.folder, run_id) as opened:
        if opened.store and added:
            users = _users_of(setup, set(added))
            seen = list(info.get("seen", []))
            seen += await seen_tasks(opened.store, setup.environment.name, users)
            record.update_info(seen=seen)
        runs = [opened.task_run(task, on_action=observer.on_action) for task in ids]
        async with open_workers(setup, record.folder, run_id, token, observer.on_action) as advance:
            yield Scheduler(runs, record, observer, setup.budgets, settings.concurrency, advance)


def _users_of(setup: Setup, tasks: Collection[str]) -> dict[str, str | None]:
    """Return, for each of these tasks, the user whose lessons it uses."""
    users: dict[str, str | None] = {}
    for task in setup.tasks:
        if task["id"] in tasks:
            users[task["id"]] = user_of(setup.environment, task) or setup.settings.user
    return users


async def _run_tasks(scheduler: Scheduler, settings: RunSettings, *, resumed: bool) -> None:
    """Run all tasks, each until it ends, or trial by trial where the run ends by `until_no_improvement`."""
    if resumed:
        await scheduler.restore()
    if settings.until_no_improvement:
        await scheduler.run_in_lockstep()
    else:
        await scheduler.run_all()


def _statuses(scheduler: Scheduler, setup: Setup) -> dict[str, int]:
    """Return the number of tasks that ended in each way."""
    waiting = "unfinished"
    if setup.budgets.run_used_up():
        waiting = "budget"
    elif scheduler.stopped_after is not None:
        waiting = "stopped"
    counts = Counter[str]()
    for task in scheduler.runs:
        if task.error:
            counts["error"] += 1
        elif task.status == "running":
            counts[waiting] += 1
        else:
            counts[task.status] += 1
    return {status: counts[status] for status in STATUSES}


def _causes_of_faults(scheduler: Scheduler, record: RunRecord) -> list[str]:
    """Return the words of the fault for each task that ended by one."""
    causes: list[str] = []
    for run in scheduler.runs:
        if run.status != "fault":
            continue
        task = run.task["id"]
        last = record.trials[task, record.last_trial(task)]
        causes.append(last["fault"])
    return causes


def _in_words(statuses: Mapping[str, int], *, judged: bool) -> str:
    """Return how many tasks ended in each way.

    Args:
        statuses: The number of tasks by the way in which they ended.
        judged: Whether the evaluator accepts tasks of which the truth is known apart from it.
    """
    words = dict(STATUSES)
    if judged:
        words["solved"] = "accepted"
        words["failed"] = "not accepted"
    counted = [f"{count} {words[status]}" for status, count in statuses.items() if count]
    return ", ".join(counted)


def _grouped(causes: Sequence[str]) -> dict[str, int]:
    """Return how often each cause occurs, the most frequent first.

    Causes that differ only in numbers count as one, in the words of the first.
    """
    alike: dict[str, list[str]] = {}
    for cause in causes:
        without_numbers = re.sub(r"\d+", "", cause)
        alike.setdefault(without_numbers, []).append(cause)
    groups = sorted(alike.values(), key=len, reverse=True)
    return {group[0]: len(group) for group in groups}


def _free_folder(setup: Setup) -> Path:
    """Return the first folder under `runs/` that does not exist yet, named after the run."""
    settings = setup.settings
    name = f"{setup.environment.name}-{settings.split}-{settings.strategy}"
    stem = re.sub(r"[^\w.-]+", "-", name)
    number = 1
    while True:
        folder = Path("runs", f"{stem}-{number}")
        if not folder.exists():
            return folder
        number += 1


def _wait_for(work: Coroutine[Any, Any, Summary]) -> Summary:
    """Return what a run returns, also where an event loop runs already, as in the cells of a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        in_loop = False
    else:
        in_loop = True
    if in_loop:
        return run_blocking(work)
    return asyncio.run(work)
