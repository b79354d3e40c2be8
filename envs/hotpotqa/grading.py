"""How answers are graded: exact match and F1 as HotPotQA's official evaluation defines them.

Scores are the strict official ones: dashes and accents are not folded, and `Yes, both` is not `yes`. The one
difference: what was never answered is never right, not even where the right answer is "The", which is nothing
once articles are gone.
"""

import re
import string
from collections import Counter
from typing import NamedTuple

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_CLOSED = {"yes", "no", "noanswer"}


class Overlap(NamedTuple):
    """How many words two answers share."""

    f1: float
    precision: float
    recall: float


_NONE = Overlap(0.0, 0.0, 0.0)


def normalize(answer: str) -> str:
    """An answer in small letters, without ASCII punctuation, articles and surplus blanks."""
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", answer.lower().translate(_PUNCTUATION)).split())


def answered(answer: str | None) -> bool:
    """Whether there is an answer at all."""
    return bool(answer and answer.strip())


def exact_match(answer: str | None, gold: str) -> bool:
    """Whether an answer is the right one, but for case, punctuation and articles.

    Args:
        answer: The answer; None where none was given.
        gold: The right one.
    """
    return answer is not None and answered(answer) and normalize(answer) == normalize(gold)


def overlap(answer: str | None, gold: str) -> Overlap:
    """F1 of the words of an answer and those of the right one; the arguments are those of `exact_match`.

    Where either is yes, no or noanswer, all or nothing.
    """
    if answer is None or not answered(answer):
        return _NONE
    said, right = normalize(answer), normalize(gold)
    if said != right and _CLOSED & {said, right}:
        return _NONE
    shared = (Counter(said.split()) & Counter(right.split())).total()
    if not shared:
        return _NONE
    precision, recall = shared / len(said.split()), shared / len(right.split())
    return Overlap(2 * precision * recall / (precision + recall), precision, recall)
