"""Near-duplicates among lessons: what is one, and what becomes of their sources and numbers."""

import asyncio
from string import ascii_lowercase

import pytest
from langgraph.store.memory import InMemoryStore

from langgraph_reflexion.memory.importing import add_records, read_records, write_lessons
from langgraph_reflexion.memory.records import KNOWN_MERGES, LessonEdit, LessonMerge, LessonSource, lesson_id
from langgraph_reflexion.memory.store import LessonStore, open_lessons
from tests.support.lessons import source, use

SHORT = "Look into the cabinets beside the sink before you search for a mug elsewhere."
LONG = "Look into the cabinets beside the sink before you search for a clean mug elsewhere."


@pytest.mark.parametrize(
    ("one", "other", "merged"),
    [
        (SHORT, LONG, True),
        (LONG, SHORT, True),
        (SHORT, LONG.replace("clean mug", "clean cup"), False),  # a word is replaced
        (SHORT, SHORT.replace("cabinets beside the sink", "sink beside the cabinets"), False),
        (SHORT, SHORT.replace("a mug", "a mug 2"), False),
        (SHORT.replace("sink", "sink 1"), LONG.replace("sink", "sink 2"), False),
        (SHORT, SHORT.replace("a mug", "no mug"), False),
        (SHORT, SHORT.replace("you search", "you never search"), False),
        (SHORT, SHORT.replace("the sink", "the Miele sink"), False),
        (SHORT, SHORT.replace("a mug", "a mug < one"), False),
        (SHORT, f"Ann: {SHORT}", False),
        ("Go to the mill.", "Go to the old mill.", False),  # too much of it is new
        (
            "Öffne die Tür zu dem Zimmer, in dem Licht brennt.",
            "Öffne die Tür zu dem Zimmer, in dem nicht Licht brennt.",
            False,
        ),
    ],
)
async def test_what_is_a_near_duplicate(one, other, merged):
    store = LessonStore(InMemoryStore(), "house")
    await store.add([source(one, "t1")])
    await store.add([source(other, "t2")])
    assert len((await store.snapshot()).lessons) == 2 - merged


@pytest.mark.parametrize("file", [None, "lessons.db"])
async def test_the_one_that_says_more_is_left_with_the_sources_and_numbers_of_both(file, tmp_path):
    async with open_lessons(file and tmp_path / file) as opened:
        store = LessonStore(opened, "house")
        await store.add([source(SHORT, "t1"), use("t8", [lesson_id(SHORT)], True)])
        await store.add([source(LONG, "t2", date="2026-02"), use("t9", [lesson_id(LONG)], False)])
        both = [lesson_id(SHORT), lesson_id(LONG)]
        await store.add([use("t10", both, True)])  # a task that had begun before
        for _ in range(3):
            [lesson] = (await store.snapshot()).lessons.values()
            assert (lesson.text, lesson.tally.sources, lesson.tasks) == (LONG, 2, {"t1", "t2"})
            assert (lesson.recalled, lesson.succeeded) == (3, 2)
            await store.tidy(force=True)
        assert [found.text for found in await store.recall({"id": "x", "instruction": SHORT}, "", 3)] == [LONG]
        assert (await store.snapshot()).find(lesson_id(SHORT)).text == LONG


async def test_what_comes_later_under_the_old_name_counts():
    """The trial of a task that had recalled the lesson before, and a trial that teaches the same words again."""
    store = LessonStore(InMemoryStore(), "house")
    await store.add([source(SHORT, "t1")])
    await store.add([source(LONG, "t2")])
    for _ in range(2):
        await store.tidy(force=True)
    await store.add([use("t3", [lesson_id(SHORT)], True), source(SHORT, "t4")])
    [lesson] = (await store.snapshot()).lessons.values()
    assert (lesson.text, lesson.recalled, lesson.tally.sources) == (LONG, 1, 3)


async def test_processes_that_add_near_duplicates_at_once_merge_them():
    opened = InMemoryStore()
    stores = [LessonStore(opened, "house") for _ in range(2)]
    await asyncio.gather(stores[0].add([source(SHORT, "t1")]), stores[1].add([source(LONG, "t2")]))
    [lesson] = (await stores[0].snapshot()).lessons.values()
    assert lesson.text == LONG


async def test_a_summary_by_a_process_that_knew_nothing_of_a_merge_loses_no_number():
    store = LessonStore(InMemoryStore(), "house")
    await store.add([source(SHORT, "t1"), use("t8", [lesson_id(SHORT)], True)])
    before = (await store.snapshot()).summary("2026-03")
    await store.add([source(LONG, "t2")])
    await store.add([before])
    for _ in range(3):
        [lesson] = (await store.snapshot()).lessons.values()
        assert (lesson.text, lesson.tally.sources, lesson.recalled) == (LONG, 2, 1)
        await store.tidy(force=True)


async def test_merges_in_a_circle_leave_one_lesson():
    store = LessonStore(InMemoryStore(), "house")
    ids = [lesson_id(text) for text in ("Go left.", "Go on.")]
    await store.add([source("Go left.", "t1"), source("Go on.", "t2")])
    await store.add(LessonMerge(lesson=one, into=other, date="1") for one, other in (ids, ids[::-1]))
    [lesson] = (await store.snapshot()).lessons.values()
    assert (lesson.id, lesson.tally.sources) == (min(ids), 2)


