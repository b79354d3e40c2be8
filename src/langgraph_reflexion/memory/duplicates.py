"""Near-duplicates among lessons, told by their words alone: no model is asked."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

from langgraph_reflexion.memory.records import words_and_signs
from langgraph_reflexion.memory.snapshot import Lesson, LessonSnapshot

SHARE = 0.85
"""A lesson repeats another one if it has at least this share of that one's words, all in the same order."""

_TURNING = """
    not no never none neither nor without cannot dont t un nt only except unless instead avoid stop if
    nicht kein keine nie ohne nur ne pas jamais sans non mai senza sin nunca sem não нет не ни без
    always left right up down top bottom before after first last open opened close closed on off in out
    more less most least above below over under higher lower increase decrease add remove start end
    true false yes all any some
"""
_TURNS = frozenset(_TURNING.split())
"""Words that turn the meaning of a sentence."""


@dataclass(frozen=True)
class _Said:
    """The words of a lesson as it was taught."""

    lesson: Lesson

    @cached_property
    def words(self) -> list[str]:
        return [word.casefold() for word in self._as_written]

    @cached_property
    def decisive(self) -> tuple[str, ...]:
        """Its numbers, signs, names and words that turn the meaning, in order: where they differ, so do lessons."""
        return tuple(word.casefold() for word in self._as_written if _is_decisive(word))

    @cached_property
    def _as_written(self) -> list[str]:
        # The text of the lesson itself may be that of a person, who has changed it since.
        return words_and_signs(self.lesson.sources[0].text)


def _is_decisive(word: str) -> bool:
    if word.casefold() in _TURNS:
        return True
    # Signs, numbers, and names such as `drawer_2` are not plain. A capital counts as a name, even where it merely
    # begins a sentence.
    is_plain = word.isalpha() and word == word.lower()
    return not is_plain


def repeated(snapshot: LessonSnapshot, taught: Collection[str]) -> dict[str, str]:
    """Return the lessons that say no more than another one does, each with the id of that one.

    The one that says more is kept, so no word is lost. Lessons that a person has yet to approve are not compared.

    Args:
        snapshot: All lessons.
        taught: The ids of those that are compared with the others.
    """
    # Only lessons with the same decisive words can repeat each other, so each is compared with few.
    alike: defaultdict[tuple[str, ...], list[_Said]] = defaultdict(list)
    for lesson in snapshot.live:
        if lesson.pending:
            continue
        said = _Said(lesson)
        alike[said.decisive].append(said)
    found: dict[str, str] = {}
    for group in alike.values():
        for new in group:
            if new.lesson.id not in taught:
                continue
            for other in group:
                # The first that says more is enough: if it is merged as well, merges are followed to their end.
                if _repeats(new, other):
                    found.setdefault(new.lesson.id, other.lesson.id)
                elif _repeats(other, new):
                    found.setdefault(other.lesson.id, new.lesson.id)
    return found


def _repeats(one: _Said, other: _Said) -> bool:
    """Return whether a lesson says nothing that the other one does not say as well."""
    few = len(one.words)
    many = len(other.words)
    # Of the same length they would be one lesson already, as the words are its id.
    is_shorter = few < many
    says_nearly_all = few >= SHARE * many
    if not is_shorter or not says_nearly_all:
        return False
    # What a person wrote or changed is never merged into another lesson.
    if one.lesson.by_person:
        return False
    return _in_order(one.words, other.words)


def _in_order(few: Sequence[str], many: Sequence[str]) -> bool:
    """Return whether words occur among others in the same order."""
    rest = iter(many)
    # Each search goes on behind the word that was found before.
    return all(word in rest for word in few)


def is_same(one: Lesson, other: Lesson) -> bool:
    """Return whether two lessons that a store's index finds alike have the same numbers, signs, names and turns."""
    return _Said(one).decisive == _Said(other).decisive
