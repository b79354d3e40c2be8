"""Locks: one process at a time on a run folder, and on a task whose checkpoints are in Postgres."""

import asyncio
import contextlib
import fcntl
import os
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from langgraph_reflexion.errors import ConfigurationError, WorkersLost
from langgraph_reflexion.lab.experiments.runs import holds_run

LOCK = "lock"
"""The file that the driver of a run holds. It stays in the folder; only whether a process holds it counts."""
WORKERS = "lock-workers"
"""The file that its workers on this machine hold together."""
WORKERS_SECONDS = 20.0
"""Seconds to wait for the workers of a driver that was killed. Ray ends them."""
RETRY_SECONDS = 0.1
"""Seconds before a lock that another process holds is tried again."""
KEEPALIVE = "-c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3"
"""Makes the server release the locks of a machine that is gone within half a minute."""

TaskLock = Callable[[str], AbstractAsyncContextManager[None]]
"""Locks a thread, by its name, for one process."""


@contextmanager
def locked(folder: Path) -> Iterator[str]:
    """Create and hold a run folder; yield a token with which the workers of this process `join`.

    The kernel releases the folder when this process ends, however it ends. If no run begins in a new folder, it is
    removed.

    Raises:
        ConfigurationError: another process holds it, or it cannot be written to.
    """
    # Noted before they are made, to be removed again if no run begins.
    missing = _missing(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        new = not (folder / LOCK).exists()
        descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise ConfigurationError(f"cannot write the run to {folder}: {error.strerror}") from error
    try:
        _hold(descriptor, folder)
        token = uuid.uuid4().hex
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, token.encode(), 0)
        _wait_for_workers(folder)
        try:
            yield token
        finally:
            if new and not holds_run(folder):
                _remove(folder, missing)
    finally:
        os.close(descriptor)


def _missing(folder: Path) -> list[Path]:
    """Return the folders that have to be made for this one, itself first."""
    missing: list[Path] = []
    path = folder
    while not path.exists():
        missing.append(path)
        path = path.parent
    return missing


def _remove(folder: Path, made: Sequence[Path]) -> None:
    """Remove the locks of a folder in which no run has begun, and the folders that were made for it."""
    for name in (LOCK, WORKERS):
        (folder / name).unlink(missing_ok=True)
    # Another process may have written there meanwhile.
    with contextlib.suppress(OSError):
        for each in made:
            each.rmdir()


@contextmanager
def join(folder: Path, token: str) -> Iterator[None]:
    """Hold a run folder as a worker of the process that holds it."""
    with (folder / WORKERS).open("a") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        # The next driver writes its token before it waits for workers: one that comes later sees it here.
        if (folder / LOCK).read_text() != token:
            raise WorkersLost(f"another process holds {folder}")
        yield


def _hold(descriptor: int, folder: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # The file may have been removed between opening and locking it.
        named = (folder / LOCK).stat()
        held = os.path.samestat(os.fstat(descriptor), named)
    except OSError:
        held = False
    if not held:
        raise ConfigurationError(f"another process is using {folder}: wait for it, or stop it")


def _wait_for_workers(folder: Path) -> None:
    if not (folder / WORKERS).exists():
        return
    deadline = time.monotonic() + WORKERS_SECONDS
    with (folder / WORKERS).open() as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError as error:
                if time.monotonic() > deadline:
                    raise ConfigurationError(
                        f"workers are still running on {folder}: stop them with ray stop"
                    ) from error
            time.sleep(RETRY_SECONDS)


@asynccontextmanager
async def open_task_lock(database: str | None) -> AsyncIterator[TaskLock]:
    """Open the session that holds this process's locks on threads: Postgres's advisory locks.

    The server releases them when the session ends, however the process ends. A process that is taken for dead and is
    not keeps the next one waiting until its trial has ended.
    """
    if database is None:
        yield lambda thread: nullcontext()  # the lock of the run folder protects its checkpoints
        return
    from psycopg import AsyncConnection

    async with await AsyncConnection.connect(database, autocommit=True, options=KEEPALIVE) as connection:

        async def call(function: str, thread: str) -> Any:
            query = f"SELECT {function}(hashtextextended(%s, 0))"
            cursor = await connection.execute(query.encode(), [thread])
            row = await cursor.fetchone()
            return row and row[0]

        @asynccontextmanager
        async def held(thread: str) -> AsyncIterator[None]:
            while not await call("pg_try_advisory_lock", thread):  # noqa: ASYNC110 - others wait on the same session
                await asyncio.sleep(RETRY_SECONDS)
            try:
                yield
            finally:
                await asyncio.shield(call("pg_advisory_unlock", thread))

        yield held
