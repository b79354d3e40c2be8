"""A sweep: many tasks through one agent, into a run folder, from the start or from wherever it stands."""

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple, cast

from langchain_core.language_models import BaseChatModel
from langgraph.graph import StateGraph

from langgraph_reflexion.bench.budgets import make_budgets, raised
from langgraph_reflexion.bench.drive import Drive, Observer
from langgraph_reflexion.bench.environment import make_environment
from langgraph_reflexion.bench.lock import locked
from langgraph_reflexion.bench.record import CHECKPOINTS, RunRecord, free_folder, holds_run, read_info, read_run
from langgraph_reflexion.bench.report import RunReport, report_run
from langgraph_reflexion.bench.rows import TrialRow
from langgraph_reflexion.bench.settings import SweepSettings, continued, describe, settings_of
from langgraph_reflexion.envs.base import Environment, FinishedTrial, Review, Task
from langgraph_reflexion.errors import ConfigurationError, ModelFault
from langgraph_reflexion.graph.budget import Budgets
from langgraph_reflexion.graph.checkpoint import Checkpoints, open_checkpointer
from langgraph_reflexion.graph.memory import Feedback, Strategy
from langgraph_reflexion.graph.reflexion import create_reflexion
from langgraph_reflexion.models.answers import open_cache
from langgraph_reflexion.models.load import load_model
from langgraph_reflexion.models.prices import Price
from langgraph_reflexion.models.retries import Retries
from langgraph_reflexion.models.secrets import database_secrets, secrets_of


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

    def on_start(self, folder: Path, tasks: int, trials: int) -> None:
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
    environment = make_environment(settings.environment, settings.options, settings.seed)
    try:
        settings = settings.resolved(environment)
        folder = out or _default_folder(settings, environment)
        parts = _parts(settings, environment)
        with locked(folder):
            return await run_parts(settings, parts, folder, observer or Unobserved())
    finally:
        environment.close()


async def resume_sweep(
    folder: Path,
    observer: Observer | None = None,
    *,
    trials: int | None = None,
    limit: int | None = None,
    concurrency: int | None = None,
    database: str | None = None,
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
        database: The address of the run's database, where it needs a password.
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
    with locked(folder):
        given: dict[str, Any] = {"trials": trials, "limit": limit, "concurrency": concurrency, "database": database}
        given |= {"retries": retries, "timeout": timeout, "cache": cache}
        settings = settings_of(read_info(folder))
        settings = replace(settings, **{name: value for name, value in given.items() if value is not None})
        settings = replace(settings, budgets=raised(settings.budgets, budgets or {}))
        environment = make_environment(settings.environment, settings.options, settings.seed)
        try:
            settings = settings.resolved(environment)
            return await run_parts(settings, _parts(settings, environment), folder, observer or Unobserved())
        finally:
            environment.close()


def sweep(settings: SweepSettings, out: Path | None = None, observer: Observer | None = None) -> Summary:
    """Run a sweep from synchronous code. Where an event loop runs already, await `run_sweep`."""
    return asyncio.run(run_sweep(settings, out, observer))


def resume(folder: Path, observer: Observer | None = None, **raised: Any) -> Summary:
    """Go on with a run from synchronous code; see `resume_sweep`."""
    return asyncio.run(resume_sweep(folder, observer, **raised))


class Parts(NamedTuple):
    """What a sweep is made of, which can go wrong before there is a folder."""

    graph: StateGraph[Any, None, Any, Any]
    """Not compiled."""
    tasks: Sequence[Task]
    budgets: Budgets
    """The graph's."""
    secrets: list[str]
    """What must not be written down."""
    review: Callable[[Task, FinishedTrial], Review] = lambda task, trial: Review()
    """Finds out about a finished trial outside the graph."""


def _parts(settings: SweepSettings, environment: Environment) -> Parts:
    def load(name: str) -> BaseChatModel:
        return load_model(
            name, base_url=settings.base_url, timeout=settings.timeout, temperature=settings.temperature
        )

    model = load(settings.model)
    reflection_model = load(settings.reflection_model) if settings.reflection_model else model
    budgets = make_budgets(settings.budgets)
    graph = create_reflexion(
        model,
        environment,
        actor=settings.agent,
        strategy=settings.strategy,
        evaluator=settings.evaluator,
        samples=settings.samples,
        reflection_model=reflection_model,
        memory_size=settings.memory_size,
        max_trials=settings.trials,
        feedback=cast(Feedback, settings.feedback),
        profile=settings.profile,
        budgets=budgets,
        prices={name: Price.parse(price) for name, price in settings.prices.items()},
        retries=Retries(settings.retries),
        cache=open_cache(Path(settings.cache)) if settings.cache else None,
        seed=settings.seed,
        checkpoints=cast(Checkpoints, settings.checkpoints),
    )
    tasks = environment.tasks(settings.split, settings.limit)
    if not tasks:
        raise ConfigurationError(f"the split {settings.split!r} of {settings.environment} has no tasks")
    secrets = [*secrets_of(model, settings.base_url), *secrets_of(reflection_model)]
    return Parts(graph, tasks, budgets, [*secrets, *database_secrets(settings.database)], environment.review)


async def run_parts(settings: SweepSettings, parts: Parts, folder: Path, observer: Observer) -> Summary:
    """Run a sweep that is put together, or go on with it. The folder must be held (`bench.lock`).

    Args:
        settings: What it is, resolved.
        parts: What it is made of.
        folder: The run folder.
        observer: Is told how it goes.

    Raises:
        ConfigurationError: the folder holds something else, or a run with other settings.
        ModelFault: the model refused for good, or never answered.
    """
    started = perf_counter()
    ids = [task["id"] for task in parts.tasks]
    goes_on = holds_run(folder)
    info = continued(read_info(folder), settings, ids, folder) if goes_on else describe(settings, ids)
    record = RunRecord(folder, info, parts.secrets)
    answered = False
    try:
        kind = cast(Checkpoints, settings.checkpoints)
        async with open_checkpointer(kind, settings.database or folder / CHECKPOINTS) as saver:
            drive = Drive(
                parts.graph.compile(checkpointer=saver),
                parts.tasks,
                record,
                observer,
                run_id=info["run_id"],
                reflects=Strategy(cast(str, settings.strategy)).reflects,
                max_trials=cast(int, settings.trials),
                budgets=parts.budgets,
                review=parts.review,
                concurrency=settings.concurrency,
            )
            parts.budgets.start_clock(info.get("seconds", 0.0))
            observer.on_start(folder, len(parts.tasks), cast(int, settings.trials))
            try:
                if goes_on:
                    await drive.restore()
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


def _default_folder(settings: SweepSettings, environment: Environment) -> Path:
    stem = f"{environment.name}-{settings.split}-{settings.strategy}"
    return free_folder(Path("runs"), re.sub(r"[^\w.-]+", "-", stem))
