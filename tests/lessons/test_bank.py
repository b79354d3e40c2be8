"""Lessons in a store: written, recalled for similar tasks, and kept apart."""

import hashlib
import sqlite3

import pytest
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import SqliteStore

from langgraph_reflexion import ConfigurationError
from langgraph_reflexion.memory.bank import STAMPS, Bank, environments, known_lesson
from langgraph_reflexion.memory.opening import open_lessons
from tests.lessons.made import source, task, use

KITCHEN = "Mugs are most often in the cabinet above the coffee machine."
BATHROOM = "Towels hang on the rack beside the bathtub."


def everything(lesson):
    return False


async def taught(store, user=None):
    bank = Bank(store, "house", user)
    mug = {"instruction": "Put a mug into the coffee machine.", "observation": "A kitchen with cabinets."}
    towel = {"instruction": "Put a towel into the bathtub.", "observation": "A bathroom with a rack."}
    await bank.learn(KITCHEN, source("t1", **mug), "one")
    await bank.learn(BATHROOM, source("t2", **towel), "two")
    return bank


async def texts(bank, instruction, observation="", count=3, without=everything):
    return [lesson.text for lesson in await bank.recall(task(instruction), observation, count, without)]


async def test_the_lesson_of_the_most_similar_task_comes_first():
    bank = await taught(InMemoryStore())
    assert await texts(bank, "Heat a mug with coffee.") == [KITCHEN, BATHROOM], "both are of the same kind"
    assert await texts(bank, "Clean it.", "A bathroom with a sink.", count=1) == [BATHROOM]
    assert await texts(bank, "Heat a mug.", without=lambda lesson: "t1" in lesson.tasks) == [BATHROOM]
    assert await Bank(InMemoryStore(), "house").recall(task("Heat a mug."), "", 3, everything) == []


async def test_what_shares_no_word_is_not_recalled():
    bank = await taught(InMemoryStore())
    assert await bank.recall({"id": "x", "instruction": "Zzyzx quux?"}, "", 3, everything) == []


async def test_a_repeated_lesson_is_one_with_more_sources_and_the_same_trial_counts_once():
    bank = await taught(InMemoryStore())
    for _ in range(2):  # a node that is run again
        await bank.learn(KITCHEN.upper(), source("t3"), "three")
    known = (await bank.book()).lessons
    assert len(known) == 2
    assert sorted(len(lesson.sources) for lesson in known.values()) == [1, 2]
    assert await bank.learn(" \n", source("t4"), "four") is None


async def test_one_bank_sees_what_another_has_written_and_reads_again_only_then():
    store = InMemoryStore()
    reader, writer = Bank(store, "house"), await taught(store)
    first = await reader.book()
    assert len(first.lessons) == 2
    assert await reader.book() is first
    await writer.use(use("t9", [], True), "nine")
    assert len((await reader.book()).uses) == 1
    await reader.use(use("t8", [], True), "eight")
    assert len((await reader.book()).uses) == len((await writer.book()).uses) == 2


async def test_stamps_of_writers_who_are_gone_are_taken_away():
    store = InMemoryStore()
    for number in range(STAMPS + 2):
        await Bank(store, "house").use(use(f"t{number}", [], True), f"{number}")
    reader, last = Bank(store, "house"), Bank(store, "house")
    assert len((await reader.book()).uses) == len((await last.book()).uses) == STAMPS + 2
    await last.use(use("last", [], True), "last")
    assert len(store.search((*last.namespace, "stamp"), limit=1000)) == 1
    assert len((await reader.book()).uses) == STAMPS + 3


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_users_and_environments_are_apart_however_they_are_called(kind, tmp_path):
    async with open_lessons(None if kind == "memory" else tmp_path / "l.db") as store:
        names = ["ann", "Ann", "anna", "a%", "a_n", "a.n", "a*", "everyone", "ann.lessons", "Ж" * 50, None]
        for name in names:
            bank = Bank(store, "house", name)
            await bank.learn(f"This is {name!r}'s.", source("t1"), "one")
        for name in names:
            known = (await Bank(store, "house", name).book()).lessons.values()
            assert [lesson.text for lesson in known] == [f"This is {name!r}'s."]
        assert not (await Bank(store, "hous", "ann").book()).lessons
        await Bank(store, "my.module:House", "ann").learn("Elsewhere.", source(), "one")
        assert await environments(store) == ["house", "my.module:House"]
    with pytest.raises(ConfigurationError, match="empty name"):
        Bank(store, "house", "")


