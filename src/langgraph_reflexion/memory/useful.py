"""Useless reflections, told by their words alone: no model is asked."""

import re
from collections.abc import Sequence

from langgraph_reflexion.models.recorded import REJECTED as REJECTED
from langgraph_reflexion.support.copies import NEAR_COPY, similarity, words_of

STANDS_ALONE = "none is kept, and the check's words stand alone"
"""What the note on a second useless reflection on one trial says."""
PARROTED = 0.3
"""A note repeats the request for it if this share of its runs of five words, or more, is in that request."""
RUN = 5
"""Words of such a run."""
FEWEST_WORDS = 2
"""A reply of fewer words says nothing."""

_REFUSAL = re.compile(
    r"\b(?:sorry|cannot|can[\u2019']?t|can not|unable)\b.*\b(?:assist|provide|help)\b", re.IGNORECASE | re.DOTALL
)
_REFUSAL_WITHIN = 80
_FORM = re.compile(r"\b(?:reflections?|trials?|notes?)\b", re.IGNORECASE)
_NUMBER = re.compile(r"\d+")
_COMMON_WORDS = """
    about after again before could does done from have into just more most only other should some such
    than that their them then there these they thing things this time very wait were what when where
    which will with would your answer attempt failed next note notes reflection reflections task trial
    trials write wrong
"""
_COMMON = frozenset(_COMMON_WORDS.split())
_LONG = 4
"""Characters from which on a word may name something."""
# Chinese and Japanese put no space after a full stop; Hindi's and Urdu's have signs of their own.
_SENTENCE_END = re.compile(r"[.!?\u0964\u06d4\u061f][\"')\]*]*(?=\s|\Z)|[\u3002\uff01\uff1f]+")


def whole_sentences(text: str) -> str:
    """Return a text that was cut, up to its last whole sentence; empty if it has none."""
    ends = [found.end() for found in _SENTENCE_END.finditer(text)]
    if not ends:
        return ""
    return text[: ends[-1]]


def why_useless(text: str, earlier: Sequence[str], seen: str, request: str = "") -> str | None:
    """Return why a reflection is of no use; None if nothing is found against it.

    Args:
        text: The reflection as it would be kept; empty if it was cut off before the end of its first sentence.
        earlier: The reflections that are kept.
        seen: The task, the trial and the check's words.
        request: The instruction that asked for the reflection.
    """
    if not text:
        return "it was cut off before its first sentence ended"
    # Only at the beginning, where a model refuses: a reflection may quote a refusal further on.
    if _REFUSAL.search(text[:_REFUSAL_WITHIN]):
        return "it refuses to say anything"
    if len(words_of(text)) < FEWEST_WORDS:
        return "it says nothing"
    if any(_adds_nothing(text, other) for other in earlier):
        return "it repeats an earlier one"
    runs = _runs(text)
    parroted = runs & _runs(request)
    # A text of fewer words than a run has none.
    if runs and len(parroted) / len(runs) >= PARROTED:
        return "it repeats the request for it"
    # One such word is not a sign of it: a good reflection may say "in the next trial".
    speaks_of_form = len(_FORM.findall(text)) >= 2
    if speaks_of_form and not _content(text) & _content(seen):
        return "it speaks of the reflection and not of the task"
    return None


def _adds_nothing(text: str, earlier: str) -> bool:
    # "Next time I open cabinet 2" is not a copy of "Next time I open cabinet 1".
    new_numbers = set(_NUMBER.findall(text)) - set(_NUMBER.findall(earlier))
    return not new_numbers and similarity(text, earlier) >= NEAR_COPY


def was_rejected(notes: Sequence[str]) -> bool:
    """Return whether a trial's notes say that no useful reflection on it was written."""
    return any(note.startswith(REJECTED) and note.endswith(STANDS_ALONE) for note in notes)


def _runs(text: str) -> set[tuple[str, ...]]:
    words = words_of(text)
    starts = range(len(words) - RUN + 1)
    return {tuple(words[start : start + RUN]) for start in starts}


def _content(text: str) -> set[str]:
    long = {word for word in words_of(text) if len(word) >= _LONG}
    return long - _COMMON
