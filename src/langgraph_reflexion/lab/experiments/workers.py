"""Workers: Ray actors that run trials, on this machine or on several (extra `ray`).

The driver orders the tasks, keeps the budgets and writes the record; it asks an actor for the next trial of a task.
Everything an actor does follows from the task's checkpoint (`TaskRun.advance`), so Ray restarts one that died and
repeats the calls it was working on.

The run's budgets are checked in the actor, after each action, against what its own tasks spend and what the whole run
had spent when the trial was requested. So a run stops at the latest with the trials in flight.
"""

import asyncio
import importlib.util
import json
import logging
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langgraph_reflexion.errors import ConfigurationError, ModelFault, WorkersLost, the_extra
from langgraph_reflexion.lab.experiments.locks import join
from langgraph_reflexion.lab.experiments.rows import Finished
from langgraph_reflexion.lab.experiments.setup import OpenRun, Setup, SharedBudgets, open_run, open_setup
from langgraph_reflexion.lab.experiments.task_run import TaskError, TaskProgress, TaskRun
from langgraph_reflexion.lab.run_settings import RunSettings
from langgraph_reflexion.loop.budgets import Consumption
from langgraph_reflexion.memory.databases import is_postgres
from langgraph_reflexion.state import Step
from langgraph_reflexion.support.secrets import database_secrets, public_url, redact

MAX_RETRIES = 3
"""N times that a trial continues after its worker died."""
CLOSING_SECONDS = 5.0
"""Seconds that the workers may take to close their environments and connections."""
OBJECT_STORE_BYTES = 100_000_000
"""Bytes of Ray's object store on this machine: trials are small, and Ray would reserve 30% of the memory."""


class Worker:
    """A Ray actor with an environment, models and a checkpointer of its own."""

    def __init__(self, start: dict[str, Any]) -> None:
        # Relative paths among the settings start where the driver is, if this machine has that folder.
        with suppress(OSError):
            os.chdir(start["cwd"])
        for path in start["paths"]:
            if path not in sys.path:
                sys.path.append(path)
        self._start = start
        self._stack = AsyncExitStack()
        self._opening = asyncio.Lock()
        self._opened: tuple[Setup, OpenRun] | None = None
        self._trials: set[asyncio.Task[Any]] = set()

    async def advance(
        self, task: str, progress: Sequence[Any], spent: Sequence[Any], run: Sequence[Any], answered: bool
    ) -> str:
        """Run a task's next trial (`TaskRun.advance`).

        Args:
            task: The task's id.
            progress: The fields of its `TaskProgress`.
            spent: The fields of its `Consumption` so far.
            run: The fields of the whole run's `Consumption`, and the seconds on the run's clock.
            answered: Whether the run's models have answered any worker.

        Returns:
            What `TaskRun.advance` returns, the task's progress and its consumption, as JSON.
        """
        current: Any = asyncio.current_task()
        self._trials.add(current)
        secrets: Sequence[str] = ()
        try:
            setup, opened = await self._open()
            secrets = setup.secrets
            # A fault is permanent if the server has never answered. It may have answered another worker.
            if answered:
                for client in setup.graph.clients:
                    client.mark_answered()
            task_run = opened.task_run(task, progress=TaskProgress(*progress))
            spent_by_run, seconds = run
            setup.budgets.take_over(
                task,
                task_run.config,
                Consumption(*spent),
                Consumption(*spent_by_run),
                seconds,
            )
            finished = await task_run.advance()
            total = setup.budgets.spent(task, task_run.config)
            reply = json.dumps([finished, task_run.progress, total], ensure_ascii=False)
            # Ray keeps replies for a while, and an agent may repeat a key.
            return redact(reply, secrets, "[secret]")
        except Exception as error:
            _redact_error(error, secrets)
            raise error from None
        finally:
            self._trials.discard(current)

    async def answered(self) -> bool:
        """Return whether a model has answered this worker."""
        if self._opened is None:
            return False
        setup, _ = self._opened
        return any(client.answered for client in setup.graph.clients)

    async def close(self) -> None:
        """Stop the trials in flight, and close the environment and the connections."""
        for each in self._trials:
            each.cancel()
        if self._trials:
            await asyncio.wait(self._trials)
        await self._stack.aclose()

    async def _open(self) -> tuple[Setup, OpenRun]:
        async with self._opening:
            if self._opened is not None:
                return self._opened
            start = self._start
            settings = RunSettings.model_validate(start["settings"])
            folder = Path(start["folder"])
            # Checkpoints in a database have locks of their own.
            if settings.database is None:
                self._stack.enter_context(join(folder, start["token"]))
            setup = await self._stack.enter_async_context(open_setup(settings))
            opening = open_run(setup, folder, start["run_id"])
            opened = await self._stack.enter_async_context(opening)
            self._opened = (setup, opened)
            return self._opened


