"""Workers as Ray's actors, on one machine or many: `--executor ray` (extra `ray`).

With `RAY_ADDRESS` in the environment they are started on that cluster, otherwise on one that is started for the run.
Whatever is passed to an actor is kept by Ray, for a while: no key and no password is. A worker's model finds its key
in the worker's environment, and its database the password in `PGPASSWORD` there, or in a `~/.pgpass`.
"""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.experiments.messages import END, PATIENCE_SECONDS, Link, LinkLost
from langgraph_reflexion.models.secrets import blotted, database_secrets, public_database
from langgraph_reflexion.settings import RunSettings


class RayWorker:
    """A worker, as Ray runs it: its messages come and go as calls."""

    def __init__(self, folder: str) -> None:
        # Paths among the settings are relative to where the driver is.
        with suppress(OSError):
            os.chdir(folder)
        self._inbox: asyncio.Queue[str] = asyncio.Queue()
        self._outbox: asyncio.Queue[str] = asyncio.Queue()
        self._serving: asyncio.Task[None] | None = None

    async def tell(self, message: str) -> None:
        """Take a message of the driver's."""
        self._inbox.put_nowait(message)
        if self._serving is None:
            from langgraph_reflexion.experiments.worker import Worker

            def say(message: str) -> None:
                # An agent may know a key and repeat it.
                self._outbox.put_nowait(blotted(message, worker.secrets, "[secret]"))

            worker = Worker(self._inbox, say)
            self._serving = asyncio.create_task(worker.serve())

    async def listen(self) -> list[str]:
        """Wait for messages and return them."""
        said = [await self._outbox.get()]
        while not self._outbox.empty():
            said.append(self._outbox.get_nowait())
        return said

    async def ended(self) -> None:
        """Wait until all is closed."""
        if self._serving is not None:
            await self._serving


class RayLink:
    """An actor, as its driver sees it."""

    def __init__(self, actor: Any) -> None:
        self._actor = actor

    def tell(self, message: str) -> None:
        """See `Link`."""
        self._actor.tell.remote(message)

    async def listen(self) -> list[str]:
        """See `Link`."""
        from ray.exceptions import RayActorError

        try:
            said: list[str] = await self._actor.listen.remote()
        except RayActorError as error:
            raise LinkLost(type(error).__name__) from None
        return said

    async def close(self) -> None:
        """See `Link`."""
        import ray

        with suppress(ray.exceptions.RayError, TimeoutError):
            self.tell(END)
            await asyncio.wait_for(asyncio.wrap_future(self._actor.ended.remote().future()), PATIENCE_SECONDS)
        ray.kill(self._actor)


@asynccontextmanager
async def open_cluster(
    settings: RunSettings,
) -> AsyncIterator[tuple[Callable[[], Awaitable[Link]], dict[str, Any]]]:
    """Connect to Ray, or start it.

    Args:
        settings: The run's.

    Yields:
        A function that starts a worker, and the settings for workers, without passwords.

    Raises:
        ConfigurationError: the cluster cannot be reached.
    """
    # Nothing is reported to anybody unless the user wants that.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray

    # What it has to say of itself would go between our lines.
    logging.getLogger("ray").setLevel(logging.ERROR)
    ours = not ray.is_initialized()
    if ours:
        address = os.environ.get("RAY_ADDRESS")
        options: dict[str, Any] = {"address": address} if address else _local(settings)
        with _password(settings.database):
            try:
                await asyncio.to_thread(ray.init, log_to_driver=False, configure_logging=False, **options)
            except (ConnectionError, RuntimeError, ValueError) as error:
                raise ConfigurationError(f"Ray cannot be started, or reached at {address}: {error}") from error
    try:
        # Each is wherever there is most room.
        actor = ray.remote(max_restarts=0, scheduling_strategy="SPREAD")(RayWorker)

        async def open_link() -> Link:
            return RayLink(actor.remote(os.getcwd()))

        addresses = {name: public_database(getattr(settings, name)) for name in ("database", "lessons")}
        yield open_link, settings.model_dump(mode="json") | addresses
    finally:
        if ours:
            await asyncio.to_thread(ray.shutdown)


def _local(settings: RunSettings) -> dict[str, Any]:
    return {"address": "local", "num_cpus": settings.workers, "include_dashboard": False}


@contextmanager
def _password(database: str | None) -> Iterator[None]:
    """The database's password in the environment that workers on this machine inherit, while Ray is started."""
    before, given = os.environ.get("PGPASSWORD"), database_secrets(database)
    if given:
        os.environ["PGPASSWORD"] = given[-1]
    try:
        yield
    finally:
        os.environ.pop("PGPASSWORD", None)
        if before is not None:
            os.environ["PGPASSWORD"] = before
