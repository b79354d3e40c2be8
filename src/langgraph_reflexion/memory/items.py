"""What a store holds of lessons: items that are only ever added, each under a key that its content gives.

Nothing is counted in place. How often a lesson was learned, recalled and followed by success is the number of such
items, so that processes which write at the same time lose nothing, and a node that is run again writes the same.
"""

import hashlib
import json
import re
import threading
import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Literal, Required, TypedDict, get_type_hints

from rapidfuzz import fuzz
from Stemmer import Stemmer

Part = Literal["lessons", "sources", "uses", "edits"]
"""The kinds of items."""

LONGEST = 4000
"""How many characters of a text are kept."""

ALIKE = 90.0
"""How alike, of 100, two texts have to be besides having the same words, so that one repeats the other."""

_FILLERS = frozenset(
    ["a", "an", "and", "i", "it", "my", "of", "so", "that", "the", "then", "this", "to", "was", "were"]
)
_SAID = re.compile(r"\w+|!=|[<>=+]+|(?<![\w)])-(?=\d)")
"""Words, and the signs that change what is said of numbers."""

_stemmers = threading.local()
_UNSEEN = re.compile(r"[^\S\n]|[\u0000-\u0009\u000b-\u001f\u007f-\u009f]")


class LessonItem(TypedDict):
    """A lesson. Its key is the hash of its words."""

    text: str
    about: str
    """What it is found by, where the store has an index of its own."""


class Source(TypedDict):
    """Where a lesson is from: one for each trial that taught it. Without any, a lesson is none."""

    lesson: str
    """The lesson's id."""
    text: str
    """The lesson as this trial had it."""
    outcome: str
    """`failure` or `success`: how the trial ended; `person` where somebody wrote it."""
    task: str
    """The task's id."""
    kind: str
    """The task's kind; may be empty."""
    instruction: str
    """What the task was."""
    observation: str
    """What was seen first, which tells a place that was met before."""
    trial: int
    """Counted from 1."""
    profile: str
    model: str
    """What wrote it."""
    step: int
    """The number of the step that it speaks of most; 0 where there is none."""
    evidence: str
    """That step."""
    run: str
    """The thread of the run."""
    date: str


class Use(TypedDict):
    """A trial, and the lessons that it was told."""

    lessons: list[str]
    """Their ids; none where nothing was recalled, which is what the others are held against."""
    success: bool
    """What the verdict was."""
    task: str
    kind: str
    trial: int
    run: str
    date: str


class Edit(TypedDict, total=False):
    """What a person did to a lesson. Of edits that say the same kind of thing the latest counts."""

    lesson: Required[str]
    date: Required[str]
    text: str
    """What it says from now on."""
    retired: bool
    """Whether it is recalled no more."""
    into: str
    """The lesson that it was merged into."""


FIELDS: dict[str, Any] = {"lessons": LessonItem, "sources": Source, "uses": Use, "edits": Edit}
TYPES: dict[Any, type] = {str: str, int: int, bool: bool, list[str]: list}


def checked(part: Part, value: Mapping[str, Any]) -> dict[str, Any]:
    """What an item says, and nothing besides.

    Raises:
        ValueError: a field is missing, or of the wrong kind.
    """
    kept: dict[str, Any] = {}
    for name, type_ in get_type_hints(FIELDS[part]).items():
        if name not in value and name not in FIELDS[part].__required_keys__:
            continue
        given = value.get(name)
        right = isinstance(given, TYPES[type_]) and (type_ is bool or not isinstance(given, bool))
        if not right or (isinstance(given, list) and not all(isinstance(each, str) for each in given)):
            raise ValueError(f"its {name!r} is missing or of the wrong kind")
        kept[name] = given
    return kept


def plain(text: str, longest: int = LONGEST) -> str:
    """A text that can be kept and shown: without control and format characters, and not longer than so many."""
    # Long ones are cut first: nobody has to look at megabytes.
    text = _UNSEEN.sub(" ", text[: 4 * longest].encode("utf-8", "replace").decode())
    text = "".join(each for each in text if each == "\n" or unicodedata.category(each)[0] != "C")
    text = unicodedata.normalize("NFC", text).strip()
    return text if len(text) <= longest else f"{text[: longest - 4].rstrip()} ..."


def lesson_id(text: str) -> str:
    """The key of a lesson: the same for texts that differ only in case, blanks and punctuation."""
    return digest(" ".join(_SAID.findall(text.casefold())) or text)


def digest(*parts: Any) -> str:
    """A short hash of plain JSON."""
    told = json.dumps(parts, sort_keys=True, ensure_ascii=False).encode("utf-8", "replace")
    return hashlib.blake2b(told, digest_size=8).hexdigest()


def item_key(part: Part, value: Mapping[str, Any], name: str = "") -> str:
    """The key of an item, which its content gives.

    Args:
        part: What it is.
        value: What it says.
        name: Tells tasks apart that went through a graph twice.
    """
    if part == "lessons":
        return lesson_id(value["text"])
    if part == "edits":
        return digest(value)
    # A trial teaches one lesson. Should a node be run again, and a model say something else, that is the one.
    told = (name or value["run"], value["task"], value["trial"])
    return digest(*told, value["outcome"]) if part == "sources" else digest(*told)


@lru_cache(50_000)
def words_of(text: str) -> tuple[str, ...]:
    """What a text says, by its stems, in their order; little words are left out, and "not" is none of them."""
    if not hasattr(_stemmers, "english"):
        _stemmers.english = Stemmer("english")
    words = [word for word in _SAID.findall(text.casefold()) if word not in _FILLERS]
    return tuple(_stemmers.english.stemWords(words))


def repeats(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether two texts, by their stems, say the same in nearly the same way.

    A word that only one of them has, be it a number or a name, makes another lesson: much alike is "look in drawer
    1" and "look in drawer 2".
    """
    return bool(one) and set(one) == set(other) and fuzz.ratio(one, other) >= ALIKE
