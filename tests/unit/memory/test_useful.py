"""Useless reflections are recognized by their words."""

import pytest

from langgraph_reflexion.memory.useful import was_rejected, whole_sentences, why_useless

NOTE = "Wrong: the line has 11 words, and nine are wanted. Next time: leave two words out."
SEEN = "Write a line of nine words about rain.\nIt has 11 words."


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("I'm sorry, but I cannot assist with that.", "refuses"),
        ("I can\u2019t provide a reflection without more details.", "refuses"),
        ("", "cut off"),
        ("None.", "says nothing"),
        (NOTE.replace("two words", "a word"), "repeats"),
        ("The reflection is incomplete, as this trial lacks what a reflection should state.", "speaks of"),
    ],
)
def test_a_useless_reflection_is_found(text, why):
    assert why in why_useless(text, [NOTE], SEEN)


@pytest.mark.parametrize(
    "text",
    [
        "It was not 2.",
        NOTE.replace("11", "12"),
        "The check did not help: I cannot tell words from signs, so I count them first.",
        "My reflection on this trial: the line about rain was too long.",
        "我下次要先打开柜子二",
        "次回は最初に引き出しを開ける",
    ],
)
def test_a_reflection_on_the_task_is_none(text):
    assert why_useless(text, [NOTE], SEEN) is None


def test_a_reflection_that_repeats_the_request_is_found():
    request = "Write 40 to 80 words in whole sentences: what the check did not accept, and what caused it."
    parroted = "In whole sentences: what the check did not accept, and what caused it, is to leave two words out."
    assert "repeats the request" in why_useless(parroted, [], SEEN, request)
    assert why_useless(NOTE, [], SEEN, request) is None


def test_a_note_is_a_copy_from_four_fifths_of_its_words_on():
    ten = "one two three four five six seven eight nine ten"
    assert "repeats" in why_useless(ten.replace("nine ten", "neun zehn"), [ten], "")
    assert why_useless(ten.replace("eight nine ten", "acht neun zehn"), [ten], "") is None


def test_of_a_cut_reflection_whole_sentences_are_left():
    assert whole_sentences("It was 2.5 too long. Next time I") == "It was 2.5 too long."
    assert whole_sentences("Next time I will") == ""


def test_a_script_without_spaces_has_words_and_sentences_too():
    note = "我下次要先打开柜子二再拿苹果"
    assert "repeats" in why_useless(note.replace("苹果", "杯子"), [note], "")
    assert why_useless("先去水槽洗干净勺子", [note], "") is None
    assert "says nothing" in why_useless("无", [], "")
    assert whole_sentences("先打开柜子二。再拿") == "先打开柜子二。"


def test_only_a_second_useless_reflection_leaves_none():
    assert not was_rejected(["reflection rejected: it says nothing"])
    assert was_rejected(["reflection rejected: it says nothing: none is kept, and the check's words stand alone"])
