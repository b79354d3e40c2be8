"""One process at a time on a task whose checkpoints are in Postgres, wherever the processes are."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from langgraph_reflexion.experiments.task_run import Fence, no_fence

PATIENCE_SECONDS = 0.1
"""Seconds before a thread that another process holds is tried again."""
KEEPALIVE = "-c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3"
"""So that the server lets go of what a machine held which is gone, and has not said so, within half a minute."""


@asynccontextmanager
async def open_fence(database: str | None) -> AsyncIterator[Fence]:
    """Open the session that holds the locks of this process's threads: Postgres's advisory locks.

    The server lets go of them when the session ends, however the process ends. A process that was taken for dead, and
    is not, thereby keeps the next one waiting until it has finished its trial.

    Args:
        database: The address of a Postgres database; None where the checkpoints are in a file of the run folder.
    """
    if database is None:
        yield no_fence
        return
    from psycopg import AsyncConnection

    async with await AsyncConnection.connect(database, autocommit=True, options=KEEPALIVE) as connection:

        async def ask(function: str, thread: str) -> Any:
            query = f"SELECT {function}(hashtextextended(%s, 0))"
            row = await (await connection.execute(query.encode(), [thread])).fetchone()
            return row and row[0]

        @asynccontextmanager
        async def held(thread: str) -> AsyncIterator[None]:
            while not await ask("pg_try_advisory_lock", thread):  # noqa: ASYNC110 - others wait on the same session
                await asyncio.sleep(PATIENCE_SECONDS)
            try:
                yield
            finally:
                await asyncio.shield(ask("pg_advisory_unlock", thread))

        yield held
