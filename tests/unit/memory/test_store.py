"""Lessons in a store: written, recalled for similar tasks, and kept apart."""

import hashlib
import sqlite3

import pytest
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import SqliteStore

from langgraph_reflexion import ConfigurationError
from langgraph_reflexion.memory.records import LessonEdit, lesson_id
from langgraph_reflexion.memory.store import LessonStore, environments, open_lessons
from tests.support.lessons import source

MUG = "Mugs are most often in the cabinet above the coffee machine."
TOWEL = "Towels hang on the rack beside the bathtub."


async def filled(store):
    lessons = LessonStore(store, "house")
    mug = {"instruction": "Put a mug into the coffee machine.", "observation": "A kitchen with cabinets."}
    towel = {"instruction": "Put a towel into the bathtub.", "observation": "A bathroom with a rack."}
    await lessons.learn(source(MUG, "t1", **mug), "one")
    await lessons.learn(source(TOWEL, "t2", **towel), "two")
    return lessons


async def recalled(store, instruction, observation="", count=3, excluded=lambda lesson: False):
    task = {"id": instruction, "instruction": instruction, "kind": "look"}
    return [lesson.text for lesson in await store.recall(task, observation, count, excluded)]


async def test_the_lesson_of_the_most_similar_task_comes_first():
    store = await filled(InMemoryStore())
    assert await recalled(store, "Heat a mug with coffee.") == [MUG, TOWEL], "both are of the same kind"
    assert await recalled(store, "Clean it.", "A bathroom with a sink.", count=1) == [TOWEL]
    assert await recalled(store, "Heat a mug.", excluded=lambda lesson: "t1" in lesson.tasks) == [TOWEL]
    assert await recalled(LessonStore(InMemoryStore(), "house"), "Heat a mug.") == []
    assert await store.recall({"id": "x", "instruction": "Zzyzx quux?"}, "", 3, lambda lesson: False) == []


async def test_a_repeated_lesson_gets_a_source_and_the_same_trial_counts_once():
    store = await filled(InMemoryStore())
    for _ in range(2):  # a node that is run again
        await store.learn(source(MUG.upper(), "t3"), "three")
    lessons = (await store.snapshot()).lessons
    assert sorted(len(lesson.sources) for lesson in lessons.values()) == [1, 2]
    assert await store.learn(source("", "t4"), "four") is None


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_users_and_environments_are_kept_apart_whatever_their_names(kind, tmp_path):
    async with open_lessons(None if kind == "memory" else tmp_path / "l.db") as store:
        names = ["ann", "Ann", "anna", "a%", "a_n", "a.n", "a*", "everyone", "ann.lessons", "Ж" * 50, None]
        for name in names:
            await LessonStore(store, "house", name).learn(source(f"This is {name!r}'s."), "one")
        for name in names:
            known = (await LessonStore(store, "house", name).snapshot()).lessons.values()
            assert [lesson.text for lesson in known] == [f"This is {name!r}'s."]
        assert not (await LessonStore(store, "hous", "ann").snapshot()).lessons
        await LessonStore(store, "my.module:House", "ann").learn(source("Elsewhere."), "one")
        assert await environments(store) == ["house", "my.module:House"]
    with pytest.raises(ConfigurationError, match="empty"):
        LessonStore(store, "house", "")


async def test_retired_lessons_are_not_recalled_until_they_are_restored():
    store = await filled(InMemoryStore())
    await store.add([LessonEdit(lesson=lesson_id(MUG), retired=True, date="1")])
    assert await recalled(store, "Heat a mug.") == [TOWEL]
    await store.add([LessonEdit(lesson=lesson_id(MUG), retired=False, date="2")])
    assert await recalled(store, "Heat a mug.", count=1) == [MUG]


async def test_lessons_with_the_same_score_have_a_fixed_order():
    texts = ["Go left at the mill.", "Go right at the oak.", "Go back at the ford."]
    orders = []
    for order in (texts, texts[::-1]):
        store = LessonStore(InMemoryStore(), "house")
        for text in order:
            await store.learn(source(text), text)
        orders.append(await recalled(store, "Do what t1 says."))
    assert orders[0] == orders[1]
    assert len(orders[0]) == 3


async def test_a_store_without_coroutines_works(tmp_path):
    connection = sqlite3.connect(tmp_path / "l.db", check_same_thread=False, isolation_level=None)
    store = SqliteStore(connection)
    store.setup()
    assert await recalled(await filled(store), "Heat a mug.", count=1) == [MUG]
    connection.close()


async def test_an_error_of_another_database_passes_through(tmp_path):
    with pytest.raises(sqlite3.OperationalError, match="disk is full"):
        async with open_lessons(tmp_path / "l.db"):
            raise sqlite3.OperationalError("the checkpoints' disk is full")


def letters(texts):
    """A toy embedding: counts of pairs of neighbouring letters, hashed into 64 numbers."""
    vectors = []
    for text in texts:
        vector = [0.0] * 64
        for pair in zip(text.lower(), text.lower()[1:], strict=False):
            vector[hashlib.md5("".join(pair).encode()).digest()[0] % 64] += 1.0
        vectors.append(vector)
    return vectors


async def test_a_store_with_an_index_is_searched_by_meaning():
    store = await filled(InMemoryStore(index={"dims": 64, "embed": letters, "fields": ["about"]}))
    # No word is the same, and most letters are.
    assert await recalled(store, "coffeemachines mugging cabinetry kitchens", count=1) == [MUG]
    assert await recalled(store, "bathtubs toweling racks bathrooms", count=1) == [TOWEL]
    await store.add([LessonEdit(lesson=lesson_id(MUG), retired=True, date="1")])
    assert await recalled(store, "coffeemachines mugging", count=1) == [TOWEL]


@pytest.mark.parametrize(("kind", "value"), [("lessons", {}), ("uses", {"lessons": None}), ("edits", {"date": 1})])
async def test_an_invalid_record_is_named(kind, value):
    store = InMemoryStore()
    lessons = LessonStore(store, "house")
    await store.aput((*lessons.namespace, kind), "broken", value)
    with pytest.raises(ConfigurationError, match="'broken'"):
        await lessons.snapshot()
