"""Lessons as files: there and back without loss, twice without repeats, and edited on the way."""

import json

import pytest
from langgraph.store.memory import InMemoryStore

from langgraph_reflexion import ConfigurationError
from langgraph_reflexion.memory.bank import Bank
from langgraph_reflexion.memory.files import read_lessons, write_lessons
from langgraph_reflexion.memory.items import lesson_id
from tests.lessons.made import source, use
from tests.lessons.test_quoting import HOSTILE

FIRST, SECOND = "Look into the cabinets first.\n\n## Not a heading\n```\n> and a quotation", "Knives lie on counters."


async def filled():
    bank = Bank(InMemoryStore(), "house")
    for number, text in enumerate([FIRST, SECOND, *HOSTILE]):
        await bank.learn(text, source(f"t{number}"), f"{number}")
    await bank.use(use("t8", [lesson_id(FIRST), lesson_id(SECOND)], True), "eight")
    await bank.edit({"lesson": lesson_id(SECOND), "text": "Knives lie on the counter.", "date": "1"})
    await bank.edit({"lesson": lesson_id(FIRST), "retired": True, "date": "2"})
    return bank


@pytest.mark.parametrize("name", ["lessons.jsonl", "lessons.md"])
async def test_there_and_back_nothing_is_lost_and_twice_nothing_is_added(name, tmp_path):
    bank = await filled()
    before = await bank.book()
    write_lessons(before, tmp_path / name)
    other = Bank(InMemoryStore(), "house")
    assert await read_lessons(other, tmp_path / name) == (len(HOSTILE) + 2, 0)
    assert (await other.book()).items == before.items
    assert await read_lessons(other, tmp_path / name) == (0, 0)
    assert await read_lessons(bank, tmp_path / name) == (0, 0)
    assert (await bank.book()).items == before.items


async def test_a_text_that_was_changed_in_markdown_is_an_edit_once(tmp_path):
    bank, path = await filled(), tmp_path / "lessons.md"
    write_lessons(await bank.book(), path)
    text = path.read_text().replace("> Knives lie on the counter.", "> Knives lie\n> on the counter, mostly.")
    path.write_text(f"# Mine\n\n## A rule of the house\n\n> Close what you have opened.\n\n{text}")
    assert await read_lessons(bank, path) == (1, 1)
    lessons = (await bank.book()).lessons
    assert lessons[lesson_id(SECOND)].text == "Knives lie\non the counter, mostly."
    mine = lessons[lesson_id("Close what you have opened.")]
    assert mine.outcomes == ["person"]
    assert mine.sources[0][1]["instruction"] == "A rule of the house"
    assert await read_lessons(bank, path) == (0, 0)


async def test_a_lesson_that_repeats_one_of_the_store_strengthens_that_one(tmp_path):
    there, path = await filled(), tmp_path / "lessons.jsonl"
    other = Bank(InMemoryStore(), "house")
    await other.learn("The knives lie on counters!", source("elsewhere"), "x")
    said = await other.learn("Then knives lie on counters.", source("again"), "y")
    await other.use(use("t77", [said], False), "z")
    write_lessons(await other.book(), path)
    number = len((await there.book()).lessons)
    assert await read_lessons(there, path) == (0, 0)
    book = await there.book()
    assert len(book.lessons) == number
    assert book.lessons[lesson_id(SECOND)].tasks == {"t1", "elsewhere", "again"}
    assert book.lessons[lesson_id(SECOND)].recalled == 2


async def test_bad_lines_are_named_and_nothing_is_added(tmp_path):
    bank, path = await filled(), tmp_path / "lessons.jsonl"
    write_lessons(await bank.book(), path)
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
        '{"item": []}',
    ]
    path.write_text("\n".join([*bad, '{"item": "uses", "key": "0123456789abcdef", "value": {"lessons": [1]}}']))
    other = Bank(InMemoryStore(), "house")
    with pytest.raises(ConfigurationError) as raised:
        await read_lessons(other, path)
    told = str(raised.value)
    assert "line 2: no JSON" in told
    assert all(f"line {number}: " in told for number in range(2, 7))
    assert told.endswith("and 2 more")
    assert not (await other.book()).lessons
    for name in ("lessons.txt", "nothing.md"):
        with pytest.raises(ConfigurationError, match=name):
            await read_lessons(other, tmp_path / name)


async def test_imported_texts_are_bounded_and_plain(tmp_path):
    path = tmp_path / "lessons.md"
    # Some editors begin a file with a mark of its encoding.
    path.write_text(f"\ufeff## mine\n\n> \x1b[31m{'long ' * 100_000}\n")
    bank = Bank(InMemoryStore(), "house")
    await read_lessons(bank, path)
    [lesson] = (await bank.book()).lessons.values()
    assert len(lesson.text) <= 4000
    assert "\x1b" not in lesson.text


async def test_what_was_merged_into_a_repeat_is_not_lost_and_goes_on_to_a_third_store(tmp_path):
    there, path = Bank(InMemoryStore(), "house"), tmp_path / "lessons.jsonl"
    kept = await there.learn("Look in the drawer before the cabinet.", source("a"), "a")
    given_up = await there.learn("Cups lie where cups are.", source("b"), "b")
    await there.edit({"lesson": given_up, "into": kept, "date": "1"})
    write_lessons(await there.book(), path)
    other = Bank(InMemoryStore(), "house")
    same = await other.learn("Look in a drawer before a cabinet.", source("c"), "c")
    for _ in range(2):
        assert await read_lessons(other, path) == (0, 0)
        assert {key: len(each.sources) for key, each in (await other.book()).lessons.items()} == {same: 3}
    write_lessons(await other.book(), path)
    third = Bank(InMemoryStore(), "house")
    assert await read_lessons(third, path) == (1, 0)
    assert (await third.book()).items == (await other.book()).items
