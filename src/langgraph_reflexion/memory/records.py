"""The records of lessons in a store, and the text of lessons.

Records are only ever added, each under a key that follows from its content, and numbers are counted from them. So
processes that write at the same time lose nothing, and a node that is run again writes the same records.
"""

import hashlib
import json
import re
import unicodedata
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BaseModel, ConfigDict

MAX_CHARACTERS = 4000
"""Characters of a stored text."""

SHOWN_CHARACTERS = 800
"""Characters of a lesson in a prompt."""

_WORDS = re.compile(r"\w+|!=|[<>=+]+|(?<![\w)])-(?=\d)")  # and signs that change the meaning of numbers
_INVISIBLE = re.compile(r"[^\S\n]|[\u0000-\u0009\u000b-\u001f\u007f-\u009f]")
_CHAT_MARKS = re.compile(r"<(?=[|\uff5c/]|<SYS|s>|start_of_|end_of_)|\[(?=/?INST)", re.IGNORECASE)


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
    """Return the id of a lesson: the same for texts that differ in case, blanks and punctuation alone."""
    return _digest(" ".join(_WORDS.findall(text.casefold())) or text)


def _digest(*parts: Any) -> str:
    encoded = json.dumps(parts, sort_keys=True, ensure_ascii=False).encode("utf-8", "replace")
    return hashlib.blake2b(encoded, digest_size=8).hexdigest()


Text = Annotated[str, AfterValidator(plain)]


class Record(BaseModel):
    """A record: frozen, validated strictly."""

    model_config = ConfigDict(strict=True, frozen=True)
    stored_as: ClassVar[str]
    """The last part of its namespace."""
    searched: ClassVar[list[str]] = []
    """The fields that a store with an index of its own searches."""

    @property
    def key(self) -> str:
        """Its key in the store."""
        return _digest(self.stored())

    def stored(self) -> dict[str, Any]:
        """Return it as plain JSON."""
        return self.model_dump(exclude_none=True)


class LessonSource(Record):
    """A trial that taught a lesson, or a person who wrote it. All sources with the same words are one lesson."""

    stored_as = "sources"
    searched: ClassVar[list[str]] = ["instruction", "observation", "text"]

    text: Text
    outcome: str = "person"
    """The trial's outcome, `failure` or `success`; `person` for a lesson that a person wrote."""
    task: str = ""
    """The task's id."""
    kind: str = ""
    """The task's kind."""
    instruction: Text = ""
    observation: Text = ""
    """The first observation, by which a known place is recognized."""
    trial: int = 0
    profile: str = ""
    model: str = ""
    """The model that wrote the lesson."""
    run: str = ""
    """Distinguishes repeated runs of a task."""
    thread: str = ""
    date: str = ""

    @property
    def key(self) -> str:
        # A trial teaches one lesson, even if its node is run again and the model says something else.
        return _digest(self.run, self.task, self.trial, self.outcome, "" if self.task else self.text)

    @property
    def lesson(self) -> str:
        """The lesson's id."""
        return lesson_id(self.text)


class LessonUse(Record):
    """A finished trial, and the lessons in its prompt."""

    stored_as = "uses"

    lessons: list[str]
    """Their ids; trials without any are the control group."""
    success: bool
    """The evaluator's verdict."""
    task: str
    kind: str
    trial: int
    run: str
    thread: str = ""
    date: str

    @property
    def key(self) -> str:
        return _digest(self.run, self.task, self.trial)


class LessonEdit(Record):
    """A person's change of a lesson. Of several changes of the same field the latest counts."""

    stored_as = "edits"

    lesson: str
    date: str
    text: Text | None = None
    retired: bool | None = None


RECORDS: dict[str, type[Record]] = {each.stored_as: each for each in (LessonSource, LessonUse, LessonEdit)}
