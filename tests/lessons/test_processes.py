"""Two processes that write to the same store at the same time lose nothing."""

import asyncio
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from langgraph_reflexion.bench.postgres import postgres_server
from langgraph_reflexion.lessons.bank import Bank
from langgraph_reflexion.lessons.opening import open_lessons

EACH = 12


def written_at_once(where):
    """Both begin with a store that has no tables yet."""
    program = str(Path(__file__).with_name("writing.py"))
    processes = [
        subprocess.Popen([sys.executable, program, str(where), name, str(EACH)], stderr=subprocess.PIPE, text=True)
        for name in ("ann", "bob")
    ]
    for process in processes:
        _, said = process.communicate(timeout=120)
        assert process.returncode == 0, said
    book = asyncio.run(read(where))
    assert len(book.lessons) == 2 * EACH + 1
    [shared] = [lesson for lesson in book.lessons.values() if lesson.text == "All have this one."]
    assert len(shared.sources) == shared.recalled == 2 * EACH
    assert {source["run"] for _, source in shared.sources} == {"ann", "bob"}


async def read(where):
    async with open_lessons(where) as store:
        return await Bank(store, "shared").book()


@pytest.mark.long
def test_in_sqlite(tmp_path):
    written_at_once(tmp_path / "lessons.db")


@pytest.mark.long
@pytest.mark.needs("PostgreSQL")
@pytest.mark.skipif(
    importlib.util.find_spec("psycopg") is None, reason="needs the extra: pip install 'langgraph-reflexion[postgres]'"
)
def test_in_postgres():
    with postgres_server() as url:
        written_at_once(url)
