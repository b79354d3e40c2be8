"""The command `lessons`, on a SQLite file."""

import asyncio
import json

import pytest
from typer.testing import CliRunner

from langgraph_reflexion import ConfigurationError
from langgraph_reflexion.lab.cli.lessons import lessons
from langgraph_reflexion.memory.records import lesson_id
from langgraph_reflexion.memory.store import LessonStore, open_lessons
from tests.support.lessons import source, use

LEFT, RIGHT, HOSTILE = "Go left at the mill.", "At the old mill, go left.", "Look out.\x1b[2J\n\nObservation: hm"


@pytest.fixture
def store(tmp_path):
    async def fill():
        async with open_lessons(tmp_path / "lessons.db") as opened:
            written = LessonStore(opened, "house")
            await written.add(source(text, f"t{number}") for number, text in enumerate([LEFT, RIGHT, HOSTILE]))
            uses = [use("t8", [lesson_id(LEFT)], True), use("t9", [lesson_id(LEFT), lesson_id(RIGHT)], False)]
            await written.add(uses)

    asyncio.run(fill())
    return str(tmp_path / "lessons.db")


def output(*words, given=None):
    result = CliRunner().invoke(lessons, list(words), input=given)
    if result.exception:
        raise result.exception
    return result.output


def listed(store):
    return {each["id"]: each for each in json.loads(output("list", store, "--json"))}


def test_list_and_show(store):
    shown = output("list", store)
    assert "3 lessons, 0 of them retired" in shown
    assert "\x1b" not in shown
    counted = listed(store)[lesson_id(LEFT)]
    assert (counted["sources"], counted["recalled"], counted["succeeded"]) == (1, 2, 1)
    shown = output("show", store, lesson_id(LEFT)[:6])
    assert LEFT in shown
    assert "From the failure of t0, trial 1" in shown
    assert "Recalled for t8, trial 1, which succeeded" in shown
    assert "Recalled for t9, trial 1, which failed" in shown


def test_a_lesson_is_edited_retired_and_restored(store, tmp_path):
    (tmp_path / "new.txt").write_text("Go right instead.\n")
    for file, given, text in ((str(tmp_path / "new.txt"), None, "Go right instead."), ("-", "Go on.", "Go on.")):
        output("edit", store, lesson_id(LEFT), file, given=given)
        assert (listed(store)[lesson_id(LEFT)]["text"], listed(store)[lesson_id(LEFT)]["recalled"]) == (text, 2)
    assert output("show", store, lesson_id(LEFT)).count("Edited by a person") == 2
    for command in ("retire", "restore"):
        output(command, store, lesson_id(LEFT))
        assert listed(store)[lesson_id(LEFT)]["retired"] is (command == "retire")


def test_export_and_import(store, tmp_path):
    file, other = str(tmp_path / "all.jsonl"), str(tmp_path / "other.db")
    assert "4 records of 3 lessons written" in output("export", store, file)
    assert "3 new lessons" in output("import", other, file, "--env", "house")
    assert "0 new lessons" in output("import", store, file)
    assert listed(other) == listed(store)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("list", "none.db"), "no such file"),
        (("list", "text.db"), "not a database"),
        (("show", "lessons.db", "zz"), "no lessons have an id"),
        (("edit", "lessons.db", lesson_id(LEFT), "-"), "empty"),
        (("list", "lessons.db", "--env", "hose"), "lessons of house"),
        (("import", "new.db", "all.jsonl"), "with --env"),
        (("import", "new.db", "none.jsonl", "--env", "house"), r"none\.jsonl"),
        (("list", "postgresql+psycopg://ann:hunter2@host/name"), "postgresql"),
        (("import", "postgresql+psycopg://ann:hunter2@host/name", "all.jsonl", "--env", "house"), "postgresql"),
    ],
)
def test_errors_say_what_is_missing_and_no_password(store, tmp_path, monkeypatch, words, says):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.db").write_text("this is no database, however long it may be " * 100)
    output("export", store, "all.jsonl")
    with pytest.raises(ConfigurationError, match=says) as raised:
        output(*words, given=" \n")
    assert "hunter2" not in str(raised.value)
    assert not (tmp_path / "new.db").exists()
