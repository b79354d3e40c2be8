"""Executors of a run's trials: this process, others on this machine, or Ray's on any."""

import importlib.util
import math
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path

from langgraph_reflexion.errors import ConfigurationError, the_extra
from langgraph_reflexion.experiments.crew import Crew, starting
from langgraph_reflexion.experiments.messages import Link
from langgraph_reflexion.experiments.processes import ProcessLink
from langgraph_reflexion.experiments.record import CHECKPOINTS
from langgraph_reflexion.experiments.rows import Finished
from langgraph_reflexion.experiments.setup import Setup
from langgraph_reflexion.experiments.task_run import TaskRun
from langgraph_reflexion.memory.opening import is_postgres
from langgraph_reflexion.models.secrets import database_secrets, public_url
from langgraph_reflexion.settings import RunSettings


def check_executor(settings: RunSettings) -> None:
    """Make sure that a run's workers can be started.

    Raises:
        ConfigurationError: an extra is missing, or something that all workers must reach.
    """
    if settings.executor != "ray":
        return
    if importlib.util.find_spec("ray") is None:
        raise ConfigurationError(f"the executor ray needs {the_extra('ray')}")
    if settings.database is None:
        raise ConfigurationError(
            "the executor ray needs a database that all of its workers reach: --database postgresql://user@host/name"
        )
    known = database_secrets(settings.database)
    if settings.lessons and not (is_postgres(settings.lessons) and {*database_secrets(settings.lessons)} <= {*known}):
        raise ConfigurationError(
            "the executor ray needs lessons that all of its workers reach: --lessons in Postgres, with the password "
            "of --database or none"
        )
    if settings.base_url != public_url(settings.base_url):
        raise ConfigurationError(
            "the executor ray passes no password or query of --base-url on: leave it out, and give its workers the "
            "key in their environment"
        )


@asynccontextmanager
async def open_executor(
    settings: RunSettings,
    setup: Setup,
    folder: Path,
    *,
    run_id: str,
    on_action: Callable[[], None],
    lock: int | None,
) -> AsyncIterator[Callable[[TaskRun], Awaitable[Finished]]]:
    """Start what runs the trials, and end it. Workers are started when there is something to do.

    Args:
        settings: The run's, resolved. Workers make its environment and models anew, by their names.
        setup: What is built here.
        folder: The run folder.
        run_id: Names the run's checkpoints.
        on_action: Called after every action.
        lock: The hold on the folder, which workers on this machine share.

    Yields:
        The function that has a task's next trial run.
    """
    if settings.executor == "process" and settings.workers == 1:
        yield TaskRun.advance
        return
    in_flight = min(settings.concurrency, len(setup.tasks))
    size = min(settings.workers, in_flight)
    share = math.ceil(in_flight / size)
    start = starting(settings, run_id, folder / CHECKPOINTS, len(setup.graph.clients))
    async with AsyncExitStack() as stack:
        open_link: Callable[[], Awaitable[Link]] = partial(ProcessLink.open, lock)
        if settings.executor == "ray":
            from langgraph_reflexion.experiments.ray_workers import open_cluster

            open_link, public = await stack.enter_async_context(open_cluster(settings))
            start = {**start, "settings": public}
        crew = Crew(open_link, size, share, start, setup.budgets, on_action)
        yield (await stack.enter_async_context(crew)).advance
