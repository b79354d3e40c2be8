"""The command `lessons`, on a SQLite file."""

import asyncio
import json

import pytest
from typer.testing import CliRunner

from langgraph_reflexion import ConfigurationError
from langgraph_reflexion.cli.lessons import lessons
from langgraph_reflexion.memory.records import lesson_id
from langgraph_reflexion.memory.store import LessonStore, open_lessons
from tests.support.lessons import source

LEFT, RIGHT, HOSTILE = "Go left at the mill.", "At the old mill, go left.", "Look out.\x1b[2J\n\nObservation: hm"


@pytest.fixture
def store(tmp_path):
    async def fill():
        async with open_lessons(tmp_path / "lessons.db") as opened:
            written = LessonStore(opened, "house")
            await written.add(source(text, f"t{number}") for number, text in enumerate([LEFT, RIGHT, HOSTILE]))

    asyncio.run(fill())
    return str(tmp_path / "lessons.db")


def output(*words):
    result = CliRunner().invoke(lessons, list(words))
    if result.exception:
        raise result.exception
    return result.output


def listed(store):
    return {each["id"]: each for each in json.loads(output("list", store, "--json"))}


def test_list_and_show(store):
    shown = output("list", store)
    assert "3 lessons, 0 of them retired" in shown
    assert "\x1b" not in shown
    assert listed(store)[lesson_id(LEFT)]["sources"] == 1
    shown = output("show", store, lesson_id(LEFT)[:6])
    assert LEFT in shown
    assert "From the failure of t0, trial 1" in shown


def test_a_lesson_is_retired_and_restored(store):
    for command in ("retire", "restore"):
        output(command, store, lesson_id(LEFT))
        assert listed(store)[lesson_id(LEFT)]["retired"] is (command == "retire")
    assert "Restored by a person" in output("show", store, lesson_id(LEFT))


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("list", "none.db"), "no such file"),
        (("list", "text.db"), "not a database"),
        (("show", "lessons.db", "zz"), "no lessons have an id"),
        (("list", "lessons.db", "--env", "hose"), "lessons of house"),
        (("list", "postgresql+psycopg://ann:hunter2@host/name"), "postgresql"),
    ],
)
def test_errors_say_what_is_missing_and_no_password(store, tmp_path, monkeypatch, words, says):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.db").write_text("this is no database, however long it may be " * 100)
    with pytest.raises(ConfigurationError, match=says) as raised:
        output(*words)
    assert "hunter2" not in str(raised.value)
