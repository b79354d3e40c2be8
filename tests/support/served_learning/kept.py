"""Where a LangGraph server keeps its threads and lessons in place of memory: the folder or database in `KEPT`."""

import os
from contextlib import asynccontextmanager
from pathlib import Path

from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

from langgraph_reflexion import open_checkpointer
from langgraph_reflexion.memory.store import open_lessons

KEPT = os.environ["KEPT"]
IS_POSTGRES = KEPT.startswith("postgresql://")


@asynccontextmanager
async def threads():
    """Open the checkpointer."""
    if IS_POSTGRES:
        async with AsyncPostgresSaver.from_conn_string(KEPT) as saver:
            await saver.setup()
            yield saver
        return
    async with open_checkpointer("history", Path(KEPT) / "threads.db") as saver:
        yield saver


@asynccontextmanager
async def lessons():
    """Open the store of the lessons."""
    place = KEPT
    if not IS_POSTGRES:
        place = Path(KEPT) / "lessons.db"
    async with open_lessons(place) as store:
        yield store
