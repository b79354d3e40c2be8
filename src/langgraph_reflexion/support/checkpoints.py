"""Checkpointers: SQLite or Postgres, with the whole history or the latest checkpoint of each thread."""

import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import Any, Self, get_args

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_id,
)
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from langgraph_reflexion.errors import ConfigurationError, one_of, the_extra
from langgraph_reflexion.support.choices import Checkpoints as Checkpoints
from langgraph_reflexion.support.secrets import public_database
from langgraph_reflexion.support.serializer import StrictSerializer

WAIT_SECONDS = 60.0
"""Seconds that a process waits for others that write to the same SQLite file."""

POSTGRES_CONNECTIONS = 4
"""Maximum number of Postgres connections per process."""

ALLOW = (
    "allow a type of your own with the saver's with_allowlist, or set LANGGRAPH_STRICT_MSGPACK=true, by which "
    "LangGraph allows the types that a graph's state names"
)
"""What to do about a type that a checkpoint may not hold."""


@asynccontextmanager
async def open_checkpointer(
    kind: Checkpoints, where: Path | str | None = None
) -> AsyncIterator[BaseCheckpointSaver[Any]]:
    """Open a checkpointer.

    Values are read strictly, as someone who can write to the file or the database could otherwise run code:
    LangGraph's and LangChain's own types are allowed, such as messages. Types of your own are allowed by LangGraph's
    `saver.with_allowlist([("package.module", "MyType")])`, which returns a saver; or, for all types that the state of
    a graph names, by its environment variable `LANGGRAPH_STRICT_MSGPACK=true`, set before the process starts.

    Args:
        kind: `latest` keeps a thread's last checkpoint, which is enough to resume; `history` keeps every step.
        where: The path of a SQLite file, which is created; the address of a Postgres database
            (`postgresql://...`, extra `postgres`); None for memory.

    Raises:
        ConfigurationError: there is no such kind, the extra is missing, or the server cannot be reached.
    """
    one_of("checkpoints", kind, get_args(Checkpoints))
    if where is None:
        yield InMemorySaver()
    elif str(where).startswith(("postgresql://", "postgres://")):
        async with _open_postgres(str(where), latest=kind == "latest") as postgres:
            yield postgres
    elif kind == "latest":
        with LatestSaver.open(where) as saver:
            saver.setup()
            yield saver
    else:
        async with HistorySaver.from_conn_string(str(where)) as history:
            history.serde = _serializer(str(where))
            await history.conn.execute("PRAGMA synchronous=NORMAL")
            await history.setup()
            yield history


def _serializer(where: str) -> StrictSerializer:
    return StrictSerializer(f"the checkpoints in {where}", ALLOW)


_LAST_WRITTEN = """
SELECT checkpoint_id FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = ? ORDER BY rowid DESC LIMIT 1
"""


class HistorySaver(AsyncSqliteSaver):
    """Keeps every checkpoint; the latest is the one that was written last, also after a clock was set back."""

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the checkpoint that the config names, or the latest of its thread."""
        if get_checkpoint_id(config):
            return await super().aget_tuple(config)
        await self.setup()
        # LangGraph would take the largest id, which is a time.
        thread = str(config["configurable"]["thread_id"])
        namespace = config["configurable"].get("checkpoint_ns", "")
        async with self.lock, self.conn.execute(_LAST_WRITTEN, (thread, namespace)) as cursor:
            found = await cursor.fetchone()
        if not found:
            return None
        named = {"thread_id": thread, "checkpoint_ns": namespace, "checkpoint_id": found[0]}
        return await super().aget_tuple({"configurable": named})


def _asynchronous(method: Callable[..., Any]) -> Callable[..., Awaitable[Any]]:
    async def call(self: Any, *args: Any, **named: Any) -> Any:
        return getattr(self, method.__name__)(*args, **named)

    return call


class LatestSaver(SqliteSaver):
    """Keeps the latest checkpoint of every thread: the file grows with the steps, not with their square.

    There is no history, so no time travel; resuming, interrupts and several threads work as with any checkpointer.
    Coroutines use it without a thread in between: with `synchronous=NORMAL` a commit does not wait for the disk, and
    a killed process loses nothing.
    """

    @classmethod
    @contextmanager
    def open(cls, path: Path | str) -> Iterator[Self]:
        """Open or create a database."""
        with closing(sqlite3.connect(path, timeout=WAIT_SECONDS, check_same_thread=False)) as connection:
            connection.execute("PRAGMA synchronous=NORMAL")
            yield cls(connection, serde=_serializer(str(path)))

    def setup(self) -> None:
        """Create the tables, and have this connection delete what a new checkpoint replaces in the same commit."""
        if self.is_setup:
            return
        super().setup()
        same = "thread_id = NEW.thread_id AND checkpoint_ns = NEW.checkpoint_ns"
        # Not those with smaller ids: ids are times, and clocks may be set back.
        others = f"{same} AND checkpoint_id <> NEW.checkpoint_id"
        deletes = f"DELETE FROM checkpoints WHERE {others}; DELETE FROM writes WHERE {others}; "
        # It is there already if a saver with more allowed types was made of this one.
        begin = "CREATE TEMP TRIGGER IF NOT EXISTS latest AFTER INSERT ON main.checkpoints BEGIN"
        self.conn.execute(f"{begin} {deletes}END")

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Replace the thread's checkpoint.

        Raises:
            ConfigurationError: a channel of the graph needs earlier checkpoints.
        """
        _expect_no_deltas(metadata)
        return super().put(config, checkpoint, metadata, new_versions)

    async def alist(self, *args: Any, **named: Any) -> AsyncIterator[CheckpointTuple]:
        for each in self.list(*args, **named):
            yield each

    aget_tuple: Any = _asynchronous(SqliteSaver.get_tuple)
    aput: Any = _asynchronous(put)
    aput_writes: Any = _asynchronous(SqliteSaver.put_writes)
    adelete_thread: Any = _asynchronous(SqliteSaver.delete_thread)


