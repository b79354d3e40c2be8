"""A SQLite checkpointer that keeps what resuming needs, and nothing else."""

import json
import sqlite3
from collections.abc import AsyncIterator, Iterator, Sequence
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


PATIENCE_SECONDS = 60.0
"""How long a process waits for others that write to the same file."""


@asynccontextmanager
async def open_checkpointer(
    kind: Checkpoints, where: Path | str | None = None
) -> AsyncIterator[BaseCheckpointSaver[Any]]:
    """Open a checkpointer.

    Args:
        kind: `latest` keeps a thread's last checkpoint, which is enough to resume; `history` keeps every step.
        where: The file of a SQLite database, which is made; the address of a Postgres database
            (`postgresql://...`, extra `postgres`); None for one in memory.

    Raises:
        ConfigurationError: there is no such kind, the extra is missing, or the server cannot be reached.
    """
    one_of("checkpoints", kind, get_args(Checkpoints))
    if where is None:
        yield InMemorySaver()
    elif str(where).startswith(("postgresql://", "postgres://")):
        try:
            from langgraph_reflexion.postgres import open_postgres
        except ImportError as error:
            raise ConfigurationError(f"checkpoints in Postgres need {the_extra('postgres')}") from error
        async with open_postgres(str(where), latest=kind == "latest") as postgres:
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


class LatestSaver(SqliteSaver):
    """Keeps the latest checkpoint of every thread: hundreds of bytes per step, and a third of the stock saver's CPU.

    There is no history, so no time travel; resuming, interrupts and several threads work as with any checkpointer.
    It is used from coroutines without a thread in between: a commit is a write to SQLite's log without waiting for
    the disk (`synchronous=NORMAL`), which a killed process loses nothing by.
    """

    @classmethod
    @contextmanager
    def open(cls, path: Path | str) -> Iterator[Self]:
        """Open or create a database.

        Args:
            path: Where it is.
        """
        # Each statement is its own transaction: the one that counts replaces the checkpoint.
        # Several processes may write to it: each for a fraction of a millisecond, which is worth waiting for.
        with closing(
            sqlite3.connect(path, timeout=PATIENCE_SECONDS, check_same_thread=False, isolation_level=None)
        ) as connection:
            connection.execute("PRAGMA synchronous=NORMAL")
            # Emptying the log does wait for the disk, and all tasks with it: 40 MB at a time are soon enough.
            connection.execute("PRAGMA wal_autocheckpoint=10000")
            yield cls(connection)

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Save a checkpoint instead of the thread's last one.

        Raises:
            ConfigurationError: a channel of the graph needs the checkpoints before this one to be read again.
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
            # Looking costs other processes nothing; deleting, even of nothing, has them wait.
            if cursor.execute(f"SELECT 1 {_OLD_WRITES} LIMIT 1", (*thread, checkpoint["id"])).fetchone():
                cursor.execute(f"DELETE {_OLD_WRITES}", (*thread, checkpoint["id"]))
        return RunnableConfig(
            configurable={
                "thread_id": key["thread_id"],
                "checkpoint_ns": key["checkpoint_ns"],
                "checkpoint_id": checkpoint["id"],
            }
        )

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Save interrupts, their answers and errors.

        What a node wrote is not saved by itself: one node runs at a time, and the next checkpoint has it. Only in a
        wrapped agent several may run at once.
        """
        inside = config["configurable"].get("checkpoint_ns")
        if special := [write for write in writes if inside or write[0] in WRITES_IDX_MAP]:
            super().put_writes(config, special, task_id, task_path)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """See `get_tuple`."""
        return self.get_tuple(config)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """See `list`."""
        for each in self.list(config, filter=filter, before=before, limit=limit):
            yield each

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """See `put`."""
        return self.put(config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """See `put_writes`."""
        self.put_writes(config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        """See `delete_thread`."""
        self.delete_thread(thread_id)
