"""Exact match and F1 as in HotPotQA's official evaluation.

As there, dashes and accents count, and `Yes, both` is not `yes`. The one difference: no answer is never right, not
even if the right answer is "The", which is empty without articles.
"""

import re
import string
from collections import Counter
from typing import NamedTuple

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_CLOSED = {"yes", "no", "noanswer"}


class Overlap(NamedTuple):
    """The overlap of the words of two answers."""

    f1: float
    precision: float
    recall: float


_NONE = Overlap(0.0, 0.0, 0.0)


def normalize(answer: str) -> str:
    """Return an answer in lower case, without ASCII punctuation, articles and surplus blanks."""
    plain = answer.lower().translate(_PUNCTUATION)
    without_articles = re.sub(r"\b(a|an|the)\b", " ", plain)
    return " ".join(without_articles.split())


def answered(answer: str | None) -> bool:
    """Return whether there is an answer."""
    return bool(answer and answer.strip())


def exact_match(answer: str | None, gold: str) -> bool:
    """Return whether an answer is right, without regard to case, punctuation and articles."""
    if answer is None or not answered(answer):
        return False
    return normalize(answer) == normalize(gold)


def overlap(answer: str | None, gold: str) -> Overlap:
    """Return F1 of an answer's words and the right one's; 0 or 1 if either is yes, no or noanswer."""
    if answer is None or not answered(answer):
        return _NONE
    given = normalize(answer)
    right = normalize(gold)
    if given != right and (given in _CLOSED or right in _CLOSED):
        return _NONE
    given_words = given.split()
    right_words = right.split()
    # A word that is twice in both counts twice.
    common = Counter(given_words) & Counter(right_words)
    shared = common.total()
    if not shared:
        return _NONE
    precision = shared / len(given_words)
    recall = shared / len(right_words)
    f1 = 2 * precision * recall / (precision + recall)
    return Overlap(f1, precision, recall)
