"""What records add up to: numbers, duplicates, retirement, and a person's edits."""

import pytest
from scipy.stats import fisher_exact

from langgraph_reflexion import ConfigurationError
from langgraph_reflexion.memory.records import LessonEdit, LessonText, lesson_id
from langgraph_reflexion.memory.snapshot import Contingency, LessonSnapshot, fisher_lower_tail
from tests.support.lessons import source, use


def snapshot(*texts, uses=(), edits=()):
    lessons = {lesson_id(text): LessonText(text=text, about=text) for text in texts}
    sources = {f"{number}": source("", lesson=key) for number, key in enumerate(lessons)}
    named = {each.key(f"{number}"): each for number, each in enumerate(uses)}
    return LessonSnapshot({"lessons": lessons, "sources": sources, "uses": named, "edits": dict(enumerate(edits))})


def trials(lesson, successes, failures, *, kind="look", trial=1):
    lessons = [lesson] if lesson else []
    return [
        use(f"{kind}{lesson}{n}", lessons, n < successes, kind=kind, trial=trial) for n in range(successes + failures)
    ]


LEFT = lesson_id("Always go left.")


def test_numbers_are_counted_from_uses():
    lesson = snapshot("Always go left.", uses=trials(LEFT, 3, 2)).lessons[LEFT]
    assert (lesson.recalled, lesson.succeeded, lesson.retired) == (5, 3, False)


@pytest.mark.parametrize(
    ("with_it", "without_it", "retired"),
    [
        pytest.param((1, 9), (40, 10), True, id="clearly worse"),
        pytest.param((0, 9), (50, 0), False, id="nine trials are too few"),
        pytest.param((1, 9), (9, 0), False, id="nine others are too few"),
        pytest.param((6, 4), (40, 10), False, id="worse, perhaps by chance"),
        pytest.param((1, 9), (5, 45), False, id="no worse than the others"),
        pytest.param((9, 1), (10, 0), False, id="ten successes do not promise an eleventh"),
        pytest.param((2, 8), (10, 0), True, id="clearly worse than a few"),
    ],
)
def test_a_lesson_is_retired_where_clearly_fewer_succeed(with_it, without_it, retired):
    uses = trials(LEFT, *with_it) + trials("", *without_it)
    assert snapshot("Always go left.", uses=uses).lessons[LEFT].retired is retired


def test_a_lesson_is_compared_by_kind_of_task():
    uses = trials(LEFT, 1, 9, kind="hard") + trials("", 1, 19, kind="hard") + trials("", 50, 0, kind="easy")
    lesson = snapshot("Always go left.", uses=uses).lessons[LEFT]
    assert not lesson.retired
    assert lesson.expected == pytest.approx(1 / 20)


def test_a_kind_with_few_other_trials_is_compared_with_all_others():
    uses = trials(LEFT, 1, 9, kind="rare") + trials("", 1, 8, kind="rare") + trials("", 40, 1, kind="easy")
    lesson = snapshot("Always go left.", uses=uses).lessons[LEFT]
    assert lesson.expected == pytest.approx(41 / 50)
    assert lesson.retired


def test_later_trials_do_not_count():
    later = trials(LEFT, 0, 30, trial=2)
    assert not snapshot("Always go left.", uses=later + trials("", 40, 10)).lessons[LEFT].retired


def test_the_tail_is_that_of_fishers_exact_test():
    one = Contingency(10, 1, 50, 40)
    assert fisher_lower_tail(1, [one]) == pytest.approx(fisher_exact([[1, 9], [40, 10]], "less").pvalue)
    assert fisher_lower_tail(9, [Contingency(10, 9, 10, 10)]) == pytest.approx(0.5)
    assert fisher_lower_tail(20, [Contingency(10, 5, 30, 9), Contingency(10, 0, 10, 10)]) == pytest.approx(1)
    first, second = Contingency(2, 0, 2, 2), Contingency(3, 0, 3, 3)
    both = fisher_lower_tail(0, [first]) * fisher_lower_tail(0, [second])
    assert fisher_lower_tail(0, [first, second]) == pytest.approx(both)
    many = fisher_exact([[900, 1100], [1500, 1500]], "less").pvalue
    assert fisher_lower_tail(900, [Contingency(2000, 900, 3000, 1500)]) == pytest.approx(many, rel=1e-6)


def test_a_persons_word_counts_whatever_the_numbers_say():
    uses = trials(LEFT, 0, 30) + trials("", 40, 0)
    assert snapshot("Always go left.", uses=uses).lessons[LEFT].retired
    edits = [LessonEdit(lesson=LEFT, date="2026-02-01", retired=False)]
    assert not snapshot("Always go left.", uses=uses, edits=edits).lessons[LEFT].retired
    edits.append(LessonEdit(lesson=LEFT, date="2026-03-01", retired=True))
    assert snapshot("Always go left.", uses=uses, edits=reversed(edits)).lessons[LEFT].retired, "the latest counts"


def test_an_edit_changes_the_text_and_not_the_numbers():
    edit = LessonEdit(lesson=LEFT, date="1", text="Go right.")
    edited = snapshot("Always go left.", uses=trials(LEFT, 2, 0), edits=[edit])
    assert (edited.lessons[LEFT].text, edited.lessons[LEFT].recalled) == ("Go right.", 2)
    assert edited.find_duplicate("Go right") == edited.find_duplicate("always go LEFT!") == LEFT


def test_merged_lessons_share_sources_and_uses():
    other = lesson_id("Turn to the left.")
    edits = [LessonEdit(lesson=LEFT, date="1", into=other), LessonEdit(lesson=other, date="2", into=LEFT)]
    uses = [use("t", [LEFT, other], True), use("u", [LEFT], False)]
    merged = snapshot("Always go left.", "Turn to the left.", uses=uses, edits=edits)
    assert list(merged.lessons) == [other], "of two people who merge them into each other, the first one wins"
    lesson = merged.lessons[other]
    assert (lesson.recalled, lesson.succeeded, len(lesson.sources)) == (2, 1, 2)
    assert merged.find_duplicate("Then always go left") == other
    nowhere = LessonEdit(lesson=LEFT, date="1", into="0" * 16)
    assert list(snapshot("Always go left.", edits=[nowhere]).lessons) == [LEFT]


def test_near_duplicates_are_paired():
    texts = ["Go left at the mill.", "At the old mill, go left.", "Knives lie on the counter."]
    [(one, other, ratio)] = snapshot(*texts).near_duplicates()
    assert {one.text, other.text} == set(texts[:2])
    assert 85 <= ratio < 100


def test_a_lesson_is_found_by_the_beginning_of_its_id():
    known = snapshot("Always go left.")
    assert known.find(LEFT[:8]).id == known.find(LEFT).id == LEFT
    for wrong in ("", "zzz"):
        with pytest.raises(ConfigurationError, match="no lessons"):
            known.find(wrong)