def _expect_no_deltas(metadata: CheckpointMetadata) -> None:
    deltas = metadata.get("counters_since_delta_snapshot")
    if deltas:
        raise ConfigurationError(
            f"`latest` keeps no history, which the DeltaChannel of {', '.join(deltas)} needs: "
            "use another checkpointer, such as open_checkpointer('history', ...)"
        )


_SAME = "{0}.thread_id = %(thread_id)s AND {0}.checkpoint_ns = %(checkpoint_ns)s"
_LAST = f"""
SELECT checkpoint_id FROM checkpoints AS last WHERE {_SAME.format("last")} AND NOT EXISTS (
    SELECT FROM checkpoints AS next WHERE {_SAME.format("next")} AND next.parent_checkpoint_id = last.checkpoint_id
) ORDER BY checkpoint_id DESC LIMIT 1
"""
_KEEP_ONLY = f"""
WITH deleted AS (
    DELETE FROM checkpoints AS old WHERE {_SAME.format("old")} AND checkpoint_id <> %(checkpoint_id)s
    RETURNING checkpoint_id
), writes AS (
    DELETE FROM checkpoint_writes AS old USING deleted
    WHERE {_SAME.format("old")} AND old.checkpoint_id = deleted.checkpoint_id
)
DELETE FROM checkpoint_blobs AS old WHERE {_SAME.format("old")} AND NOT EXISTS (
    SELECT FROM checkpoints AS kept, jsonb_each_text(checkpoint -> 'channel_versions') AS used
    WHERE {_SAME.format("kept")} AND checkpoint_id = %(checkpoint_id)s
    AND used.key = old.channel AND used.value = old.version
)
"""


@asynccontextmanager
async def _open_postgres(url: str, *, latest: bool) -> AsyncIterator[BaseCheckpointSaver[Any]]:
    """Open a checkpointer in Postgres; `latest` as for the kinds of `open_checkpointer`.

    Raises:
        ConfigurationError: the extra is missing, or the server cannot be reached.
    """
    try:
        from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
        from psycopg.rows import dict_row
        from psycopg_pool import AsyncConnectionPool, PoolTimeout
    except ImportError as error:
        raise ConfigurationError(f"checkpoints in Postgres need {the_extra('postgres')}") from error

    options: dict[str, Any] = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
    pool = AsyncConnectionPool[Any](url, min_size=1, max_size=POSTGRES_CONNECTIONS, open=False, kwargs=options)

    # The classes are made here, as their base belongs to an extra.
    class HistoryPostgresSaver(AsyncPostgresSaver):
        """`HistorySaver` in Postgres: the latest checkpoint is the one that none follows."""

        async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
            if get_checkpoint_id(config):
                return await super().aget_tuple(config)
            named = {"checkpoint_ns": ""}
            named.update(config["configurable"])
            async with pool.connection() as connection:
                cursor = await connection.execute(_LAST, named)
                found = await cursor.fetchone()
            if not found:
                return None
            named["checkpoint_id"] = found["checkpoint_id"]
            return await super().aget_tuple({"configurable": named})

    class LatestPostgresSaver(HistoryPostgresSaver):
        """`LatestSaver` in Postgres."""

        async def aput(
            self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, *more: Any
        ) -> RunnableConfig:
            _expect_no_deltas(metadata)
            saved = await super().aput(config, checkpoint, metadata, *more)
            async with pool.connection() as connection:
                await connection.execute(_KEEP_ONLY, saved["configurable"])
            return saved

    try:
        await pool.open(wait=True, timeout=10)
    except PoolTimeout as error:
        await pool.close()
        raise ConfigurationError("the Postgres server cannot be reached: check --database") from error
    async with pool:
        # Errors name the database, and its address may hold a password.
        where = str(public_database(url))
        serde = _serializer(where)
        kind: type[HistoryPostgresSaver] = HistoryPostgresSaver
        if latest:
            kind = LatestPostgresSaver
        saver = kind(pool, serde=serde)
        await saver.setup()
        yield saver
