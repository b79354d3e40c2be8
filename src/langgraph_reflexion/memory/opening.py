"""Opens the store that lessons are kept in: a SQLite file, or a Postgres database."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from langgraph_reflexion.errors import ConfigurationError, the_extra
from langgraph_reflexion.models.secrets import public_database

WAITS = 60_000
"""For how many milliseconds a process waits while others write to the same SQLite file."""

ATTEMPTS = 20
"""How often the tables are asked for: of processes that make them at the same time all but one are refused."""


def is_postgres(where: Path | str | None) -> bool:
    """Whether this is the address of a Postgres database."""
    return str(where).startswith(("postgresql://", "postgres://"))


def expect_lessons(where: str) -> None:
    """Make sure that lessons are there already.

    Raises:
        ConfigurationError: they would be kept in a file that there is not.
    """
    if not (is_postgres(where) or Path(where).is_file()):
        raise ConfigurationError(f"there are no lessons in {public_database(where)}: no such file")


@asynccontextmanager
async def open_lessons(where: Path | str | None = None) -> AsyncIterator[BaseStore]:
    """Open a store for the lessons of `Memory(lessons=...)`, for `compile(store=...)`, and make its tables.

    Several processes may have it open, and write to it.

    Args:
        where: The file of a SQLite database, which is made; the address of a Postgres database (`postgresql://...`,
            extra `postgres`); None for a store in memory.

    Raises:
        ConfigurationError: it is no such file, the extra is missing, or the server cannot be reached.
    """
    if where is None:
        yield InMemoryStore()
    elif is_postgres(where):
        async with _postgres(str(where)) as store:
            yield store
    else:
        async with _sqlite(str(where)) as store:
            yield store


@asynccontextmanager
async def _sqlite(path: str) -> AsyncIterator[BaseStore]:
    from langgraph.store.sqlite.aio import AsyncSqliteStore

    if not Path(path).parent.is_dir():
        raise ConfigurationError(f"lessons cannot be kept in {public_database(path)}: there is no such folder")
    async with AsyncExitStack() as open_stores:
        try:
            store = await open_stores.enter_async_context(AsyncSqliteStore.from_conn_string(path))
            for pragma in (f"busy_timeout={WAITS}", "journal_mode=WAL", "synchronous=NORMAL"):
                await (await store.conn.execute(f"PRAGMA {pragma}")).close()
            await _made(store.setup, (sqlite3.OperationalError, sqlite3.IntegrityError))
        except sqlite3.Error as error:
            raise ConfigurationError(f"lessons cannot be kept in {public_database(path)}: {error}") from error
        yield store


@asynccontextmanager
async def _postgres(url: str) -> AsyncIterator[BaseStore]:
    try:
        import psycopg
        from langgraph.store.postgres.aio import AsyncPostgresStore
        from psycopg.rows import dict_row
        from psycopg_pool import AsyncConnectionPool, PoolTimeout
    except ImportError as error:
        raise ConfigurationError(f"lessons in Postgres need {the_extra('postgres')}") from error
    options = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
    pool = AsyncConnectionPool[psycopg.AsyncConnection[psycopg.rows.DictRow]](
        url, min_size=1, max_size=4, open=False, kwargs=options
    )
    try:
        # A pool goes on trying where a connection says at once what is wrong.
        await (await psycopg.AsyncConnection.connect(url, connect_timeout=10)).close()
        await pool.open(wait=True, timeout=10)
    except (PoolTimeout, psycopg.Error) as error:
        await pool.close()
        # The driver's own words would quote the address.
        raise ConfigurationError("the Postgres server of the lessons cannot be reached: check --lessons") from error
    async with pool:
        store = AsyncPostgresStore(pool)
        await _made(store.setup, (psycopg.Error,))
        yield store


async def _made(setup: Callable[[], Awaitable[None]], refusals: tuple[type[Exception], ...]) -> None:
    """Make the tables, again where another process is at it."""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            await setup()
            return
        except refusals as error:
            if attempt == ATTEMPTS or "not a database" in str(error):
                raise
        await asyncio.sleep(0.1)
