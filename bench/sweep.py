"""A sweep: many tasks through one agent, into a run folder."""

import asyncio
import platform
import re
from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from time import perf_counter
from typing import Any, cast

import langgraph_reflexion
from langgraph_reflexion.bench.drive import Drive, Observer
from langgraph_reflexion.bench.environment import make_environment
from langgraph_reflexion.bench.record import RunRecord, free_folder, read_run
from langgraph_reflexion.bench.report import RunReport, report_run
from langgraph_reflexion.envs.base import Environment, choose_split
from langgraph_reflexion.errors import ConfigurationError, ModelFault
from langgraph_reflexion.graph.memory import Feedback, Strategy
from langgraph_reflexion.graph.profiles import load_profile
from langgraph_reflexion.graph.reflexion import create_reflexion
from langgraph_reflexion.models import DEMO, load_model, public_url, secrets_of


@dataclass(frozen=True)
class SweepSettings:
    """What is run. None stands for the environment's or the profile's own value.

    Attributes:
        environment: Its name, or the path of one's own (`package.module:Class`).
        options: Its options.
        split: Which of its sets of tasks.
        limit: At most so many tasks.
        trials: At most so many trials per task.
        strategy: What a retry gets to see.
        agent: How the actor acts: `react` or `tools`.
        evaluator: What passes the verdict: `environment` or `llm`.
        feedback: How much of the verdict is told.
        profile: Numbers and rules.
        model: The actor's model.
        reflection_model: Reflects and judges; the actor's model unless given.
        base_url: The model server's address.
        seed: Of the run, and of what the environment generates.
        memory_size: How many reflections are kept.
        concurrency: How many tasks at once. The record does not depend on it.
        stop_without_improvement: Whether all tasks advance together, until a trial solves nothing new.
    """

    environment: str
    options: dict[str, Any] = field(default_factory=dict)
    split: str | None = None
    limit: int | None = None
    trials: int | None = None
    strategy: str = Strategy.REFLEXION.value
    agent: str = "react"
    evaluator: str = "environment"
    feedback: str = "binary"
    profile: str = "paper"
    model: str = DEMO
    reflection_model: str | None = None
    base_url: str | None = None
    seed: int = 0
    memory_size: int | None = None
    concurrency: int = 8
    stop_without_improvement: bool | None = None

    def resolved(self, environment: Environment) -> "SweepSettings":
        """The settings with every value filled in."""
        profile = load_profile(self.profile)
        stop = self.stop_without_improvement
        return replace(
            self,
            split=choose_split(environment, self.split),
            trials=self.trials or profile.max_trials,
            memory_size=self.memory_size or profile.memory_size,
            stop_without_improvement=profile.stop_without_improvement if stop is None else stop,
        )


@dataclass(frozen=True)
class Summary:
    """How a sweep went.

    Attributes:
        report: The same as `report` says of the run folder.
        statuses: How many tasks are `solved`, `failed`, ended on a `budget` or as a `fault`, or are
            `unfinished` because the sweep stopped as a whole.
        seconds: Wall time.
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

    def on_trial(self, row: Any, finished: bool) -> None:
        """Nothing."""


async def run_sweep(settings: SweepSettings, out: Path | None = None, observer: Observer | None = None) -> Summary:
    """Run every task, and record every trial.

    Args:
        settings: What to run.
        out: The run folder; the first free one under `runs/` unless given.
        observer: Is told how it goes.

    Raises:
        ConfigurationError: a setting is wrong, or the folder holds a run already.
        EnvironmentUnavailable: the environment cannot be used here.
        ModelFault: the model refused for good, or never answered. The rows so far are kept.
    """
    environment = make_environment(settings.environment, settings.options, settings.seed)
    try:
        return await _run(settings.resolved(environment), environment, out, observer or Unobserved())
    finally:
        environment.close()


def sweep(settings: SweepSettings, out: Path | None = None, observer: Observer | None = None) -> Summary:
    """Run a sweep from synchronous code. Where an event loop runs already, await `run_sweep`."""
    return asyncio.run(run_sweep(settings, out, observer))


async def _run(settings: SweepSettings, environment: Environment, out: Path | None, observer: Observer) -> Summary:
    started = perf_counter()
    model = load_model(settings.model, base_url=settings.base_url)
    other = settings.reflection_model
    reflection_model = load_model(other, base_url=settings.base_url) if other else model
    graph = create_reflexion(
        model,
        environment,
        actor=settings.agent,
        strategy=settings.strategy,
        evaluator=settings.evaluator,
        reflection_model=reflection_model,
        memory_size=settings.memory_size,
        max_trials=settings.trials,
        feedback=cast(Feedback, settings.feedback),
        profile=settings.profile,
        seed=settings.seed,
    ).compile()
    tasks = environment.tasks(settings.split, settings.limit)
    if not tasks:
        raise ConfigurationError(f"the split {settings.split!r} of {settings.environment} has no tasks")
    folder = out or _default_folder(settings, environment)
    secrets = [*secrets_of(model, settings.base_url), *secrets_of(reflection_model)]
    record = RunRecord(folder, describe(settings, [task["id"] for task in tasks]), secrets)
    reflects = Strategy(settings.strategy).reflects
    drive = Drive(graph, tasks, record, observer, reflects=reflects, concurrency=settings.concurrency)
    observer.on_start(folder, len(tasks), settings.trials or 0)
    try:
        await (drive.in_step() if settings.stop_without_improvement else drive.to_the_end())
    except ModelFault as fault:
        # Servers quote the key that they refuse.
        raise ModelFault(record.without_secrets(str(fault)), permanent=fault.permanent) from None
    finally:
        await drive.close()
        record.close()
    counts = Counter("unfinished" if run.status == "running" else run.status for run in drive.runs)
    statuses = {status: counts[status] for status in ("solved", "failed", "fault", "budget", "unfinished")}
    return Summary(report_run(read_run(folder)), statuses, perf_counter() - started)


def describe(settings: SweepSettings, tasks: list[str]) -> dict[str, Any]:
    """What `run.json` says of a run.

    Args:
        settings: The settings, resolved.
        tasks: The ids of its tasks, in their order.
    """
    public = asdict(settings) | {
        "base_url": public_url(settings.base_url),
        "oracle": settings.evaluator == "environment",
    }
    info: dict[str, Any] = {"settings": public, "tasks": tasks}
    if DEMO in (settings.model, settings.reflection_model):
        info["note"] = "The demo model follows rules. It is not an LLM, and its numbers say nothing about one."
    packages = ("langgraph", "langchain-core")
    info["versions"] = {
        "python": platform.python_version(),
        "langgraph_reflexion": langgraph_reflexion.__version__,
        **{package: version(package) for package in packages},
    }
    info["created"] = datetime.now(UTC).isoformat(timespec="seconds")
    return info


def _default_folder(settings: SweepSettings, environment: Environment) -> Path:
    stem = f"{environment.name}-{settings.split}-{settings.strategy}"
    return free_folder(Path("runs"), re.sub(r"[^\w.-]+", "-", stem))
