import asyncio
import random
import subprocess
import sys

import pytest

from langgraph_reflexion.memory.records import lesson_id
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

TRIALS = 120
PLAYER = """
import asyncio, sys
from langgraph_reflexion.memory.records import LessonSource, LessonUse, lesson_id
from langgraph_reflexion.memory.store import LessonStore, open_lessons

async def main(where, name, begin, end):
    async with open_lessons(where) as opened:
        store = LessonStore(opened, "shared")
        for number in range(int(begin), int(end)):
            trial = {"task": f"{name}{number}", "trial": 1, "run": name, "kind": "", "date": f"2026-{number:06}"}
            lesson = LessonSource(text=f"Lesson {number % 7}.", outcome="failure", **trial)
            use = LessonUse(lessons=[lesson_id("Lesson 0.")], success=number % 2 == 0, **trial)
            await store.add([lesson, use])
            await store.tidy(force=number % 5 == 0)
            print(number, flush=True)

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


def play(where, name, begin=0):
    command = [sys.executable, "-c", PLAYER, where, name, str(begin), str(TRIALS)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_numbers_are_right_where_processes_tidy_up_at_once_and_are_killed(where):
    chance = random.Random(0)
    steady, killed = play(where, "ann"), play(where, "bob")
    done, kills = 0, 4
    for kill in range(1, kills + 1):
        until = chance.randrange(TRIALS * (kill - 1) // kills, TRIALS * kill // kills)
        while done < until and (line := killed.stdout.readline()):
            done = int(line)
        killed.kill()
        rest, _ = killed.communicate()
        done = max([done, *map(int, rest.split())])
        # What was in work is done again, as a node of a graph is.
        killed = play(where, "bob", done)
    for process in (steady, killed):
        _, said = process.communicate(timeout=300)
        assert process.returncode == 0, said

    async def numbers():
        async with open_lessons(where) as opened:
            store = LessonStore(opened, "shared")
            for _ in range(2):
                await store.tidy(force=True)
            return await store.snapshot()

    snapshot = asyncio.run(numbers())
    assert (snapshot.trials.trials, snapshot.trials.succeeded) == (2 * TRIALS, TRIALS)
    assert sum(lesson.tally.sources for lesson in snapshot.lessons.values()) == 2 * TRIALS
    assert snapshot.lessons[lesson_id("Lesson 0.")].recalled == 2 * TRIALS
    assert sum(map(len, snapshot.records.values())) <= 7 + 1
