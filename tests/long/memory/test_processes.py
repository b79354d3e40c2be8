import asyncio
import subprocess
import sys

import pytest

from langgraph_reflexion.memory.store import LessonStore, open_lessons
from tests.support.postgres_server import postgres_server

EACH = 6
WRITER = """
import asyncio, sys
from langgraph_reflexion.memory.records import LessonSource
from langgraph_reflexion.memory.store import LessonStore, open_lessons

async def main(where, name, number):
    async with open_lessons(where) as opened:
        store = LessonStore(opened, "shared")
        for index in range(int(number)):
            trial = {"task": f"{name}{index}", "run": name, "date": "2026-01-02"}
            shared = LessonSource(text="All have this one.", outcome="failure", trial=1, **trial)
            own = LessonSource(text=f"Only {name} has {index}.", outcome="failure", trial=2, **trial)
            await store.add([shared, own])

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.fixture(params=["SQLite", pytest.param("Postgres", marks=pytest.mark.needs("PostgreSQL"))])
def where(request, tmp_path):
    """A store without tables."""
    if request.param == "SQLite":
        yield str(tmp_path / "lessons.db")
    else:
        pytest.importorskip("psycopg", reason="needs the extra: pip install '.[postgres]'")
        with postgres_server() as url:
            yield url


async def read(where):
    async with open_lessons(where) as store:
        return (await LessonStore(store, "shared").snapshot()).lessons.values()


def test_processes_share_lessons(where):
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, where, name, str(EACH)], stderr=subprocess.PIPE, text=True)
        for name in ("ann", "bob")
    ]
    for process in writers:
        _, said = process.communicate(timeout=120)
        assert process.returncode == 0, said
    lessons = asyncio.run(read(where))
    assert len(lessons) == 2 * EACH + 1
    [shared] = [lesson for lesson in lessons if lesson.text == "All have this one."]
    assert len(shared.sources) == 2 * EACH
    assert {source.run for source in shared.sources} == {"ann", "bob"}
