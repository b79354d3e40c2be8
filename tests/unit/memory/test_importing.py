"""Lessons as files: round trips without loss, imports without duplicates, and edits in Markdown."""

import json

import pytest
from langgraph.store.memory import InMemoryStore

from langgraph_reflexion import ConfigurationError
from langgraph_reflexion.memory.importing import read_lessons, write_lessons
from langgraph_reflexion.memory.records import LessonEdit, lesson_id
from langgraph_reflexion.memory.store import LessonStore
from tests.support.lessons import HOSTILE, source, use

FIRST, SECOND = "Look into the cabinets first.\n\n## Not a heading\n```\n> and a quotation", "Knives lie on counters."


async def filled():
    store = LessonStore(InMemoryStore(), "house")
    for number, text in enumerate([FIRST, SECOND, *HOSTILE]):
        await store.learn(source(text, f"t{number}"), f"{number}")
    await store.add([use("t8", [lesson_id(FIRST), lesson_id(SECOND)], True)], "eight")
    await store.add([LessonEdit(lesson=lesson_id(SECOND), text="Knives lie on the counter.", date="1")])
    await store.add([LessonEdit(lesson=lesson_id(FIRST), retired=True, date="2")])
    return store


@pytest.mark.parametrize("name", ["lessons.jsonl", "lessons.md"])
async def test_there_and_back_nothing_is_lost_and_twice_nothing_is_added(name, tmp_path):
    store = await filled()
    before = await store.snapshot()
    write_lessons(before, tmp_path / name)
    other = LessonStore(InMemoryStore(), "house")
    assert await read_lessons(other, tmp_path / name) == (len(HOSTILE) + 2, 0)
    assert (await other.snapshot()).records == before.records
    assert await read_lessons(other, tmp_path / name) == (0, 0)
    assert await read_lessons(store, tmp_path / name) == (0, 0)
    assert (await store.snapshot()).records == before.records


async def test_a_text_that_was_changed_in_markdown_is_an_edit_once(tmp_path):
    store, path = await filled(), tmp_path / "lessons.md"
    write_lessons(await store.snapshot(), path)
    text = path.read_text().replace("> Knives lie on the counter.", "> Knives lie\n> on the counter, mostly.")
    path.write_text(f"# Mine\n\n## A rule of the house\n\n> Close what you have opened.\n\n{text}")
    assert await read_lessons(store, path) == (1, 1)
    lessons = (await store.snapshot()).lessons
    assert lessons[lesson_id(SECOND)].text == "Knives lie\non the counter, mostly."
    mine = lessons[lesson_id("Close what you have opened.")]
    assert mine.outcomes == ["person"]
    assert mine.sources[0][1].instruction == "A rule of the house"
    assert await read_lessons(store, path) == (0, 0)


async def test_a_lesson_that_repeats_one_of_the_store_strengthens_that_one(tmp_path):
    there, path = await filled(), tmp_path / "lessons.jsonl"
    other = LessonStore(InMemoryStore(), "house")
    await other.learn(source("The knives lie on counters!", "elsewhere"), "x")
    said = await other.learn(source("Then knives lie on counters.", "again"), "y")
    await other.add([use("t77", [said], False)], "z")
    write_lessons(await other.snapshot(), path)
    number = len((await there.snapshot()).lessons)
    assert await read_lessons(there, path) == (0, 0)
    after = await there.snapshot()
    assert len(after.lessons) == number
    assert after.lessons[lesson_id(SECOND)].tasks == {"t1", "elsewhere", "again"}
    assert after.lessons[lesson_id(SECOND)].recalled == 2


async def test_bad_lines_are_named_and_nothing_is_added(tmp_path):
    store, path = await filled(), tmp_path / "lessons.jsonl"
    write_lessons(await store.snapshot(), path)
    good = path.read_text().splitlines()
    item = json.loads(good[0])
    item["value"] = {**item["value"], "text": "Another text under the same key."}
    bad = [
        good[0],
        "no json",
        "[1]",
        json.dumps(item),
        json.dumps({**item, "key": "../x"}),
        "[" * 100_000,
        '{"kind": []}',
    ]
    path.write_text("\n".join([*bad, '{"kind": "uses", "key": "0123456789abcdef", "value": {"lessons": [1]}}']))
    other = LessonStore(InMemoryStore(), "house")
    with pytest.raises(ConfigurationError) as raised:
        await read_lessons(other, path)
    told = str(raised.value)
    assert "line 2: no JSON" in told
    assert all(f"line {number}: " in told for number in range(2, 7))
    assert told.endswith("and 2 more")
    assert not (await other.snapshot()).lessons
    for name in ("lessons.txt", "nothing.md"):
        with pytest.raises(ConfigurationError, match=name):
            await read_lessons(other, tmp_path / name)


async def test_imported_texts_are_bounded_and_plain(tmp_path):
    path = tmp_path / "lessons.md"
    # Some editors begin a file with a mark of its encoding.
    path.write_text(f"\ufeff## mine\n\n> \x1b[31m{'long ' * 100_000}\n")
    store = LessonStore(InMemoryStore(), "house")
    await read_lessons(store, path)
    [lesson] = (await store.snapshot()).lessons.values()
    assert len(lesson.text) <= 4000
    assert "\x1b" not in lesson.text


async def test_what_was_merged_into_a_repeat_is_not_lost_and_goes_on_to_a_third_store(tmp_path):
    there, path = LessonStore(InMemoryStore(), "house"), tmp_path / "lessons.jsonl"
    kept = await there.learn(source("Look in the drawer before the cabinet.", "a"), "a")
    given_up = await there.learn(source("Cups lie where cups are.", "b"), "b")
    await there.add([LessonEdit(lesson=given_up, into=kept, date="1")])
    write_lessons(await there.snapshot(), path)
    other = LessonStore(InMemoryStore(), "house")
    same = await other.learn(source("Look in a drawer before a cabinet.", "c"), "c")
    for _ in range(2):
        assert await read_lessons(other, path) == (0, 0)
        assert {key: len(each.sources) for key, each in (await other.snapshot()).lessons.items()} == {same: 3}
    write_lessons(await other.snapshot(), path)
    third = LessonStore(InMemoryStore(), "house")
    assert await read_lessons(third, path) == (1, 0)
    assert (await third.snapshot()).records == (await other.snapshot()).records
