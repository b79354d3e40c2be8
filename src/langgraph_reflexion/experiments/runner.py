"""A sweep: many tasks through one agent, into a run folder, from the start or from wherever it stands."""

import asyncio
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any, cast

from langgraph_reflexion.checkpoints import check_kind, open_checkpointer
from langgraph_reflexion.errors import ModelFault
from langgraph_reflexion.experiments.budgets import raised
from langgraph_reflexion.experiments.engines import check_engine, open_engine
from langgraph_reflexion.experiments.environment import make_environment
from langgraph_reflexion.experiments.lock import locked
from langgraph_reflexion.experiments.parts import Parts, make_parts
from langgraph_reflexion.experiments.record import CHECKPOINTS, RunRecord, free_folder, holds_run, read_info, read_run
from langgraph_reflexion.experiments.report import RunReport, report_run
from langgraph_reflexion.experiments.rows import TrialRow
from langgraph_reflexion.experiments.scheduler import Drive, Observer
from langgraph_reflexion.experiments.settings import SweepSettings, continued, describe, settings_of
from langgraph_reflexion.experiments.task_locks import open_fence
from langgraph_reflexion.experiments.tracing import tracing_as_asked
from langgraph_reflexion.memory.lessons import seen_tasks
from langgraph_reflexion.memory.opening import expect_lessons, open_lessons
from langgraph_reflexion.state import Strategy


@dataclass(frozen=True)
class Summary:
    """How a sweep went.

    Attributes:
        report: The same as `report` says of the run folder.
        statuses: How many tasks are `solved`, `failed`, ended on a `budget` or as a `fault`, or are
            `unfinished` because the sweep stopped as a whole.
        seconds: Wall time of this process.
    """

    report: RunReport
    statuses: dict[str, int]
    seconds: float

    @property
    def clean(self) -> bool:
        """Whether every task was solved or failed on its own."""
        return not (self.statuses["fault"] or self.statuses["budget"])

    def as_json(self) -> dict[str, Any]:
        """The summary as plain JSON."""
        return self.report.as_json() | {"statuses": self.statuses, "seconds": round(self.seconds, 3)}


class Unobserved:
    """An observer that looks away."""

    def on_start(self, folder: Path, tasks: int, trials: int, played_by: str) -> None:
        """Nothing."""

    def on_action(self) -> None:
        """Nothing."""

    def on_trial(self, row: TrialRow, finished: bool) -> None:
        """Nothing."""


async def run_sweep(settings: SweepSettings, out: Path | None = None, observer: Observer | None = None) -> Summary:
    """Run every task, and record every trial. A folder that holds the run already is gone on with.

    Args:
        settings: What to run.
        out: The run folder; the first free one under `runs/` unless given.
        observer: Is told how it goes.

    Raises:
        ConfigurationError: a setting is wrong, the folder holds a run with other settings, or another process
            is at work on it.
        EnvironmentUnavailable: the environment cannot be used here.
        ModelFault: the model refused for good, or never answered. The rows so far are kept.
    """
    with _put_together(settings) as (settings, parts):
        folder = out or _default_folder(settings, parts)
        with locked(folder) as lock:
            return await run_parts(settings, parts, folder, observer or Unobserved(), lock)


async def resume_sweep(
    folder: Path,
    observer: Observer | None = None,
    *,
    trials: int | None = None,
    limit: int | None = None,
    concurrency: int | None = None,
    workers: int | None = None,
    engine: str | None = None,
    database: str | None = None,
    lessons: str | None = None,
    budgets: dict[str, dict[str, float | None]] | None = None,
    retries: int | None = None,
    timeout: float | None = None,  # noqa: ASYNC109 - of one model call
    cache: str | None = None,
) -> Summary:
    """Go on with a run exactly where it stands, under the settings that its folder names.

    Finished tasks stay as they are. Those that ended as a fault are tried again, and those that ended on a budget go
    on where it is no longer used up.

    Args:
        folder: The run folder.
        observer: Is told how it goes.
        trials: At most so many trials per task: as many as before, or more.
        limit: At most so many tasks: as many as before, or more.
        concurrency: How many tasks at once.
        workers: How many processes advance them.
        engine: Where these are: `process` or `ray`.
        database: The address of the run's database, where it needs a password.
        lessons: The address of its lessons, where that needs one.
        budgets: Limits that are raised, as in `SweepSettings`; None lifts one.
        retries: How often something is tried before it is a fault.
        timeout: How many seconds one model call may take.
        cache: The file where model answers are kept.

    Raises:
        ConfigurationError: there is no run in the folder, it cannot go on like this, or another process is at
            work on it.
        EnvironmentUnavailable: the environment cannot be used here.
        ModelFault: the model refused for good, or never answered. The rows so far are kept.
    """
    read_info(folder)  # says if there is none, before the lock is left there
    with locked(folder) as lock:
        given: dict[str, Any] = {"trials": trials, "limit": limit, "concurrency": concurrency, "database": database}
        given |= {"workers": workers, "engine": engine, "lessons": lessons}
        given |= {"retries": retries, "timeout": timeout, "cache": cache}
        settings = settings_of(read_info(folder))
        settings = replace(settings, **{name: value for name, value in given.items() if value is not None})
        settings = replace(settings, budgets=raised(settings.budgets, budgets or {}))
        with _put_together(settings) as (settings, parts):
            return await run_parts(settings, parts, folder, observer or Unobserved(), lock)


