"""Texts of lessons: bounded, compared, and escaped for prompts."""

import json

import pytest

from langgraph_reflexion.memory.records import (
    SHOWN_CHARACTERS,
    escape_for_prompt,
    plain,
    same_lesson,
    words_of,
)
from langgraph_reflexion.prompts import load_prompts
from tests.support.lessons import HOSTILE

MARKS = ("<|", "[INST]", "[inst]", "<<SYS>>", "</s>", "<s>", "<start_of", "<\uff5c", "\x1b", "\x00")


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_ends_the_quotation_or_begins_a_line(text):
    line = escape_for_prompt(text)
    assert len(line.splitlines()) == 1
    quoted = json.loads(line)
    assert len(quoted) <= SHOWN_CHARACTERS
    assert not any(mark in quoted for mark in MARKS)


def test_the_prompt_has_one_line_for_each_lesson():
    lessons = [{"id": f"{n}", "text": escape_for_prompt(text)} for n, text in enumerate(HOSTILE)]
    lines = load_prompts("hotpotqa").render("recalled", lessons=lessons).split("\n")
    assert len(lines) == len(HOSTILE) + 2
    assert all(line.endswith(f": {lesson['text']}") for line, lesson in zip(lines[1:-1], lessons, strict=True))


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Open the fridge first.", "open the fridge, first", True),
        ("I should have opened the drawers, then the fridge.", "I should open the drawers and the fridge.", False),
        ("The mug was in the drawers.", "The mug is in a drawer.", False),
        ("Then open the drawer, so that it is open.", "Open the drawer, so it is open.", True),
        ("The mug is in drawer 1.", "The mug is in drawer 2.", False),
        ("Do open the fridge.", "Do not open the fridge.", False),
        ("Take the knife before the apple.", "Take the apple before the knife.", False),
        ("Test that x > y.", "Test that x >= y.", False),
        ("!!!", "It was so", False),
        ("The answer was -5.", "The answer was 5.", False),
        ("It is a well-known page.", "It is a well known page!", True),
    ],
)
def test_duplicates_have_the_same_words_in_nearly_the_same_order(one, other, same):
    assert same_lesson(words_of(one), words_of(other)) is same


def test_plain_text_is_bounded_and_without_control_characters():
    text = plain("a\x00b\x1b[31m\r\n\u202ec\ud800\u200b " + "long " * 1_000_000)
    assert len(text) == 4000
    assert text.startswith("a b [31m \nc?")
    assert not set(text) & set("\x00\x1b\r\u202e\ud800\u200b")
    assert plain(" \n\t ") == ""
