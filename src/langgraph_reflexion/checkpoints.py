"""Checkpointers: SQLite or Postgres, with the whole history or the latest checkpoint of each thread."""

import json
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import Any, Self, get_args

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_metadata,
)
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from langgraph_reflexion.choices import Checkpoints as Checkpoints
from langgraph_reflexion.errors import ConfigurationError, one_of, the_extra

WAIT_SECONDS = 60.0
"""Seconds that a process waits for others that write to the same SQLite file."""

POSTGRES_CONNECTIONS = 4
"""Maximum number of Postgres connections per process."""

_REPLACE = """
    UPDATE checkpoints SET checkpoint_id = ?, parent_checkpoint_id = ?, type = ?, checkpoint = ?, metadata = ?
    WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?
"""
_INSERT = """
    INSERT INTO checkpoints
    (checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata, thread_id, checkpoint_ns)
    VALUES (?, ?, ?, ?, ?, ?, ?)
"""
_OLD_WRITES = "FROM writes WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id < ?"


@asynccontextmanager
async def open_checkpointer(
    kind: Checkpoints, where: Path | str | None = None
) -> AsyncIterator[BaseCheckpointSaver[Any]]:
    """Open a checkpointer.

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
        async with AsyncSqliteSaver.from_conn_string(str(where)) as history:
            await history.conn.execute("PRAGMA synchronous=NORMAL")
            await history.setup()
            yield history


def _asynchronous(method: Callable[..., Any]) -> Callable[..., Awaitable[Any]]:
    async def call(self: Any, *args: Any, **named: Any) -> Any:
        return getattr(self, method.__name__)(*args, **named)

    return call


class LatestSaver(SqliteSaver):
    """Keeps the latest checkpoint of every thread: hundreds of bytes per step, and a third of the stock saver's CPU.

    There is no history, so no time travel; resuming, interrupts and several threads work as with any checkpointer.
    Coroutines use it without a thread in between: with `synchronous=NORMAL` a commit does not wait for the disk, and
    a killed process loses nothing.
    """

    @classmethod
    @contextmanager
    def open(cls, path: Path | str) -> Iterator[Self]:
        """Open or create a database."""
        # Without transactions across statements: the one that counts replaces the checkpoint.
        with closing(
            sqlite3.connect(path, timeout=WAIT_SECONDS, check_same_thread=False, isolation_level=None)
        ) as connection:
            connection.execute("PRAGMA synchronous=NORMAL")
            # Truncating the log waits for the disk, and all tasks with it: do it every 40 MB.
            connection.execute("PRAGMA wal_autocheckpoint=10000")
            yield cls(connection)

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
        if deltas := metadata.get("counters_since_delta_snapshot"):
            raise ConfigurationError(
                f"LatestSaver keeps no history, which the DeltaChannel of {', '.join(deltas)} needs: "
                "use another checkpointer, such as open_checkpointer('history', ...)"
            )
        key = config["configurable"]
        thread = (str(key["thread_id"]), key["checkpoint_ns"])
        described = json.dumps(get_checkpoint_metadata(config, metadata), ensure_ascii=False).encode()
        row = (checkpoint["id"], key.get("checkpoint_id"), *self.serde.dumps_typed(checkpoint), described, *thread)
        with self.cursor() as cursor:
            if not cursor.execute(_REPLACE, (*row, key.get("checkpoint_id"))).rowcount:
                cursor.execute(_INSERT, row)
            # A DELETE takes the write lock even if there is nothing to delete.
            if cursor.execute(f"SELECT 1 {_OLD_WRITES} LIMIT 1", (*thread, checkpoint["id"])).fetchone():
                cursor.execute(f"DELETE {_OLD_WRITES}", (*thread, checkpoint["id"]))
        names = ("thread_id", "checkpoint_ns")
        return {"configurable": {name: key[name] for name in names} | {"checkpoint_id": checkpoint["id"]}}

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        if needed := _needed_writes(config, writes):
            super().put_writes(config, needed, task_id, task_path)

    async def alist(self, *args: Any, **named: Any) -> AsyncIterator[CheckpointTuple]:
        for each in self.list(*args, **named):
            yield each

    aget_tuple: Any = _asynchronous(SqliteSaver.get_tuple)
    aput: Any = _asynchronous(put)
    aput_writes: Any = _asynchronous(put_writes)
    adelete_thread: Any = _asynchronous(SqliteSaver.delete_thread)


def _needed_writes(config: RunnableConfig, writes: Sequence[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Return the interrupts, their answers and errors.

    The other writes of a node are in the next checkpoint, as one node runs at a time. Only inside a wrapped agent may
    several run at once.
    """
    inside = config["configurable"].get("checkpoint_ns")
    return [write for write in writes if inside or write[0] in WRITES_IDX_MAP]


@asynccontextmanager
async def _open_postgres(url: str, *, latest: bool) -> AsyncIterator[BaseCheckpointSaver[Any]]:
    try:
        from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
        from psycopg.rows import dict_row
        from psycopg_pool import AsyncConnectionPool, PoolTimeout
    except ImportError as error:
        raise ConfigurationError(f"checkpoints in Postgres need {the_extra('postgres')}") from error

    class LatestPostgresSaver(AsyncPostgresSaver):
        """`LatestSaver` in Postgres."""

        async def aput(self, *args: Any, **named: Any) -> RunnableConfig:
            saved = await super().aput(*args, **named)
            await self.aprune([saved["configurable"]["thread_id"]])
            return saved

        async def aput_writes(
            self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
        ) -> None:
            if needed := _needed_writes(config, writes):
                await super().aput_writes(config, needed, task_id, task_path)

    options: dict[str, Any] = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
    pool = AsyncConnectionPool[Any](url, min_size=1, max_size=POSTGRES_CONNECTIONS, open=False, kwargs=options)
    try:
        await pool.open(wait=True, timeout=10)
    except PoolTimeout as error:
        await pool.close()
        raise ConfigurationError("the Postgres server cannot be reached: check --database") from error
    async with pool:
        saver = (LatestPostgresSaver if latest else AsyncPostgresSaver)(pool)
        await saver.setup()
        yield saver
