import json
from string import ascii_lowercase

import pytest
from langgraph.store.memory import InMemoryStore

from langgraph_reflexion import ConfigurationError
from langgraph_reflexion.memory.importing import add_records, read_records, write_lessons
from langgraph_reflexion.memory.records import SHOWN_CHARACTERS, LessonEdit, escape_for_prompt, lesson_id, plain
from langgraph_reflexion.memory.snapshot import LessonSnapshot
from langgraph_reflexion.memory.store import LessonStore, open_lessons
from langgraph_reflexion.memory.users import environments
from langgraph_reflexion.prompts import load_prompts
from tests.support.lessons import HOSTILE, source, use

MARKS = ("<|", "[INST]", "[inst]", "<<SYS>>", "</s>", "<s>", "<start_of", "<\uff5c", "\x1b", "\x00")
MUG = "Mugs are most often in the cabinet above the coffee machine."
TOWEL = "Towels hang on the rack beside the bathtub."
LEFT = lesson_id("Always go left.")


def test_nothing_ends_the_quotation_or_begins_a_line():
    lessons = [{"id": f"{n}", "text": escape_for_prompt(text)} for n, text in enumerate(HOSTILE)]
    for lesson in lessons:
        quoted = json.loads(lesson["text"])
        assert len(quoted) <= SHOWN_CHARACTERS
        assert not any(mark in quoted for mark in MARKS)
    lines = load_prompts("hotpotqa").render("recalled", lessons=lessons).splitlines()
    assert len(lines) == len(HOSTILE) + 2
    assert all(line.endswith(f": {lesson['text']}") for line, lesson in zip(lines[1:-1], lessons, strict=True))


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Open the fridge first.", "open the fridge, first", True),
        ("The mug is in drawer 1.", "The mug is in drawer 2.", False),
        ("The answer was -5.", "The answer was 5.", False),
    ],
)
def test_lessons_with_the_same_words_are_one(one, other, same):
    assert (lesson_id(one) == lesson_id(other)) is same


def test_plain_text_is_bounded_and_without_control_characters():
    text = plain("a\x00b\x1b[31m\r\n\u202ec\ud800\u200b " + "long " * 1_000_000)
    assert len(text) == 4000
    assert text.startswith("a b [31m \nc?")
    assert not set(text) & set("\x00\x1b\r\u202e\ud800\u200b")
    assert plain(" \n\t ") == ""


async def filled(store):
    lessons = LessonStore(store, "house")
    mug = source(MUG, "t1", instruction="Put a mug into the coffee machine.", observation="A kitchen with cabinets.")
    towel = source(TOWEL, "t2", instruction="Put a towel into the bathtub.", observation="A bathroom with a rack.")
    await lessons.add([mug, towel])
    return lessons


async def recalled(store, instruction, observation="", count=3, task="new", **options):
    given = {"id": task, "instruction": instruction, "kind": "look"}
    return [lesson.text for lesson in await store.recall(given, observation, count, **options)]


async def test_the_lesson_of_the_most_similar_task_comes_first():
    store = await filled(InMemoryStore())
    assert await recalled(store, "Heat a mug with coffee.") == [MUG, TOWEL], "both are of the same kind"
    assert await recalled(store, "Clean it.", "A bathroom with a sink.", count=1) == [TOWEL]
    assert await recalled(store, "Heat a mug.", task="t1", of_others=True) == [TOWEL]
    assert await store.recall({"id": "x", "instruction": "Zzyzx quux?"}, "", 3) == []


async def test_a_repeated_lesson_gets_a_source_and_the_same_trial_counts_once():
    store = await filled(InMemoryStore())
    for _ in range(2):  # a node that is run again
        await store.add([source(MUG.upper(), "t3"), source("", "t4")])
    lessons = (await store.snapshot()).lessons
    assert sorted(len(lesson.sources) for lesson in lessons.values()) == [1, 2]


@pytest.mark.parametrize("path", [None, "l.db"])
async def test_users_and_environments_are_kept_apart_whatever_their_names(path, tmp_path):
    async with open_lessons(path and tmp_path / path) as store:
        names = ["ann", "Ann", "anna", "a%", "a_n", "a.n", "a*", "everyone", "ann.lessons", "Ж" * 50, None]
        for name in names:
            await LessonStore(store, "house", name).add([source(f"This is {name!r}'s.")])
        for name in names:
            [lesson] = (await LessonStore(store, "house", name).snapshot()).lessons.values()
            assert lesson.text == f"This is {name!r}'s."
        assert not (await LessonStore(store, "hous", "ann").snapshot()).lessons
        await LessonStore(store, "my.module:House", "ann").add([source("Elsewhere.")])
        assert await environments(store) == ["house", "my.module:House"]
    with pytest.raises(ConfigurationError, match="empty"):
        LessonStore(store, "house", "")


