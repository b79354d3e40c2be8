"""Lessons of one environment and user in a LangGraph store."""

import asyncio
import re
import sqlite3
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from langgraph.store.base import BaseStore, ListNamespacesOp, MatchCondition, Op, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore
from pydantic import ValidationError

from langgraph_reflexion.errors import ConfigurationError, Fault, the_extra
from langgraph_reflexion.memory.records import RECORDS, LessonSource, Record, plain
from langgraph_reflexion.memory.snapshot import Lesson, LessonSnapshot, task_text
from langgraph_reflexion.support.secrets import public_database
from langgraph_reflexion.support.text import one_line

ROOT, EVERYONE = "reflexion", "everyone"
"""The first part of all namespaces, and the last part where no user is named."""

NO_LIMIT = 10_000_000
"""More records than a store holds."""

BUSY_MILLISECONDS = 60_000
"""Milliseconds that a process waits for others that write to the same SQLite file."""

SETUP_ATTEMPTS = 20
"""Number of attempts to create tables: of several processes that do so at once, all but one are refused."""


class LessonStore:
    """Reads and writes the lessons of a namespace; nothing is cached, as other processes may write to it.

    Raises:
        ConfigurationError: the environment or the user has an empty name.
    """

    def __init__(self, store: BaseStore, environment: str, user: str | None = None) -> None:
        if not environment or user == "":
            raise ConfigurationError("lessons are kept by environment and user; neither may be an empty name")
        self.store = store
        self.namespace = (ROOT, _escape(environment), EVERYONE if user is None else f"user-{_escape(user)}")
        self.by_meaning = bool(getattr(store, "index_config", None))

    async def snapshot(self) -> LessonSnapshot:
        """Read all lessons.

        Raises:
            ConfigurationError: a record is invalid.
            Fault: the store failed.
        """
        records: dict[str, dict[str, Record]] = {kind: {} for kind in RECORDS}
        for item in await self._search(limit=NO_LIMIT):
            kind = item.namespace[-1]
            try:
                records[kind][item.key] = RECORDS[kind].model_validate(item.value)
            except (KeyError, ValidationError) as error:
                raise ConfigurationError(
                    f"an invalid record of lessons in the store, {item.key!r} in {item.namespace}: {one_line(error)}"
                ) from error
        return LessonSnapshot(records)

    async def recall(
        self, task: Mapping[str, Any], observation: str, count: int, *, of_others: bool = False
    ) -> list[Lesson]:
        """Return at most `count` lessons for a task and its first observation, the best match first.

        `of_others` leaves out lessons that the task taught itself.
        """
        query = task_text(task.get("kind") or "", plain(task["instruction"]), plain(observation))
        snapshot = await self.snapshot()
        if self.by_meaning:
            items = await self._search("sources", query=query, limit=10 * count)
            ranked = list(dict.fromkeys(LessonSource.model_validate(item.value).lesson for item in items))
        else:
            ranked = await asyncio.to_thread(snapshot.search, query)
        found = (snapshot.lessons[key] for key in ranked if key in snapshot.lessons)
        live = (lesson for lesson in found if not lesson.retired)
        return [lesson for lesson in live if not (of_others and task["id"] in lesson.tasks)][:count]

    async def add(self, records: Iterable[Record]) -> None:
        """Add records; lessons without a text are left out."""
        operations = [
            PutOp((*self.namespace, each.stored_as), each.key, each.stored(), each.searched or False)
            for each in records
            if not (isinstance(each, LessonSource) and not each.text)
        ]
        if operations:
            await _run(self.store, operations)

    async def _search(self, *part: str, **options: Any) -> list[Any]:
        [found] = await _run(self.store, [SearchOp((*self.namespace, *part), **options)])
        # Some stores compare the beginning of a namespace as a string, and not its parts.
        return [item for item in found if item.namespace[:-1] == self.namespace]


async def environments(store: BaseStore) -> list[str]:
    """Return the environments that a store has lessons for."""
    [spaces] = await _run(
        store, [ListNamespacesOp((MatchCondition("prefix", (ROOT,)),), max_depth=2, limit=NO_LIMIT)]
    )
    return sorted({_unescape(space[1]) for space in spaces if len(space) == 2})


async def seen_tasks(store: BaseStore, environment: str, user: str | None, tasks: Iterable[str]) -> list[str]:
    """Return the tasks that have taught a lesson already."""
    snapshot = await LessonStore(store, environment, user).snapshot()
    taught = {task for lesson in snapshot.lessons.values() for task in lesson.tasks}
    return [task for task in tasks if task in taught]


async def _run(store: BaseStore, operations: Sequence[Op]) -> list[Any]:
    try:
        try:
            return list(await store.abatch(operations))
        except NotImplementedError:  # a store without coroutines, such as SqliteStore
            return list(await asyncio.to_thread(store.batch, operations))
    except Exception as error:
        raise Fault(f"the store of lessons failed: {one_line(error)}") from error


def _escape(name: str) -> str:
    """Escape a name for a namespace: some stores read patterns in it, or ignore its case."""
    return re.sub(r"[^a-z0-9-]", lambda found: f"={ord(found[0]):x}=", name)


def _unescape(part: str) -> str:
    return re.sub("=([0-9a-f]+)=", lambda found: chr(int(found[1], 16)), part)


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


@asynccontextmanager
async def open_lessons(where: Path | str | None = None) -> AsyncIterator[BaseStore]:
    """Open a store for the lessons of `Memory(lessons=...)`, for `compile(store=...)`, and create its tables.

    Several processes may have it open and write to it.

    Args:
        where: The file of a SQLite database, which is created; the address of a Postgres database
            (`postgresql://...`, extra `postgres`); None for a store in memory.

    Raises:
        ConfigurationError: the file is no such database, the extra is missing, or the server cannot be reached.
    """
    async with AsyncExitStack() as stack:
        if where is None:
            store: BaseStore = InMemoryStore()
        elif is_postgres(where):
            store = await _open_postgres(str(where), stack)
        else:
            store = await _open_sqlite(str(where), stack)
        yield store


async def _open_sqlite(path: str, stack: AsyncExitStack) -> BaseStore:
    from langgraph.store.sqlite.aio import AsyncSqliteStore

    if not Path(path).parent.is_dir():
        raise ConfigurationError(f"lessons cannot be kept in {public_database(path)}: no such folder")
    try:
        store = await stack.enter_async_context(AsyncSqliteStore.from_conn_string(path))
        for pragma in (f"busy_timeout={BUSY_MILLISECONDS}", "journal_mode=WAL", "synchronous=NORMAL"):
            await (await store.conn.execute(f"PRAGMA {pragma}")).close()
        await _set_up(store, (sqlite3.OperationalError, sqlite3.IntegrityError))
    except sqlite3.Error as error:
        raise ConfigurationError(f"lessons cannot be kept in {public_database(path)}: {error}") from error
    return store


async def _open_postgres(url: str, stack: AsyncExitStack) -> BaseStore:
    try:
        import psycopg
        from langgraph.store.postgres.aio import AsyncPostgresStore
    except ImportError as error:
        raise ConfigurationError(f"lessons in Postgres need {the_extra('postgres')}") from error
    try:
        await (await psycopg.AsyncConnection.connect(url, connect_timeout=10)).close()  # a pool would keep trying
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
            await store.setup()
            return
        except refusals as error:
            if attempt == SETUP_ATTEMPTS or "not a database" in str(error):
                raise
        await asyncio.sleep(0.1)
