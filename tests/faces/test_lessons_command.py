"""The command `lessons`, on a SQLite file."""

import asyncio
import json

import pytest
from typer.testing import CliRunner

from langgraph_reflexion import ConfigurationError
from langgraph_reflexion.cli.lessons import lessons
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


def test_edit_reads_a_file_or_standard_input(store, tmp_path):
    new = tmp_path / "new.txt"
    new.write_text("Go right instead.\n")
    output("edit", store, lesson_id(LEFT), str(new))
    assert listed(store)[lesson_id(LEFT)]["text"] == "Go right instead."
    output("edit", store, lesson_id(LEFT), "-", given="Go straight on.")
    assert (listed(store)[lesson_id(LEFT)]["text"], listed(store)[lesson_id(LEFT)]["recalled"]) == (
        "Go straight on.",
        2,
    )
    assert output("show", store, lesson_id(LEFT)).count("Edited by a person") == 2
    with pytest.raises(ConfigurationError, match="empty"):
        output("edit", store, lesson_id(LEFT), "-", given=" \n")


def test_retire_and_restore(store):
    output("retire", store, lesson_id(LEFT))
    assert listed(store)[lesson_id(LEFT)]["retired"]
    output("restore", store, lesson_id(LEFT))
    assert not listed(store)[lesson_id(LEFT)]["retired"]


def test_export_and_import(store, tmp_path):
    file, other = str(tmp_path / "all.jsonl"), str(tmp_path / "other.db")
    assert "5 records of 3 lessons written" in output("export", store, file)
    assert "3 new lessons" in output("import", other, file, "--env", "house")
    assert "0 new lessons" in output("import", store, file)
    assert listed(other) == listed(store)


def test_missing_files_and_lessons_are_errors(store, tmp_path):
    file = str(tmp_path / "all.jsonl")
    output("export", store, file)
    with pytest.raises(ConfigurationError, match="no such file"):
        output("list", str(tmp_path / "none.db"))
    (tmp_path / "text.db").write_text("this is no database, however long it may be " * 100)
    with pytest.raises(ConfigurationError, match="not a database"):
        output("list", str(tmp_path / "text.db"))
    with pytest.raises(ConfigurationError, match="no lessons have an id"):
        output("show", store, "zz")
    with pytest.raises(ConfigurationError, match="lessons of house"):
        output("list", store, "--env", "hose")
    with pytest.raises(ConfigurationError, match="with --env"):
        output("import", str(tmp_path / "new.db"), file)
    with pytest.raises(ConfigurationError, match=r"none\.jsonl"):
        output("import", str(tmp_path / "new.db"), str(tmp_path / "none.jsonl"), "--env", "house")
    assert not (tmp_path / "new.db").exists()
    for command in (["list"], ["import", file, "--env", "house"]):
        with pytest.raises(ConfigurationError) as raised:
            output(command[0], "postgresql+psycopg://ann:hunter2@host/name", *command[1:])
        assert "hunter2" not in str(raised.value)
