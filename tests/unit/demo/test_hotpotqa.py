"""The demo model's reading: names, questions and sentences, on texts of other worlds than our own."""

import pytest

from langgraph_reflexion.demo.hotpotqa.task import read_question
from langgraph_reflexion.demo.hotpotqa.world import Page, Target, Wanted, closest, find, read_library
from langgraph_reflexion.demo.prompt import Prompt, Turn


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


def test_of_similar_titles_the_one_whose_brackets_fit_is_meant():
    titles = ["Green Rain (film)", "Green Rain (song)", "Rain"]
    assert closest(titles, Target("Green Rain", "song")) == "Green Rain (song)"
    assert closest(titles, Target("Green Rain", "poem")) is None
    assert closest(["Anna Maria Ferry"], Target("Anna Ferry")) == "Anna Maria Ferry"


def test_steps_become_pages_misses_and_an_answer():
    turns = (
        Turn("", "search[Rain]", "Could not find Rain. Similar: ['Green Rain (song)', \"Noah's Rain\"]."),
        Turn("", "search[Green Rain (song)]", "Green Rain is a song. It is old."),
        Turn("", "lookup[writer]", "(Result 1 / 1) Its writer is Ann Lee."),
        Turn("", "finish[Ann Lee]", "Your answer is handed in, and the trial is over."),
    )
    library = read_library(Prompt("judge", "", "Question: Who?", turns=turns))
    assert library.missed == {"Rain": ["Green Rain (song)", "Noah's Rain"]}
    assert library.pages["Green Rain (song)"].sentences[-1] == "Its writer is Ann Lee."
    assert library.pages["Green Rain (song)"].searched_for == {"writer"}
    assert library.answer == "Ann Lee"
