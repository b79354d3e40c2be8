"""The demo model's reading: names, questions and sentences, on texts of other worlds than our own."""

import pytest

from langgraph_reflexion.demo.hotpotqa.task import read_question
from langgraph_reflexion.demo.hotpotqa.world import Page, Target, Wanted, find


def page(title, text):
    made = Page(title)
    made.add(text)
    return made


FERRY = page(
    "Anna Ferry (painter)",
    "Anna Ferry (1801-1877) was a painter. She lived in Bath for years. Ferry was born in Ely in the county of Kent. "
    "In 1830 Ferry won the Oak Medal. Ferry studied under the sculptor Ben Stone.",
)


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (Wanted("town", ("born",)), Target("Ely", "", "Kent")),
        (Wanted("medal", ("win",)), Target("Oak Medal")),
        (Wanted("person", ("study",)), Target("Ben Stone", "sculptor")),
        (Wanted("year", ("born",), number=True), Target("1801")),
        (Wanted("daughter", ("named",)), None),
    ],
)
def test_the_sentence_that_has_the_words_says_it(wanted, found):
    assert find(FERRY, wanted) == found


@pytest.mark.parametrize(
    ("question", "targets", "hops"),
    [
        (
            "Which band does the singer who wrote the song Green Rain belong to?",
            ["Green Rain"],
            [("singer", ("wrote",)), ("band", ("belong",))],
        ),
        (
            "How many people live in the city where the actor Tom Hale died?",
            ["Tom Hale"],
            [("city", ("died",)), ("people", ("live",))],
        ),
        ("When was the Bridge of Sighs built?", ["Bridge of Sighs"], [("year", ("built",))]),
    ],
)
def test_a_relative_clause_is_asked_first(question, targets, hops):
    asked = read_question(question)
    assert [target.name for target in asked.targets] == targets
    assert [(hop.kind, hop.words) for hop in asked.hops] == hops
    assert asked.choice == ""


@pytest.mark.parametrize(
    ("question", "targets", "choice", "closed"),
    [
        ("Which lake is deeper, the Ida or the Una?", ["Ida", "Una"], "lowest", False),
        ("Which lake is larger, the Ida or the Una?", ["Ida", "Una"], "highest", False),
        ("Were Tom Hale and Ann Lee of the same nationality?", ["Tom Hale", "Ann Lee"], "same", True),
        ("Do Bath in the county of Kent and Ely have the same mayor?", ["Bath", "Ely"], "same", True),
    ],
)
def test_two_things_are_compared(question, targets, choice, closed):
    asked = read_question(question)
    assert [target.name for target in asked.targets] == targets
    assert asked.closed == closed
    assert asked.choice == choice
