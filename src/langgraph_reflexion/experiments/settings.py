"""What a sweep is made of: its settings, what `run.json` says of them, and what may change when it goes on."""

import json
import math
import platform
import uuid
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import langgraph_reflexion
from langgraph_reflexion.checkpoints import check_kind
from langgraph_reflexion.envs.base import Environment, choose_split
from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.experiments.commit import commit
from langgraph_reflexion.experiments.facts import NO_LLM
from langgraph_reflexion.models.load import DEMO, TIMEOUT_SECONDS
from langgraph_reflexion.models.secrets import public_database, public_url
from langgraph_reflexion.profiles import load_profile
from langgraph_reflexion.retries import Retries

RAISABLE = ("trials", "limit", "budgets")
"""What may be raised when a run goes on, and never lowered."""

COUNTS = ("limit", "trials", "samples", "retries", "memory_size", "concurrency", "workers")
"""Settings that are numbers from 1 on."""

MEASURES = {"timeout": 0.01, "temperature": 0.0}
"""Settings that are measured, and the least that they may be."""

FREE = ("concurrency", "workers", "engine", "retries", "timeout", "cache")
"""What may be anything when a run goes on, as the record does not depend on it."""


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
        agent: How the actor acts: `react`, `tools`, or one of the environment's variants.
        evaluator: What passes the verdict: `environment`, `llm`, `self-consistency`, `self-tests` or `none`.
        samples: How often `self-consistency` asks again.
        feedback: How much of the verdict is told.
        profile: Numbers and rules.
        model: The actor's model.
        reflection_model: Reflects and judges; the actor's model unless given.
        base_url: The model server's address.
        temperature: How random the models' answers are; the server's own choice unless given.
        timeout: How many seconds one model call may take.
        retries: How often a model call, an action or a reset is tried before it is a fault.
        budgets: What may be spent: scope (`trial`, `task`, `run`), what (see `budgets.Budget`), how much.
        prices: What a million tokens cost: the model, then `INPUT,OUTPUT[,CACHED_INPUT]`.
        cache: The file where model answers are kept; none unless given.
        seed: Of the run, and of what the environment generates.
        memory: What is kept of the reflections: the last ones, all, or the last ones and a summary.
        memory_size: How many reflections are kept.
        memory_map: Whether the model is told what the world has shown so far.
        concurrency: How many tasks at once, over all workers. The record does not depend on it, nor on the workers.
        workers: How many processes advance them; with the engine `process` and 1 it is this one.
        engine: Where these are: `process`, on this machine, or `ray`, wherever Ray starts them.
        stop_without_improvement: Whether all tasks advance together, until a trial solves nothing new.
        checkpoints: The checkpoints to keep: the `latest`, which resuming needs, or the whole `history`.
        database: Where they are kept: the address of a Postgres database; a file of the run folder unless given.
        lessons: Where lessons that outlive their task are kept: a SQLite file, or the address of a Postgres database.
        user: Whose lessons they are; everyone's unless given.
        recall: Whether lessons are recalled. Where they are written as well, tasks run in their order, one at a time.
        frozen: Whether they are only read. No task is told then what it has taught itself.
    """

    environment: str
    options: dict[str, Any] = field(default_factory=dict)
    split: str | None = None
    limit: int | None = None
    trials: int | None = None
    strategy: str | None = None
    agent: str | None = None
    evaluator: str | None = None
    samples: int = 5
    feedback: str | None = None
    profile: str = "paper"
    model: str = DEMO
    reflection_model: str | None = None
    base_url: str | None = None
    temperature: float | None = None
    timeout: float = TIMEOUT_SECONDS
    retries: int = Retries.attempts
    budgets: dict[str, dict[str, float]] = field(default_factory=dict)
    prices: dict[str, str] = field(default_factory=dict)
    cache: str | None = None
    seed: int = 0
    memory: str = "window"
    memory_size: int | None = None
    memory_map: bool = False
    concurrency: int = 8
    workers: int = 1
    engine: str = "process"
    stop_without_improvement: bool | None = None
    checkpoints: str = "latest"
    database: str | None = None
    lessons: str | None = None
    user: str | None = None
    recall: bool = True
    frozen: bool = False

    def resolved(self, environment: Environment) -> "SweepSettings":
        """The settings with every value filled in.

        Raises:
            ConfigurationError: a number is too small, there is no such kind of checkpoints, or the settings of
                lessons do not go together.
        """
        for name in COUNTS:
            if (count := getattr(self, name)) is not None and count < 1:
                raise ConfigurationError(f"{name}={count}: at least 1 is needed")
        for name, least in MEASURES.items():
            if (value := getattr(self, name)) is not None and not least <= value < math.inf:
                raise ConfigurationError(f"{name}={value}: a number from {least:g} on is needed")
        if self.lessons is None and (self.frozen or not self.recall or self.user is not None):
            raise ConfigurationError(
                "--no-recall, --frozen and --user say how --lessons are used, and there are none"
            )
        if self.frozen and not self.recall:
            raise ConfigurationError("--frozen lessons that are not recalled change nothing: leave one of both out")
        check_kind(self.checkpoints)
        profile = load_profile(self.profile).of(environment.name, self.agent, self.strategy)
        stop = self.stop_without_improvement
        return replace(
            self,
            split=choose_split(environment, self.split),
            agent=profile.agent,
            strategy=profile.strategy,
            evaluator=self.evaluator or profile.evaluator,
            feedback=self.feedback or profile.feedback,
            trials=self.trials or profile.max_trials,
            memory_size=self.memory_size or profile.memory_size,
            # What one task teaches the next one is told, so that the record depends on their order.
            concurrency=1 if self.lessons and self.recall and not self.frozen else self.concurrency,
            stop_without_improvement=profile.stop_without_improvement if stop is None else stop,
        )

    def public(self) -> dict[str, Any]:
        """The settings as they are written down: plain JSON without a password."""
        public = asdict(self) | {
            "base_url": public_url(self.base_url),
            "database": public_database(self.database),
            "lessons": public_database(self.lessons),
            "oracle": self.evaluator == "environment",
        }
        return dict(json.loads(json.dumps(public)))


def describe(settings: SweepSettings, tasks: Sequence[str]) -> dict[str, Any]:
    """What `run.json` says of a run.

    Args:
        settings: The settings, resolved.
        tasks: The ids of its tasks, in their order.
    """
    # The run's own id keeps its checkpoints apart from those of other runs in the same database.
    info: dict[str, Any] = {"run_id": uuid.uuid4().hex[:12], "settings": settings.public(), "tasks": list(tasks)}
    if DEMO in (settings.model, settings.reflection_model):
        info["note"] = NO_LLM
    info["versions"] = {
        "python": platform.python_version(),
        "langgraph_reflexion": langgraph_reflexion.__version__,
        "commit": commit(),
        **{package: version(package) for package in ("langgraph", "langchain-core")},
    }
    info["created"] = datetime.now(UTC).isoformat(timespec="seconds")
    return info


def settings_of(info: dict[str, Any]) -> SweepSettings:
    """The settings that a run was made with, as its `run.json` has them."""
    known = {each.name for each in fields(SweepSettings)}
    return SweepSettings(**{name: value for name, value in info["settings"].items() if name in known})


def continued(info: dict[str, Any], settings: SweepSettings, tasks: Sequence[str], folder: Path) -> dict[str, Any]:
    """What `run.json` says once the run goes on under these settings.

    Args:
        info: What it says now.
        settings: The settings, resolved.
        tasks: The ids of the tasks that they give.
        folder: Named where the run is refused.

    Raises:
        ConfigurationError: something else differs than what may be raised. The message names all of it.
    """
    was, now = info["settings"], settings.public()
    differing = [
        f"{name} was {_shown(was.get(name))}, is {_shown(now[name])}"
        for name in now
        if name not in (*RAISABLE, *FREE) and was.get(name) != now[name]
    ]
    limits, had_limits = _limits(now), _limits(was)
    differing += [
        f"{name} was {_shown(had_limits.get(name))}, is {_shown(limit)}, and can only be raised"
        for name, limit in limits.items()
        if _lower(limit, had_limits.get(name))
    ]
    if differing:
        raise ConfigurationError(f"{folder} holds a run with other settings: {'; '.join(differing)}")
    had = info["tasks"]
    for number, task in enumerate(had):
        if number >= len(tasks) or tasks[number] != task:
            is_now = repr(tasks[number]) if number < len(tasks) else "none"
            raise ConfigurationError(
                f"{folder} holds a run with other tasks: task {number + 1} was {task!r}, is {is_now}"
            )
    return info | {"settings": now, "tasks": list(tasks)}


def _limits(settings: dict[str, Any]) -> dict[str, float | None]:
    """What may be raised, each limit under a name of its own."""
    limits = {"trials": settings["trials"], "limit": settings["limit"]}
    scopes = settings.get("budgets", {}).items()
    return limits | {f"budget {scope}.{what}": limit for scope, whats in scopes for what, limit in whats.items()}


def _lower(now: float | None, was: float | None) -> bool:
    """Whether a limit is lower than another, None being no limit."""
    return now is not None and (was is None or now < was)


def _shown(value: Any) -> str:
    return "unset" if value is None else value if isinstance(value, str) else json.dumps(value)
