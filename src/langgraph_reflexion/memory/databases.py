"""The databases that keep lessons: SQLite and Postgres."""

import asyncio
import sqlite3
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from langgraph.store.base import BaseStore

from langgraph_reflexion.errors import ConfigurationError, Fault, the_extra
from langgraph_reflexion.support.secrets import public_database

BUSY_MILLISECONDS = 60_000
"""Milliseconds that a process waits for others that write to the same SQLite file."""

SETUP_ATTEMPTS = 20
"""Number of attempts to create tables: of several processes that do so at once, all but one are refused."""


def is_postgres(where: Path | str | None) -> bool:
    """Return whether this is the address of a Postgres database."""
    return str(where).startswith(("postgresql://", "postgres://"))


def expect_lessons(where: str) -> None:
    """Check that there are lessons.

    Raises:
        ConfigurationError: the file is missing.
    """
    if not (is_postgres(where) or Path(where).is_file()):
        raise ConfigurationError(
            f"there are no lessons in {public_database(where)}: no such file (lessons import with --env creates it)"
        )


async def open_sqlite(path: str, stack: AsyncExitStack) -> BaseStore:
    """Open the file of a SQLite database until the stack is left, and create it.

    Raises:
        ConfigurationError: there is no such folder, or the file is not such a database.
    """
    from langgraph.store.sqlite.aio import AsyncSqliteStore

    # SQLite would only say that it is unable to open the file.
    if not Path(path).parent.is_dir():
        raise ConfigurationError(f"lessons cannot be kept in {public_database(path)}: no such folder")
    try:
        store = await stack.enter_async_context(AsyncSqliteStore.from_conn_string(path))
        # With a write-ahead log, readers do not wait for a writer, and NORMAL is enough to keep the file whole.
        for pragma in (f"busy_timeout={BUSY_MILLISECONDS}", "journal_mode=WAL", "synchronous=NORMAL"):
            cursor = await store.conn.execute(f"PRAGMA {pragma}")
            await cursor.close()
        await _set_up(store, (sqlite3.OperationalError, sqlite3.IntegrityError))
    except sqlite3.Error as error:
        raise ConfigurationError(f"lessons cannot be kept in {public_database(path)}: {error}") from error
    return store


async def overwrite_deleted(store: BaseStore) -> None:
    """Write a SQLite file anew: what was deleted would still be in its free pages. Other databases see to that.

    Raises:
        Fault: the file cannot be written.
    """
    from langgraph.store.sqlite.aio import AsyncSqliteStore

    if not isinstance(store, AsyncSqliteStore):
        return
    try:
        # VACUUM writes the new pages into the write-ahead log: the checkpoint brings them into the file.
        for statement in ("VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"):
            cursor = await store.conn.execute(statement)
            await cursor.close()
    except sqlite3.Error as error:
        raise Fault(f"the records are deleted, but may still be in the free pages of the file: {error}") from error


async def open_postgres(url: str, stack: AsyncExitStack) -> BaseStore:
    """Open a Postgres database by its address until the stack is left.

    Raises:
        ConfigurationError: the extra is missing, or the server cannot be reached.
    """
    try:
        import psycopg
        from langgraph.store.postgres.aio import AsyncPostgresStore
    except ImportError as error:
        raise ConfigurationError(f"lessons in Postgres need {the_extra('postgres')}") from error
    try:
        # First without a pool, which would keep trying.
        connection = await psycopg.AsyncConnection.connect(url, connect_timeout=10)
        await connection.close()
        # With a pool, batches of several tasks go on at once, and a connection that was lost is replaced.
        pooled = AsyncPostgresStore.from_conn_string(url, pool_config={"min_size": 1, "max_size": 4})
        store = await stack.enter_async_context(pooled)
        await _set_up(store, (psycopg.Error,))
    except psycopg.Error as error:
        # The driver's message would quote the address.
        raise ConfigurationError("the Postgres server of the lessons cannot be reached: check --lessons") from error
    return store


async def _set_up(store: Any, refusals: tuple[type[Exception], ...]) -> None:
    """Create the tables; try again while another process creates them."""
    for attempt in range(1, SETUP_ATTEMPTS + 1):
        try:
            # LangGraph reads which migrations were made, and then makes the others: another process may be faster.
            await store.setup()
            return
        except refusals as error:
            # No further attempt would make a database of another file.
            if attempt == SETUP_ATTEMPTS or "not a database" in str(error):
                raise
        await asyncio.sleep(0.1)
