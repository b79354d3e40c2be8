"""Texts that say the same: notes that are alike, and answers that are equal."""

import hashlib
import re
from collections.abc import Sequence
from difflib import SequenceMatcher

NEAR_COPY = 0.8
"""The similarity of two notes, as sequences of words, from which on one is a copy of the other."""
REPEATED = 0.8
"""The share of two notes' different words that both have, from which on the later one repeats the earlier one."""

# Chinese and Japanese, Thai, Lao, Khmer and Burmese are written without spaces between words.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
WORD = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")
"""A word with its numbers."""
# "cabinet 2" and "cabinet 1" are the same word here.
_WORD_OF_LETTERS = re.compile(rf"[{_UNSPACED}]|[^\W\d_{_UNSPACED}]+")


def words_of(text: str) -> list[str]:
    """Return the words of a text in order, without regard to case.

    Where a script has no spaces between words, each character counts as one.
    """
    return WORD.findall(text.casefold())


def similarity(text: str, other: str) -> float:
    """Return how alike two notes are as sequences of words, from 0 to 1."""
    return SequenceMatcher(None, words_of(text), words_of(other), autojunk=False).ratio()


def repeats(text: str, earlier: Sequence[str]) -> bool:
    """Return whether a note has at least 80% of its words in common with one of the earlier notes.

    It is the Jaccard similarity of the two sets of words: of all the different words of both notes, the share that
    both have. Words are runs of letters, without regard to case; numbers and the order do not count.
    """
    words = _different_words(text)
    return any(_shared(words, _different_words(other)) >= REPEATED for other in earlier)


def _different_words(text: str) -> set[str]:
    return set(_WORD_OF_LETTERS.findall(text.casefold()))


def _shared(words: set[str], others: set[str]) -> float:
    """Return the share of the words in either set that are in both; 0 if there are none."""
    either = words | others
    if not either:
        return 0.0
    return len(words & others) / len(either)


def digest_of(answer: str) -> str:
    """Return what tells an answer from others, whatever its spaces."""
    words = " ".join(answer.split())
    return hashlib.blake2b(words.encode("utf-8", "replace"), digest_size=8).hexdigest()
