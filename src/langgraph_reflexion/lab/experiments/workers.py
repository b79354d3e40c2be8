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
from langgraph_reflexion.lab.settings import RunSettings
from langgraph_reflexion.loop.budgets import Consumption
from langgraph_reflexion.memory.store import is_postgres
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
        sys.path += [path for path in start["paths"] if path not in sys.path]
        self._start = start
        self._stack = AsyncExitStack()
        self._opening = asyncio.Lock()
        self._opened: tuple[Setup, OpenRun] | None = None
        self._trials: set[asyncio.Task[Any]] = set()

    async def advance(
        self, task: str, progress: Sequence[Any], spent: Sequence[Any], run: Sequence[Any], answered: bool
    ) -> str:
        """Run a task's next trial (`TaskRun.advance`) and return it as JSON.

        `spent` is the run's account of the task, `run` that of the whole run with the seconds on its clock;
        `answered` tells whether the run's models have answered any worker.
        """
        current: Any = asyncio.current_task()
        self._trials.add(current)
        secrets: Sequence[str] = ()
        try:
            setup, opened = await self._open()
            secrets = setup.secrets
            for client in setup.graph.clients:
                client.answered = client.answered or answered
            task_run = opened.task_run(task, progress=TaskProgress(*progress))
            setup.budgets.take_over(task, task_run.config, Consumption(*spent), Consumption(*run[0]), run[1])
            finished = await task_run.advance()
            total = setup.budgets.spent(task, task_run.config)
            reply = [finished, task_run.progress, total]
            # Ray keeps replies for a while, and an agent may repeat a key.
            return redact(json.dumps(reply, ensure_ascii=False), secrets, "[secret]")
        except Exception as error:
            error.args = tuple(redact(str(each), secrets, "[secret]") for each in error.args)
            if isinstance(error, TaskError):
                error.traceback = redact(error.traceback, secrets, "[secret]")
            raise error from None
        finally:
            self._trials.discard(current)

    async def answered(self) -> bool:
        """Return whether a model has answered this worker."""
        return self._opened is not None and any(client.answered for client in self._opened[0].graph.clients)

    async def close(self) -> None:
        """Stop the trials in flight, and close the environment and the connections."""
        for each in self._trials:
            each.cancel()
        if self._trials:
            await asyncio.wait(self._trials)
        await self._stack.aclose()

    async def _open(self) -> tuple[Setup, OpenRun]:
        async with self._opening:
            if self._opened is None:
                settings = RunSettings.model_validate(self._start["settings"])
                folder = Path(self._start["folder"])
                if settings.database is None:
                    self._stack.enter_context(join(folder, self._start["token"]))
                setup = await self._stack.enter_async_context(open_setup(settings))
                opened = open_run(setup, folder, self._start["run_id"])
                self._opened = setup, await self._stack.enter_async_context(opened)
            return self._opened


@dataclass
class WorkerPool:
    """The workers of a run. Each trial goes to the worker with the fewest trials in flight."""

    workers: Sequence[Any]
    budgets: SharedBudgets
    on_action: Callable[[], None]
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
        run.progress = TaskProgress(*progress)
        self.budgets.account(run.task["id"], run.config, Consumption(*spent))
        self.answered = True
        for _ in range(finished[0]["actions"]):
            self.on_action()
        return Finished(*finished)

    async def _request(self, worker: Any, run: TaskRun) -> Any:
        from ray.exceptions import RayError, RayTaskError

        task = run.task["id"]
        while True:
            answered = self.answered
            account = self.budgets.spent(task, run.config), (self.budgets.total, self.budgets.seconds)
            try:
                return json.loads(await worker.advance.remote(task, run.progress, *account, answered))
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
            with suppress(RayError):
                self.answered = self.answered or await worker.answered.remote()
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
    if len({tuple(database_secrets(each)) for each in (settings.database, settings.lessons)} - {()}) > 1:
        raise ConfigurationError("workers need one password for --database and --lessons, or none for one of them")
    if settings.base_url != public_url(settings.base_url):
        raise ConfigurationError(
            "workers get no password or query of --base-url: leave it out, and put the key into their environment"
        )


@asynccontextmanager
async def open_workers(
    setup: Setup, folder: Path, run_id: str, token: str, on_action: Callable[[], None]
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
    options: dict[str, Any] = {"address": settings.ray_address}
    if settings.ray_address is None:
        options = {"address": "local", "num_cpus": settings.workers, "object_store_memory": OBJECT_STORE_BYTES}
        options["include_dashboard"] = False
    with _password_in_environment(settings):
        try:
            await asyncio.to_thread(ray.init, log_to_driver=False, configure_logging=False, **options)
        except (ConnectionError, RuntimeError, ValueError) as error:
            why = f"{error}: {error.__cause__}" if error.__cause__ else str(error)
            raise ConfigurationError(f"Ray cannot be started or reached: {why}") from error
    if (handler := signal.getsignal(signal.SIGTERM)) and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, handler)  # in place of Ray's, which prints its stack and aborts
    try:
        actor: Any = ray.remote(max_restarts=-1, max_task_retries=MAX_RETRIES, scheduling_strategy="SPREAD")(Worker)
        size = min(settings.workers, settings.concurrency, len(setup.tasks))
        workers: list[Any] = [actor.remote(start) for _ in range(size)]
        try:
            yield WorkerPool(workers, setup.budgets, on_action).advance
        finally:
            closing = [each.close.remote() for each in workers]
            await asyncio.to_thread(ray.wait, closing, num_returns=size, timeout=CLOSING_SECONDS)
    finally:
        await asyncio.to_thread(ray.shutdown)


def _start(settings: RunSettings, folder: Path, run_id: str, token: str) -> dict[str, Any]:
    return {
        # Ray keeps arguments for a while: passwords are left out, and found in the workers' environment.
        "settings": settings.public(),
        "run_id": run_id,
        "folder": str(folder.absolute()),
        "token": token,
        "cwd": os.getcwd(),
        "paths": [os.path.abspath(path) for path in sys.path],
    }


@contextmanager
def _password_in_environment(settings: RunSettings) -> Iterator[None]:
    """Put the databases' password where workers on this machine inherit it, while Ray is started."""
    before = os.environ.get("PGPASSWORD")
    given = [secret for each in (settings.lessons, settings.database) for secret in database_secrets(each)]
    if given:
        os.environ["PGPASSWORD"] = given[-1]
    try:
        yield
    finally:
        os.environ.pop("PGPASSWORD", None)
        if before is not None:
            os.environ["PGPASSWORD"] = before
