"""The records of lessons in a store, and the text of lessons.

Records are only ever added, each under a key that follows from its content, and numbers are counted from them. So
processes that write at the same time lose nothing, and a node that is run again writes the same records.
"""

import hashlib
import json
import re
import unicodedata
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict
from rapidfuzz import fuzz
from Stemmer import Stemmer

Kind = Literal["lessons", "sources", "uses", "edits"]
"""The kinds of records; also the last part of their namespaces."""

MAX_CHARACTERS = 4000
"""Characters of a stored text."""

SHOWN_CHARACTERS = 800
"""Characters of a lesson in a prompt."""

DUPLICATE_RATIO = 90.0
"""Similarity, of 100, above which two texts with the same words are one lesson."""

_FILLERS = frozenset(
    ["a", "an", "and", "i", "it", "my", "of", "so", "that", "the", "then", "this", "to", "was", "were"]
)
_WORDS = re.compile(r"\w+|!=|[<>=+]+|(?<![\w)])-(?=\d)")  # and the signs that change what is said of numbers
_INVISIBLE = re.compile(r"[^\S\n]|[\u0000-\u0009\u000b-\u001f\u007f-\u009f]")
_CHAT_MARKS = re.compile(r"<(?=[|\uff5c/]|<SYS|s>|start_of_|end_of_)|\[(?=/?INST)", re.IGNORECASE)


class Record(BaseModel):
    """A record: frozen, validated strictly."""

    model_config = ConfigDict(strict=True, frozen=True)
    stored_as: ClassVar[Kind]
    searched: ClassVar[bool] = False
    """Whether a store with an index of its own searches it, by its `about`."""

    def key(self, run: str = "") -> str:
        """Return its key in the store; `run` tells tasks apart that were run twice."""
        raise NotImplementedError

    def stored(self) -> dict[str, Any]:
        """Return it as plain JSON."""
        return self.model_dump(exclude_none=True)


class LessonText(Record):
    """A lesson as it was first written."""

    stored_as = "lessons"
    searched = True

    text: str
    about: str
    """The text that it is found by, for stores with an index of their own."""

    def key(self, run: str = "") -> str:
        return lesson_id(self.text)


class LessonSource(Record):
    """A trial that taught a lesson, or a person who wrote it. A lesson has at least one source."""

    stored_as = "sources"

    lesson: str = ""
    """The lesson's id; set when it is stored."""
    text: str
    """The lesson in this trial's words."""
    outcome: str
    """The trial's outcome, `failure` or `success`; `person` for a lesson that a person wrote."""
    task: str
    """The task's id."""
    kind: str = ""
    """The task's kind."""
    instruction: str
    observation: str = ""
    """The first observation, which tells a place that was met before."""
    trial: int = 0
    profile: str = ""
    model: str = ""
    """The model that wrote the lesson."""
    step: int = 0
    """The number of the step that the lesson is most about; 0 for none."""
    evidence: str = ""
    """That step."""
    run: str = ""
    """The thread of the run."""
    date: str

    def key(self, run: str = "") -> str:
        # A trial teaches one lesson, even if its node is run again and the model says something else.
        return digest(run or self.run, self.task, self.trial, self.outcome)


class LessonUse(Record):
    """A finished trial, and the lessons in its prompt."""

    stored_as = "uses"

    lessons: list[str]
    """Their ids; empty where none was recalled: these trials are what the others are compared with."""
    success: bool
    """The evaluator's verdict."""
    task: str
    kind: str
    trial: int
    run: str
    date: str

    def key(self, run: str = "") -> str:
        return digest(run or self.run, self.task, self.trial)


class LessonEdit(Record):
    """A person's change of a lesson. Of several changes of the same field the latest counts."""

    stored_as = "edits"

    lesson: str
    date: str
    text: str | None = None
    retired: bool | None = None
    into: str | None = None
    """The lesson that it was merged into."""

    def key(self, run: str = "") -> str:
        return digest(self.stored())


RECORDS: dict[str, type[Record]] = {
    each.stored_as: each for each in (LessonText, LessonSource, LessonUse, LessonEdit)
}


def plain(text: str, limit: int = MAX_CHARACTERS) -> str:
    """Return a text without control and format characters, of at most `limit` characters."""
    text = text[: 4 * limit]  # megabytes need not be looked at
    text = _INVISIBLE.sub(" ", text.encode("utf-8", "replace").decode())
    text = "".join(each for each in text if each == "\n" or unicodedata.category(each)[0] != "C")
    text = unicodedata.normalize("NFC", text).strip()
    return text if len(text) <= limit else f"{text[: limit - 4].rstrip()} ..."


def escape_for_prompt(text: str) -> str:
    """Return a lesson as one line, a JSON string: the text comes from a model that may have read hostile pages.

    Nothing in it can end the quotation, begin a line as "Observation:" does, or pass for a mark of a chat format.
    """
    line = " ".join(plain(text, SHOWN_CHARACTERS).split())
    return json.dumps(plain(_CHAT_MARKS.sub(r"\g<0> ", line), SHOWN_CHARACTERS), ensure_ascii=False)


def lesson_id(text: str) -> str:
    """Return the key of a lesson: the same for texts that differ in case, blanks and punctuation alone."""
    return digest(" ".join(_WORDS.findall(text.casefold())) or text)


def digest(*parts: Any) -> str:
    """Return a short hash of plain JSON."""
    encoded = json.dumps(parts, sort_keys=True, ensure_ascii=False).encode("utf-8", "replace")
    return hashlib.blake2b(encoded, digest_size=8).hexdigest()


def words_of(text: str) -> tuple[str, ...]:
    """Return the stems of a text, in their order, without fillers; "not" is no filler."""
    words = [word for word in _WORDS.findall(text.casefold()) if word not in _FILLERS]
    return tuple(Stemmer("english").stemWords(words))


def same_lesson(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Return whether two texts, as their stems, say the same in nearly the same order.

    A word in only one of them, such as a number or a name, makes another lesson: "look in drawer 1" is very similar
    to "look in drawer 2".
    """
    return bool(one) and set(one) == set(other) and fuzz.ratio(one, other) >= DUPLICATE_RATIO