async def test_lessons_with_the_same_score_have_a_fixed_order():
    texts, orders = ["Go left at the mill.", "Go right at the oak.", "Go back at the ford."], []
    for order in (texts, texts[::-1]):
        store = LessonStore(InMemoryStore(), "house")
        await store.add(source(text, run=text) for text in order)
        orders.append(await recalled(store, "Do what t1 says."))
    assert (orders[0], len(orders[0])) == (orders[1], 3)


def letters(texts):
    """A toy embedding: counts of letters."""
    return [[float(text.lower().count(letter)) for letter in ascii_lowercase] for text in texts]


async def test_a_store_with_an_index_is_searched_by_meaning_and_retired_lessons_are_left_out():
    store = await filled(InMemoryStore(index={"dims": 26, "embed": letters}))
    # No word is the same, and most letters are.
    assert await recalled(store, "coffeemachines mugging cabinetry kitchens", count=1) == [MUG]
    assert await recalled(store, "bathtubs toweling racks bathrooms", count=1) == [TOWEL]
    await store.add([LessonEdit(lesson=lesson_id(MUG), retired=True, date="1")])
    assert await recalled(store, "coffeemachines mugging", count=1) == [TOWEL]


@pytest.mark.parametrize(("kind", "value"), [("sources", {}), ("uses", {"lessons": None})])
async def test_an_invalid_record_is_named(kind, value):
    store = InMemoryStore()
    lessons = LessonStore(store, "house")
    await store.aput((*lessons.namespace, kind), "broken", value)
    with pytest.raises(ConfigurationError, match="'broken'"):
        await lessons.snapshot()


def snapshot(uses, edits=()):
    records = {"1": source("Always go left.")}
    return LessonSnapshot({"sources": records, "uses": dict(enumerate(uses)), "edits": dict(enumerate(edits))})


def trials(lesson, successes, failures, *, kind="look", trial=1):
    tasks = [(f"{kind}{lesson}{n}", n < successes) for n in range(successes + failures)]
    return [use(task, [lesson] if lesson else [], won, kind=kind, trial=trial) for task, won in tasks]


@pytest.mark.parametrize(
    ("with_it", "without_it", "retired"),
    [
        ((1, 9), (40, 10), True),
        ((0, 9), (50, 0), False),  # nine trials are too few
        ((1, 9), (9, 0), False),  # nine others are too few
        ((1, 9), (5, 45), False),  # no worse than the others
        ((9, 1), (10, 0), False),  # ten successes do not promise an eleventh
        ((0, 20), (0, 20), False),
    ],
)
def test_a_lesson_is_retired_where_clearly_fewer_succeed(with_it, without_it, retired):
    lesson = snapshot(trials(LEFT, *with_it) + trials("", *without_it)).lessons[LEFT]
    assert (lesson.recalled, lesson.succeeded, lesson.retired) == (sum(with_it), with_it[0], retired)


def test_a_lesson_is_compared_by_kind_of_task_and_by_first_trials():
    uses = trials(LEFT, 1, 9, kind="hard") + trials("", 1, 19, kind="hard") + trials("", 50, 0, kind="easy")
    lesson = snapshot(uses + trials(LEFT, 0, 30, kind="easy", trial=2)).lessons[LEFT]
    assert not lesson.retired
    assert lesson.expected == pytest.approx(1 / 20)


def test_a_persons_word_counts_whatever_the_numbers_say_and_the_latest_first():
    uses = trials(LEFT, 0, 30) + trials("", 40, 0)
    edits = [LessonEdit(lesson=LEFT, date=f"2026-0{month}-01", retired=month > 2) for month in (2, 3)]
    assert not snapshot(uses, edits[:1]).lessons[LEFT].retired
    assert snapshot(uses, reversed(edits)).lessons[LEFT].retired


