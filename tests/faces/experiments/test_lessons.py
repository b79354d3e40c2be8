"""Runs with lessons: their order, record and comparison with other runs."""

import asyncio
import json

import pytest

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.lab.experiments.comparison import compare
from langgraph_reflexion.lab.experiments.runner import resume, run
from langgraph_reflexion.lab.run_settings import RunSettings
from langgraph_reflexion.memory.snapshot import LessonSnapshot
from langgraph_reflexion.memory.store import LessonStore, open_lessons
from tests.support.guessing import rows, timeless
from tests.support.run_folders import folder, row

PASSWORD = "hunter2-hunter2"


def play(out, lessons, limit=6, **more):
    where = str(lessons) if lessons else None
    run(RunSettings(environment="hotpotqa", limit=limit, lessons=where, **more), out)
    return dict(json.loads((out / "run.json").read_text()))


def kept(lessons):
    async def read() -> LessonSnapshot:
        async with open_lessons(lessons) as store:
            return await LessonStore(store, "hotpotqa").snapshot()

    return asyncio.run(read())


@pytest.mark.slow
def test_a_run_that_learns_takes_one_task_at_a_time_and_can_be_repeated_and_resumed(tmp_path):
    info = play(tmp_path / "one", tmp_path / "1.db", concurrency=8)
    assert (info["settings"]["concurrency"], info["seen"]) == (1, [])
    play(tmp_path / "two", tmp_path / "2.db", limit=3, concurrency=4)
    resume(tmp_path / "two", limit=6)
    assert timeless(tmp_path / "one") == timeless(tmp_path / "two")
    book = kept(tmp_path / "1.db")
    recorded = rows(tmp_path / "one")
    told = {each["id"] for row in recorded for each in row["lessons"]}
    assert set() < told <= set(book.lessons)
    assert recorded[0]["lessons"] == []
    (tmp_path / "2.db").unlink()
    with pytest.raises(ConfigurationError, match="there are no lessons in"):
        resume(tmp_path / "two")


@pytest.mark.slow
def test_frozen_lessons_are_read_in_any_order_and_stay_as_they_are(tmp_path):
    lessons = tmp_path / "l.db"
    play(tmp_path / "fill", lessons, limit=4, recall=False)
    assert all(recorded["lessons"] == [] for recorded in rows(tmp_path / "fill"))
    before = kept(lessons).records
    info = play(tmp_path / "one", lessons, frozen=True, concurrency=8)
    assert info["settings"]["concurrency"] == 8
    play(tmp_path / "two", lessons, limit=1, frozen=True)
    resume(tmp_path / "two", limit=6)
    assert timeless(tmp_path / "one") == timeless(tmp_path / "two")
    for name in ("one", "two"):
        info = json.loads((tmp_path / name / "run.json").read_text())
        assert info["seen"] == info["tasks"][:4], "lessons come from these tasks"
    assert any(recorded["lessons"] for recorded in rows(tmp_path / "one"))
    assert kept(lessons).records == before
    with pytest.raises(ConfigurationError, match="there are no lessons in"):
        play(tmp_path / "three", tmp_path / "none.db", frozen=True)


@pytest.mark.slow
def test_no_password_is_written_or_shown(tmp_path):
    address = f"postgresql://ann:{PASSWORD}@127.0.0.1:bad/lessons?sslpassword={PASSWORD}"
    settings = RunSettings(environment="hotpotqa", limit=1, lessons=address)
    assert PASSWORD not in json.dumps(settings.public())
    pytest.importorskip("psycopg")
    with pytest.raises(ConfigurationError) as raised:
        run(settings, tmp_path / "r")
    assert PASSWORD not in str(raised.value)
    assert not list(tmp_path.rglob("*.jsonl"))
    assert not [each for each in tmp_path.rglob("*") if each.is_file() and PASSWORD.encode() in each.read_bytes()]


def test_runs_are_compared_on_tasks_without_lessons_of_their_own(tmp_path):
    tasks = ["a", "b", "c", "d"]
    settings = {"lessons": "l.db", "recall": True, "frozen": True}
    taught = folder(tmp_path / "with", [row(each, 1, True) for each in tasks], tasks, **settings)
    (taught / "run.json").write_text(json.dumps(json.loads((taught / "run.json").read_text()) | {"seen": ["a"]}))
    first = [row("a", 1, True), *(row(each, 1, False) for each in tasks[1:])]
    without = folder(tmp_path / "without", [*first, *(row(each, 2, True) for each in tasks[1:])], tasks)
    comparison = compare([taught, without])
    [pair] = comparison.pairs
    assert (pair.matches[0].solved, pair.matches[0].of) == ((3, 3), 3)
    assert any("3 of 4 tasks" in note for note in pair.notes)
    assert "lessons recalled, none written" in comparison.caption