def sweep(settings: SweepSettings, out: Path | None = None, observer: Observer | None = None) -> Summary:
    """Run a sweep from synchronous code. Where an event loop runs already, await `run_sweep`."""
    return asyncio.run(run_sweep(settings, out, observer))


def resume(folder: Path, observer: Observer | None = None, **raised: Any) -> Summary:
    """Go on with a run from synchronous code; see `resume_sweep`."""
    return asyncio.run(resume_sweep(folder, observer, **raised))


async def run_parts(
    settings: SweepSettings, parts: Parts, folder: Path, observer: Observer, lock: int | None = None
) -> Summary:
    """Run a sweep that is put together, or go on with it. The folder must be held (`experiments.lock`).

    Args:
        settings: What it is, resolved.
        parts: What it is made of. Workers, where there are any, are told the settings, and make their own parts.
        folder: The run folder.
        observer: Is told how it goes.
        lock: The hold on the folder; workers on this machine share it.

    Raises:
        ConfigurationError: the folder holds something else, or a run with other settings.
        ModelFault: the model refused for good, or never answered.
        WorkersLost: workers end one after the other.
    """
    started = perf_counter()
    ids = [task["id"] for task in parts.tasks]
    before = read_info(folder) if holds_run(folder) else None
    info = continued(before, settings, ids, folder) if before else describe(settings, ids)
    added = ids[len(before["tasks"]) :] if before else ids
    if settings.lessons and (before or settings.frozen):
        expect_lessons(settings.lessons)
    if parts.played_by:
        info |= {"played_by": parts.played_by}
    record = RunRecord(folder, info, parts.secrets)
    answered = False
    try:
        async with AsyncExitStack() as stack:
            if parts.connections:
                stack.push_async_callback(parts.connections.aclose)
            where = settings.database or folder / CHECKPOINTS
            saver = await stack.enter_async_context(open_checkpointer(check_kind(settings.checkpoints), where))
            store = await stack.enter_async_context(open_lessons(settings.lessons)) if settings.lessons else None
            if store and added:
                seen = await seen_tasks(store, parts.environment, settings.user, added)
                record.note(seen=[*info.get("seen", []), *seen])
            fence = await stack.enter_async_context(open_fence(settings.database))
            engine = open_engine(
                settings, parts, folder, run_id=info["run_id"], on_action=observer.on_action, lock=lock
            )
            drive = Drive(
                parts.graph.compile(checkpointer=saver, store=store),
                parts.tasks,
                record,
                observer,
                run_id=info["run_id"],
                reflects=Strategy(cast(str, settings.strategy)).reflects,
                max_trials=cast(int, settings.trials),
                budgets=parts.budgets,
                review=parts.review,
                concurrency=settings.concurrency,
                advance=await stack.enter_async_context(engine),
                fence=fence,
            )
            parts.budgets.start_clock(info.get("seconds", 0.0))
            observer.on_start(folder, len(parts.tasks), cast(int, settings.trials), parts.played_by)
            try:
                if before:
                    await drive.restore()
                with tracing_as_asked():
                    await (drive.in_step() if settings.stop_without_improvement else drive.to_the_end())
            finally:
                answered = drive.answered
    except ModelFault as fault:
        # Servers quote the key that they refuse.
        raise ModelFault(record.without_secrets(str(fault)), permanent=fault.permanent) from None
    finally:
        record.close(parts.budgets.seconds)
        if record.new and not record.trials and not answered:
            record.discard()
    waiting = "budget" if parts.budgets.run_used_up() else "unfinished"
    counts = Counter(waiting if run.status == "running" else run.status for run in drive.runs)
    statuses = {status: counts[status] for status in ("solved", "failed", "fault", "budget", "unfinished")}
    return Summary(report_run(read_run(folder)), statuses, perf_counter() - started)


@contextmanager
def _put_together(settings: SweepSettings) -> Iterator[tuple[SweepSettings, Parts]]:
    """A sweep's settings, resolved, and what it is made of; its environment is closed afterwards."""
    environment = make_environment(settings.environment, settings.options, settings.seed)
    try:
        settings = settings.resolved(environment)
        check_engine(settings)
        parts = make_parts(settings, environment)
        yield settings, parts._replace(played_by=environment.played_by(parts.tasks))
    finally:
        environment.close()


def _default_folder(settings: SweepSettings, parts: Parts) -> Path:
    stem = f"{parts.environment}-{settings.split}-{settings.strategy}"
    return free_folder(Path("runs"), re.sub(r"[^\w.-]+", "-", stem))
