import pytest

from langgraph_reflexion.envs.hotpotqa.grading import exact_match, overlap


@pytest.mark.parametrize(
    ("answer", "gold", "right"),
    [
        ("the Ket River.", "Ket river", True),
        ("U.S.A.", "usa", True),
        ("rock-and-roll", "rockandroll", True),
        ("Yes, both", "yes", False),
        ("8\u20139", "8-9", False),
        ("Beyonc\u00e9", "Beyonce", False),
        (None, "", False),
    ],
)
def test_only_case_punctuation_and_articles_do_not_matter(answer, gold, right):
    assert exact_match(answer, gold) is right


@pytest.mark.parametrize(
    ("answer", "gold", "f1", "precision", "recall"),
    [
        ("the river Ket", "Ket", 2 / 3, 1 / 2, 1),
        ("Ket", "river Ket in the north", 2 / 5, 1, 1 / 4),
        ("Ket Ket", "Ket", 2 / 3, 1 / 2, 1),
        ("yes and no", "yes", 0, 0, 0),
        ("Yes!", "yes", 1, 1, 1),
        ("the", "The", 0, 0, 0),
    ],
)
def test_f1_counts_shared_words_but_for_yes_and_no(answer, gold, f1, precision, recall):
    assert overlap(answer, gold) == pytest.approx((f1, precision, recall))