@pytest.mark.parametrize(
    "said", [LessonSource(text=SHORT), LessonEdit(lesson=lesson_id(SHORT), date="1", retired=False)]
)
async def test_what_a_person_has_written_or_changed_stands_alone(said):
    store = LessonStore(InMemoryStore(), "house")
    await store.add([source(LONG, "t2")])
    await store.add([source(SHORT, "t1"), said])
    for _ in range(3):
        assert {lesson.text for lesson in (await store.snapshot()).live} == {SHORT, LONG}
        await store.tidy(force=True)


async def test_a_lesson_whose_better_is_in_the_archive_stands_alone():
    store = LessonStore(InMemoryStore(), "house", limit=1)
    await store.add([source(LONG, "t1", date="2026-01"), source("Go left.", "t2", date="2026-02")])
    await store.tidy()
    await store.add([LessonMerge(lesson=lesson_id(SHORT), into=lesson_id(LONG), date="1"), source(SHORT, "t3")])
    snapshot = await store.snapshot()
    assert {lesson.text for lesson in snapshot.live} == {SHORT, "Go left."}
    assert snapshot.lessons[lesson_id(LONG)].archived


async def test_near_duplicates_of_an_earlier_version_are_merged_when_records_are_added_up():
    opened = InMemoryStore()
    store = LessonStore(opened, "house")
    for each in (source(SHORT, "t1"), source(LONG, "t2")):
        await opened.aput((*store.namespace, "sources"), each.key, each.stored())
    assert len((await store.snapshot()).lessons) == 2
    await store.tidy(force=True)
    assert [lesson.text for lesson in (await store.snapshot()).live] == [LONG]


async def test_merges_do_not_grow_without_end():
    store = LessonStore(InMemoryStore(), "house")
    await store.add([source(LONG, "t1"), source(SHORT, "t2")])
    await store.add(LessonMerge(lesson=f"{n}", into=lesson_id(LONG), date=f"{n:04}") for n in range(2 * KNOWN_MERGES))
    await store.tidy(force=True)
    merges = (await store.snapshot()).records["merges"]
    # The source of the short one is still there.
    assert len(merges) == KNOWN_MERGES + 1
    assert {lesson_id(SHORT), "399"} <= merges.keys()


async def test_exported_and_imported_a_merged_lesson_has_its_numbers(tmp_path):
    one, other = (LessonStore(InMemoryStore(), "house") for _ in range(2))
    await one.add([source(SHORT, "t1"), use("t8", [lesson_id(SHORT)], True)])
    await one.add([source(LONG, "t2")])
    await write_lessons(one, tmp_path / "lessons.jsonl")
    for _ in range(2):
        await add_records(other, read_records(tmp_path / "lessons.jsonl"))
        [lesson] = (await other.snapshot()).lessons.values()
        assert (lesson.text, lesson.tally.sources, lesson.recalled) == (LONG, 2, 1)


def letters(texts):
    """A toy embedding: counts of letters."""
    return [[float(text.lower().count(letter)) for letter in ascii_lowercase] for text in texts]


@pytest.mark.parametrize(
    ("younger", "merged"),
    [
        ("Mugs stand mostly on shelves over sinks.", True),  # most letters are the same
        ("Mugs stand mostly on shelf 2 over sinks.", False),
        ("Mugs stand never on shelves over sinks.", False),
        ("Mops hang behind doors.", False),
    ],
)
async def test_a_store_with_an_index_finds_other_words_of_the_same_meaning(younger, merged):
    store = LessonStore(InMemoryStore(index={"dims": 26, "embed": letters}), "house")
    older = "Mugs mostly stand on sink shelves over there."
    await store.add([source(older, "t1", date="2026-01")])
    await store.add([source(younger, "t2", date="2026-02")])
    expected = {older, younger}
    if merged:
        expected = {older}
    assert {lesson.text for lesson in (await store.snapshot()).live} == expected


@pytest.mark.parametrize(("first", "then"), [(SHORT, LONG), (LONG, SHORT)])
async def test_a_lesson_under_review_is_not_merged(first, then):
    store = LessonStore(InMemoryStore(), "house")
    await store.add([source(first, "t1")])
    await store.add([source(then, "t2", pending=True)])
    await store.tidy(force=True)
    lessons = (await store.snapshot()).lessons
    assert {key: lesson.pending for key, lesson in lessons.items()} == {
        lesson_id(first): False,
        lesson_id(then): True,
    }


async def test_an_approved_lesson_keeps_its_words_where_another_one_is_merged_into_it():
    store = LessonStore(InMemoryStore(), "house")
    await store.add([source(LONG, "t1", pending=True), LessonEdit(lesson=lesson_id(LONG), date="1", approved=True)])
    await store.add([source(SHORT, "t2")])
    for _ in range(3):
        [lesson] = (await store.snapshot()).live
        assert (lesson.text, lesson.pending, lesson.tally.sources) == (LONG, False, 2)
        await store.tidy(force=True)
