"""What items come to when they are put together: numbers, repeats, retirement, and what people did."""

import pytest
from scipy.stats import fisher_exact

from langgraph_reflexion.memory.book import Book, Drawn, lower_tail
from langgraph_reflexion.memory.items import Edit, LessonItem, item_key, lesson_id, plain, repeats, words_of
from tests.lessons.made import source, use


def book(*texts, uses=(), edits=()):
    lessons = {lesson_id(text): LessonItem(text=text, about=text) for text in texts}
    sources = {f"{number}": {**source(), "lesson": key, "text": ""} for number, key in enumerate(lessons)}
    named = {item_key("uses", each, f"{number}"): each for number, each in enumerate(uses)}
    return Book({"lessons": lessons, "sources": sources, "uses": named, "edits": dict(enumerate(edits))})


def told(lesson, successes, failures, *, kind="look", trial=1):
    lessons = [lesson] if lesson else []
    return [
        use(f"{kind}{lesson}{n}", lessons, n < successes, kind=kind, trial=trial) for n in range(successes + failures)
    ]


BAD = lesson_id("Always go left.")


def test_numbers_are_counted_from_uses():
    known = book("Always go left.", uses=told(BAD, 3, 2)).lessons[BAD]
    assert (known.recalled, known.succeeded, known.retired) == (5, 3, False)


@pytest.mark.parametrize(
    ("with_it", "without_it", "retired"),
    [
        ((1, 9), (40, 10), True),
        ((0, 9), (50, 0), False),  # nine first trials are too few to say
        ((1, 9), (9, 0), False),  # and so are nine others
        ((6, 4), (40, 10), False),  # worse, and it may be chance
        ((1, 9), (5, 45), False),  # no worse than the others
        ((9, 1), (10, 0), False),  # ten others that all succeed do not say that every one would
        ((2, 8), (10, 0), True),
    ],
)
def test_a_lesson_is_retired_where_clearly_fewer_succeed(with_it, without_it, retired):
    assert book("Always go left.", uses=told(BAD, *with_it) + told("", *without_it)).lessons[BAD].retired is retired


def test_a_lesson_for_hard_tasks_is_held_against_hard_tasks():
    uses = told(BAD, 1, 9, kind="hard") + told("", 1, 19, kind="hard") + told("", 50, 0, kind="easy")
    known = book("Always go left.", uses=uses).lessons[BAD]
    assert not known.retired
    assert known.expected == pytest.approx(1 / 20)


def test_later_trials_of_tasks_that_have_failed_say_nothing():
    later = told(BAD, 0, 30, trial=2)
    assert not book("Always go left.", uses=later + told("", 40, 10)).lessons[BAD].retired


def test_the_tail_is_that_of_fishers_exact_test():
    assert lower_tail(1, [Drawn(10, 1, 50, 40)]) == pytest.approx(fisher_exact([[1, 9], [40, 10]], "less").pvalue)
    assert lower_tail(9, [Drawn(10, 9, 10, 10)]) == pytest.approx(0.5)
    assert lower_tail(20, [Drawn(10, 5, 30, 9), Drawn(10, 0, 10, 10)]) == pytest.approx(1)
    # Two kinds: what is drawn of the one says nothing of the other.
    first, second = Drawn(2, 0, 2, 2), Drawn(3, 0, 3, 3)
    assert lower_tail(0, [first, second]) == pytest.approx(lower_tail(0, [first]) * lower_tail(0, [second]))


def test_thousands_of_uses_fit_the_numbers_of_the_machine():
    assert lower_tail(900, [Drawn(2000, 900, 3000, 1500)]) == pytest.approx(
        fisher_exact([[900, 1100], [1500, 1500]], "less").pvalue, rel=1e-6
    )


def test_what_a_person_says_stands_whatever_the_numbers_say():
    uses = told(BAD, 0, 30) + told("", 40, 0)
    assert book("Always go left.", uses=uses).lessons[BAD].retired
    restored = [Edit(lesson=BAD, date="2026-02-01", retired=False)]
    assert not book("Always go left.", uses=uses, edits=restored).lessons[BAD].retired
    again = [*restored, Edit(lesson=BAD, date="2026-03-01", retired=True)]
    assert book("Always go left.", uses=uses, edits=reversed(again)).lessons[BAD].retired, "the latest counts"


def test_an_edit_changes_the_text_and_not_the_numbers():
    edited = book("Always go left.", uses=told(BAD, 2, 0), edits=[Edit(lesson=BAD, date="1", text="Go right.")])
    assert (edited.lessons[BAD].text, edited.lessons[BAD].recalled) == ("Go right.", 2)
    assert edited.like("Go right") == BAD
    assert edited.like("always go LEFT!") == BAD, "what taught it once, teaches it again"


def test_merged_lessons_share_sources_and_uses():
    other = lesson_id("Turn to the left.")
    merge = Edit(lesson=BAD, date="1", into=other)
    back = Edit(lesson=other, date="2", into=BAD)
    both = [use("t", [BAD, other], True), use("u", [BAD], False)]
    merged = book("Always go left.", "Turn to the left.", uses=both, edits=[merge, back])
    assert list(merged.lessons) == [other], "two people merged them into each other: the first has done it"
    assert (merged.lessons[other].recalled, merged.lessons[other].succeeded) == (2, 1)
    assert len(merged.lessons[other].sources) == 2
    assert merged.like("Then always go left") == other, "what was given up is known all the same"
    nowhere = Edit(lesson=BAD, date="1", into="0" * 16)
    assert list(book("Always go left.", edits=[nowhere]).lessons) == [BAD], "there is nothing to merge it into"


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Open the fridge first.", "open the fridge, first", True),
        (
            "I should have opened the drawers, then the fridge.",
            "I should open the drawers and then the fridge.",
            False,
        ),
        ("The mug was in the drawers.", "The mug is in a drawer.", False),
        ("Then open the drawer, so that it is open.", "Open the drawer, so it is open.", True),
        ("The mug is in drawer 1.", "The mug is in drawer 2.", False),
        ("Do open the fridge.", "Do not open the fridge.", False),
        ("Search for Rome Protocols.", "Search for Rome Statute.", False),
        ("Take the knife before the apple.", "Take the apple before the knife.", False),
        ("Test that x > y.", "Test that x >= y.", False),
        ("!!!", "It was so", False),
        ("The answer was -5.", "The answer was 5.", False),
        ("It is a well-known page.", "It is a well known page!", True),
    ],
)
def test_what_repeats_what(one, other, same):
    assert repeats(words_of(one), words_of(other)) is same


def test_plain_text_is_bounded_and_without_control_characters():
    text = plain("a\x00b\x1b[31m\r\n\u202ec\ud800\u200b " + "long " * 1_000_000)
    assert len(text) == 4000
    assert text.startswith("a b [31m \nc?")
    assert not set(text) & set("\x00\x1b\r\u202e\ud800\u200b")
    assert plain(" \n\t ") == ""