def _redact_error(error: Exception, secrets: Sequence[str]) -> None:
    """Remove secrets from an error, which may quote what a server or an agent said."""
    error.args = tuple(redact(str(each), secrets, "[secret]") for each in error.args)
    if isinstance(error, TaskError):
        error.traceback = redact(error.traceback, secrets, "[secret]")


@dataclass
class WorkerPool:
    """The workers of a run. Each trial goes to the worker with the fewest trials in flight."""

    workers: Sequence[Any]
    budgets: SharedBudgets
    on_action: Callable[[str, Step], None]
    answered: bool = False

    def __post_init__(self) -> None:
        self._in_flight = [0] * len(self.workers)

    async def advance(self, run: TaskRun) -> Finished:
        """Have a worker run the task's next trial. See `TaskRun.advance`."""
        number = min(range(len(self.workers)), key=self._in_flight.__getitem__)
        self._in_flight[number] += 1
        try:
            finished, progress, spent = await self._request(self.workers[number], run)
        finally:
            self._in_flight[number] -= 1
        done = Finished(*finished)
        run.progress = TaskProgress(*progress)
        self.budgets.account(run.task["id"], run.config, Consumption(*spent))
        self.answered = True
        for step in done.row.get("steps", []):
            if step["action"] is not None:
                self.on_action(run.task["id"], step)
        return done

    async def _request(self, worker: Any, run: TaskRun) -> Any:
        """Return a worker's reply: a finished trial, the progress of its task, and what that has spent."""
        from ray.exceptions import RayError, RayTaskError

        task = run.task["id"]
        while True:
            answered = self.answered
            spent = self.budgets.spent(task, run.config)
            spent_by_run = (self.budgets.total, self.budgets.seconds)
            try:
                reply = await worker.advance.remote(task, run.progress, spent, spent_by_run, answered)
                return json.loads(reply)
            except RayTaskError as error:
                if not isinstance(error.cause, ModelFault):
                    raise error.cause from error
                # A model that has answered another worker, maybe in a trial in flight, is not one that never answers.
                if answered or not await self._has_answered():
                    raise error.cause from None
            except RayError as error:
                raise WorkersLost(f"{MAX_RETRIES + 1} workers died in a row on {task}: {error}") from None

    async def _has_answered(self) -> bool:
        from ray.exceptions import RayError

        for worker in self.workers:
            if self.answered:
                break
            # A worker that has died has not answered.
            with suppress(RayError):
                if await worker.answered.remote():
                    self.answered = True
        return self.answered


def uses_ray(settings: RunSettings) -> bool:
    """Return whether a run has workers."""
    return settings.workers > 1 or settings.ray_address is not None


def check_workers(settings: RunSettings) -> None:
    """Make sure that a run's workers can be started, and reach all they need."""
    if not uses_ray(settings):
        return
    if importlib.util.find_spec("ray") is None:
        raise ConfigurationError(f"--workers and --ray-address need {the_extra('ray')}")
    if settings.ray_address and settings.database is None:
        raise ConfigurationError(
            "workers on a Ray cluster need checkpoints that every machine reaches: "
            "--database postgresql://user@host/name"
        )
    if settings.ray_address and settings.lessons and not is_postgres(settings.lessons):
        raise ConfigurationError("workers on a Ray cluster need lessons that every machine reaches: in Postgres")
    if len(_passwords(settings)) > 1:
        raise ConfigurationError("workers need one password for --database and --lessons, or none for one of them")
    if settings.base_url != public_url(settings.base_url):
        raise ConfigurationError(
            "workers get no password or query of --base-url: leave it out, and put the key into their environment"
        )


