"""Exact match and F1, as the official evaluation has them."""

import pytest

from langgraph_reflexion.envs.hotpotqa.grading import exact_match, overlap


@pytest.mark.parametrize(
    ("answer", "gold"),
    [
        ("the Ket River.", "Ket river"),
        ("  An   apple ", "apple"),
        ("1,234", "1234"),
        ("Yes.", "yes"),
        ("U.S.A.", "usa"),
        ("rock-and-roll", "rockandroll"),
        ("A", "An"),
        ("Theatre", "theatre"),
    ],
)
def test_case_punctuation_and_articles_do_not_matter(answer, gold):
    assert exact_match(answer, gold)


@pytest.mark.parametrize(
    ("answer", "gold"),
    [
        ("Yes, both", "yes"),
        ("8\u20139", "8-9"),
        ("Beyonc\u00e9", "Beyonce"),
        ("Ket", "Kett"),
        ("", "The"),
        (" ", "The"),
        (None, "The"),
        (None, ""),
    ],
)
def test_everything_else_does_and_what_is_not_answered_is_not_right(answer, gold):
    assert not exact_match(answer, gold)


@pytest.mark.parametrize(
    ("answer", "gold", "f1", "precision", "recall"),
    [
        ("the river Ket", "Ket", 2 / 3, 1 / 2, 1),
        ("Ket", "river Ket in the north", 2 / 5, 1, 1 / 4),
        ("Ket Ket", "Ket", 2 / 3, 1 / 2, 1),
        ("Ob", "Ket", 0, 0, 0),
        ("yes and no", "yes", 0, 0, 0),
        ("no", "no way", 0, 0, 0),
        ("noanswer", "yes", 0, 0, 0),
        ("Yes!", "yes", 1, 1, 1),
        (None, "Ket", 0, 0, 0),
        ("the", "The", 0, 0, 0),
    ],
)
def test_f1_counts_shared_words_but_for_yes_and_no(answer, gold, f1, precision, recall):
    assert overlap(answer, gold) == pytest.approx((f1, precision, recall))