async def test_exported_and_imported_nothing_is_lost_and_twice_nothing_is_added(tmp_path):
    store, other, path = await filled(InMemoryStore()), LessonStore(InMemoryStore(), "house"), tmp_path / "l.jsonl"
    await store.add(source(text, f"h{number}") for number, text in enumerate(HOSTILE))
    await store.add([use("t8", [lesson_id(MUG)], True), LessonEdit(lesson=lesson_id(MUG), text="Mugs.", date="1")])
    await other.add([source(TOWEL.upper(), "elsewhere")])
    await write_lessons(store, path)
    before = await store.snapshot()
    assert await add_records(other, read_records(path)) == len(before.lessons) - 1
    assert await add_records(other, read_records(path)) == 0
    assert await add_records(store, read_records(path)) == 0
    assert (await store.snapshot()).records == before.records
    after = (await other.snapshot()).lessons
    assert after[lesson_id(MUG)].text == "Mugs."
    assert after[lesson_id(TOWEL)].tasks == {"t2", "elsewhere"}


async def test_a_person_writes_a_lesson_in_a_line(tmp_path):
    path = tmp_path / "mine.jsonl"
    line = json.dumps({"kind": "sources", "value": {"text": f"\x1b[31mClose the door. {'long ' * 100_000}"}})
    path.write_text(f"\ufeff{line}\n\n")  # some editors begin a file with a mark of its encoding
    store = LessonStore(InMemoryStore(), "house")
    assert await add_records(store, read_records(path)) == 1
    [lesson] = (await store.snapshot()).lessons.values()
    assert lesson.outcomes == ["person"]
    assert len(lesson.text) <= 4000
    assert "\x1b" not in lesson.text


def test_a_bad_line_is_named(tmp_path):
    path = tmp_path / "lessons.jsonl"
    good, empty = (json.dumps({"kind": "sources", "value": value}) for value in (source(MUG).stored(), {"text": " "}))
    uses = '{"kind": "uses", "value": {"lessons": [1]}}'
    for bad in ("no json", "[1]", empty, "[" * 100_000, '{"kind": []}', uses):
        path.write_text(f"{good}\n{bad}")
        with pytest.raises(ConfigurationError, match=r"lessons\.jsonl, line 2: "):
            read_records(path)
    with pytest.raises(ConfigurationError, match=r"nothing\.jsonl"):
        read_records(tmp_path / "nothing.jsonl")


async def test_an_export_keeps_that_a_trial_without_review_has_taught_a_lesson(tmp_path):
    store, other = LessonStore(InMemoryStore(), "house"), LessonStore(InMemoryStore(), "house")
    await store.add([source(MUG, "t1", pending=True, date="2026-01"), source(MUG, "t2", date="2026-02")])
    await write_lessons(store, tmp_path / "l.jsonl")
    await add_records(other, read_records(tmp_path / "l.jsonl"))
    [lesson] = (await other.snapshot()).lessons.values()
    assert (lesson.pending, lesson.tally.sources) == (False, 2)


async def test_an_approved_lesson_is_retired_by_its_numbers_like_any_other():
    store = LessonStore(InMemoryStore(), "house")
    taught = source("Always go left.", pending=True)
    await store.add([taught, LessonEdit(lesson=LEFT, date="2026-02-01", approved=True, by="eve")])
    assert not (await store.snapshot()).lessons[LEFT].retired
    await store.add(use(f"t{number}", [LEFT], False) for number in range(30))
    await store.add(use(f"u{number}", [], True) for number in range(30))
    assert (await store.snapshot()).lessons[LEFT].retired
    # Only who restores it overrides the numbers.
    await store.add([LessonEdit(lesson=LEFT, date="2026-02-02", retired=False, by="eve")])
    assert not (await store.snapshot()).lessons[LEFT].retired


@pytest.mark.parametrize("pending", [None, True])
async def test_no_lesson_hides_others_in_a_store_with_an_index(pending):
    """Of a lesson each source is a record of the index, and so is each lesson that is not recalled."""

    def embed(texts):
        return [[1.0, float("mug" in text), float("towel" in text)] for text in texts]

    store = LessonStore(InMemoryStore(index={"dims": 3, "embed": embed}), "house")
    for number in range(40):
        text = "The mug is in the mug cabinet."
        if pending:
            text += f" It has number {number}."
        await store.add([source(text, f"t{number}", instruction="mug", observation="", pending=pending)])
    await store.add([source(TOWEL, "t50", instruction="towel", observation="")])
    await store.add([source("Look at the list first.", "t51", instruction="list", observation="")])
    found = await store.recall({"id": "new", "instruction": "mug", "kind": ""}, "", 3)
    expected = {TOWEL, "Look at the list first."}
    if not pending:
        expected.add("The mug is in the mug cabinet.")
    assert {lesson.text for lesson in found} == expected
