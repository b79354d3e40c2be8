"""Near copies: two texts that say almost the same, word for word."""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

NEAR_COPY = 0.8
"""The similarity of two notes, as sequences of words, from which on one is a copy of the other."""

# Chinese and Japanese, Thai, Lao, Khmer and Burmese are written without spaces between words.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")


def words_of(text: str) -> list[str]:
    """Return the words of a text in order, without regard to case.

    Where a script has no spaces between words, each character counts as one.
    """
    return _WORD.findall(text.casefold())


def similarity(text: str, other: str) -> float:
    """Return how alike two notes are as sequences of words, from 0 to 1."""
    return SequenceMatcher(None, words_of(text), words_of(other), autojunk=False).ratio()


def is_near_copy(text: str, earlier: Sequence[str]) -> bool:
    """Return whether a note says almost word for word what an earlier one says."""
    return any(similarity(text, other) >= NEAR_COPY for other in earlier)
