"""Two processes that write to the same store at the same time lose nothing."""

import asyncio
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from langgraph_reflexion.memory.store import LessonStore, open_lessons
from tests.support.postgres_server import postgres_server

EACH = 6


def write_at_once(where):
    """Both processes start with a store without tables."""
    program = str(Path(__file__).parents[2] / "support" / "lesson_writer.py")
    processes = [
        subprocess.Popen([sys.executable, program, str(where), name, str(EACH)], stderr=subprocess.PIPE, text=True)
        for name in ("ann", "bob")
    ]
    for process in processes:
        _, said = process.communicate(timeout=120)
        assert process.returncode == 0, said
    lessons = asyncio.run(read(where))
    assert len(lessons.lessons) == 2 * EACH + 1
    [shared] = [lesson for lesson in lessons.lessons.values() if lesson.text == "All have this one."]
    assert len(shared.sources) == 2 * EACH
    assert {source.run for source in shared.sources} == {"ann", "bob"}


async def read(where):
    async with open_lessons(where) as store:
        return await LessonStore(store, "shared").snapshot()


def test_processes_share_lessons_in_sqlite(tmp_path):
    write_at_once(tmp_path / "lessons.db")


@pytest.mark.needs("PostgreSQL")
@pytest.mark.skipif(importlib.util.find_spec("psycopg") is None, reason="needs the extra: pip install '.[postgres]'")
def test_processes_share_lessons_in_postgres():
    with postgres_server() as url:
        write_at_once(url)