async def test_retired_lessons_are_not_recalled_until_they_are_restored():
    bank = await taught(InMemoryStore())
    mug = next(key for key, lesson in (await bank.book()).lessons.items() if lesson.text == KITCHEN)
    await bank.edit({"lesson": mug, "retired": True, "date": "1"})
    assert await texts(bank, "Heat a mug.") == [BATHROOM]
    await bank.edit({"lesson": mug, "retired": False, "date": "2"})
    assert await texts(bank, "Heat a mug.", count=1) == [KITCHEN]


async def test_lessons_with_the_same_score_come_in_the_same_order_whoever_wrote_first():
    said = ["Go left at the mill.", "Go right at the oak.", "Go back at the ford."]
    orders = []
    for order in (said, said[::-1]):
        bank = Bank(InMemoryStore(), "house")
        for text in order:
            await bank.learn(text, source("t1"), text)
        orders.append(await texts(bank, "Do what t1 says."))
    assert orders[0] == orders[1]
    assert len(orders[0]) == 3


async def test_a_store_without_coroutines_does_as_well(tmp_path):
    connection = sqlite3.connect(tmp_path / "l.db", check_same_thread=False, isolation_level=None)
    store = SqliteStore(connection)
    store.setup()
    bank = await taught(store)
    assert await texts(bank, "Heat a mug.", count=1) == [KITCHEN]
    connection.close()


async def test_trouble_with_another_database_is_not_said_to_be_the_lessons(tmp_path):
    with pytest.raises(sqlite3.OperationalError, match="the checkpoints' disk is full"):
        async with open_lessons(tmp_path / "l.db"):
            raise sqlite3.OperationalError("the checkpoints' disk is full")


def letters(texts):
    """A toy embedding: how often each pair of neighbouring letters occurs, hashed into 64 numbers."""
    vectors = []
    for text in texts:
        vector = [0.0] * 64
        for pair in zip(text.lower(), text.lower()[1:], strict=False):
            vector[hashlib.md5("".join(pair).encode()).digest()[0] % 64] += 1.0
        vectors.append(vector)
    return vectors


async def test_a_store_with_an_index_is_asked_by_meaning():
    store = InMemoryStore(index={"dims": 64, "embed": letters, "fields": ["about"]})
    bank = await taught(store)
    # No word is the same, and most letters are.
    assert await texts(bank, "coffeemachines mugging cabinetry kitchens", count=1) == [KITCHEN]
    assert await texts(bank, "bathtubs toweling racks bathrooms", count=1) == [BATHROOM]
    mug = next(key for key, lesson in (await bank.book()).lessons.items() if lesson.text == KITCHEN)
    await bank.edit({"lesson": mug, "retired": True, "date": "1"})
    assert await texts(bank, "coffeemachines mugging", count=1) == [BATHROOM]


async def test_a_lesson_is_found_by_how_its_id_begins():
    book = await (await taught(InMemoryStore())).book()
    key = next(iter(book.lessons))
    assert known_lesson(book, key[:8]).id == known_lesson(book, key).id == key
    for wrong in ("", "zzz"):
        with pytest.raises(ConfigurationError, match="no lessons have an id"):
            known_lesson(book, wrong)


@pytest.mark.parametrize(("part", "value"), [("lessons", {}), ("uses", {"lessons": None}), ("edits", {"date": 1})])
async def test_an_item_that_lacks_something_is_named(part, value):
    store = InMemoryStore()
    bank = Bank(store, "house")
    await bank.learn("Go left.", source(), "one")
    await store.aput((*bank.namespace, part), "broken", value)
    with pytest.raises(ConfigurationError, match=rf"'{part}'\), 'broken': its '\w+' is missing"):
        await Bank(store, "house").book()