@asynccontextmanager
async def open_workers(
    setup: Setup, folder: Path, run_id: str, token: str, on_action: Callable[[str, Step], None]
) -> AsyncIterator[Callable[[TaskRun], Awaitable[Finished]]]:
    """Start a run's workers, and end them. In a run without any, trials run in this process."""
    settings = setup.settings
    if not uses_ray(settings):
        yield TaskRun.advance
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # without it, Ray warns on standard error
    import ray

    logging.getLogger("ray").setLevel(logging.ERROR)
    start = _start(settings, folder, run_id, token)
    await _start_ray(settings)
    try:
        make_actor = ray.remote(max_restarts=-1, max_task_retries=MAX_RETRIES, scheduling_strategy="SPREAD")
        actor: Any = make_actor(Worker)
        size = min(settings.workers, settings.concurrency, len(setup.tasks))
        workers: list[Any] = [actor.remote(start) for _ in range(size)]
        try:
            yield WorkerPool(workers, setup.budgets, on_action).advance
        finally:
            closing = [each.close.remote() for each in workers]
            await asyncio.to_thread(ray.wait, closing, num_returns=size, timeout=CLOSING_SECONDS)
    finally:
        await asyncio.to_thread(ray.shutdown)


async def _start_ray(settings: RunSettings) -> None:
    """Start Ray on this machine, or connect to its cluster.

    Raises:
        ConfigurationError: that fails.
    """
    import ray

    options: dict[str, Any] = {"address": settings.ray_address}
    if settings.ray_address is None:
        options["address"] = "local"
        options["num_cpus"] = settings.workers
        options["object_store_memory"] = OBJECT_STORE_BYTES
        options["include_dashboard"] = False
    with _password_in_environment(settings):
        try:
            await asyncio.to_thread(ray.init, log_to_driver=False, configure_logging=False, **options)
        except (ConnectionError, RuntimeError, ValueError) as error:
            why = str(error)
            if error.__cause__:
                why = f"{error}: {error.__cause__}"
            raise ConfigurationError(f"Ray cannot be started or reached: {why}") from error
    # In place of Ray's, which prints its stack and aborts. Only the main thread may set one.
    handler = signal.getsignal(signal.SIGTERM)
    in_main_thread = threading.current_thread() is threading.main_thread()
    if handler and in_main_thread:
        signal.signal(signal.SIGTERM, handler)


def _start(settings: RunSettings, folder: Path, run_id: str, token: str) -> dict[str, Any]:
    """Return what a worker needs to begin, as plain JSON."""
    return {
        # Ray keeps arguments for a while: passwords are left out, and found in the workers' environment.
        "settings": settings.public(),
        "run_id": run_id,
        "folder": str(folder.absolute()),
        "token": token,
        "cwd": os.getcwd(),
        "paths": [os.path.abspath(path) for path in sys.path],
    }


def _passwords(settings: RunSettings) -> list[list[str]]:
    """Return the different passwords of a run's databases, each encoded and then decoded."""
    found: list[list[str]] = []
    for address in (settings.lessons, settings.database):
        password = database_secrets(address)
        if password and password not in found:
            found.append(password)
    return found


@contextmanager
def _password_in_environment(settings: RunSettings) -> Iterator[None]:
    """Put the databases' password where workers on this machine inherit it, while Ray is started."""
    before = os.environ.get("PGPASSWORD")
    passwords = _passwords(settings)
    if passwords:
        decoded = passwords[-1][-1]
        os.environ["PGPASSWORD"] = decoded
    try:
        yield
    finally:
        os.environ.pop("PGPASSWORD", None)
        if before is not None:
            os.environ["PGPASSWORD"] = before
