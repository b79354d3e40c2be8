"""Checkpoints in Postgres (extra `postgres`), shared by workers on several machines."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import WRITES_IDX_MAP, ChannelVersions, Checkpoint, CheckpointMetadata
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from langgraph_reflexion.errors import ConfigurationError

CONNECTIONS = 4
"""How many connections a process holds at most."""


class LatestPostgresSaver(AsyncPostgresSaver):
    """Keeps the latest checkpoint of every thread, as `LatestSaver` does in SQLite."""

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Save a checkpoint, and forget the thread's earlier ones."""
        saved = await super().aput(config, checkpoint, metadata, new_versions)
        await self.aprune([saved["configurable"]["thread_id"]])
        return saved

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Save interrupts, their answers and errors; the next checkpoint has the rest, but for a wrapped agent's."""
        inside = config["configurable"].get("checkpoint_ns")
        if special := [write for write in writes if inside or write[0] in WRITES_IDX_MAP]:
            await super().aput_writes(config, special, task_id, task_path)


@asynccontextmanager
async def open_postgres(url: str, *, latest: bool) -> AsyncIterator[AsyncPostgresSaver]:
    """Connect, and make the tables where they are missing.

    Args:
        url: A connection string (`postgresql://user@host/database`).
        latest: Whether only the latest checkpoint of a thread is kept.

    Raises:
        ConfigurationError: the server cannot be reached.
    """
    options: dict[str, Any] = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
    pool: AsyncConnectionPool[Any] = AsyncConnectionPool[Any](
        url, min_size=1, max_size=CONNECTIONS, open=False, kwargs=options
    )
    try:
        await pool.open(wait=True, timeout=10)
    except PoolTimeout as error:
        await pool.close()
        raise ConfigurationError("the Postgres server cannot be reached: check --database") from error
    async with pool:
        saver = (LatestPostgresSaver if latest else AsyncPostgresSaver)(pool)
        await saver.setup()
        yield saver
