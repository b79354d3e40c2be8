"""The records of lessons in a store, and the text of lessons.

Trials and people only ever add records, each under a key that follows from its content. So processes that write at
the same time lose nothing, and a node that is run again writes the same records. Old records are added up in a
summary, and then removed (`LessonStore.tidy`).
"""

import hashlib
import json
import re
import unicodedata
from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

MAX_CHARACTERS = 4000
"""Characters of a stored text."""

SHOWN_CHARACTERS = 800
"""Characters of a lesson in a prompt."""

KNOWN_MERGES = 200
"""Merged lessons of which nothing is left but their id: the latest, which tasks that are running may still have."""

PERSON = "person"
"""The outcome of a source that a person has written."""

CHANGED_VERDICT = "a changed verdict"
"""Who retires a lesson, and brings it back, when the verdict on the trial that taught it changes."""

# Words, and signs that change the meaning of numbers: a `-` only before a number, and not within a range such as 3-5.
_WORDS = re.compile(r"\w+|!=|[<>=+]+|(?<![\w)])-(?=\d)")
_INVISIBLE = re.compile(r"[^\S\n]|[\u0000-\u0009\u000b-\u001f\u007f-\u009f]")
_CHAT_MARKS = re.compile(r"<(?=[|\uff5c/]|<SYS|s>|start_of_|end_of_)|\[(?=/?INST)", re.IGNORECASE)


def plain(text: str, limit: int = MAX_CHARACTERS) -> str:
    """Return a text without control and format characters, of at most `limit` characters."""
    # Megabytes need not be looked at.
    text = text[: 4 * limit]
    # Nearly all texts in a store are plain already, and this is much faster than the rest.
    if _is_plain(text) and len(text) <= limit:
        return text
    # Half of a character, which JSON can escape, becomes a question mark: databases store UTF-8.
    whole = text.encode("utf-8", "replace").decode()
    # Before the next step, which would join the words on both sides of a tab.
    spaced = _INVISIBLE.sub(" ", whole)
    # Category C has marks without width, and those that turn the direction of writing. They could hide words from the
    # person who reviews a lesson.
    visible = "".join(each for each in spaced if each == "\n" or unicodedata.category(each)[0] != "C")
    # The same letters in other code points would be another lesson.
    text = unicodedata.normalize("NFC", visible).strip()
    if len(text) <= limit:
        return text
    return f"{text[: limit - 4].rstrip()} ..."


def _is_plain(text: str) -> bool:
    if not text:
        return True
    if not text.replace("\n", "").isprintable():
        return False
    return unicodedata.is_normalized("NFC", text) and text == text.strip()


def escape_for_prompt(text: str) -> str:
    """Return a lesson as one line, a JSON string: the text comes from a model that may have read hostile pages.

    Nothing in it can end the quotation, begin a line as "Observation:" does, or pass for a mark of a chat format.
    """
    line = " ".join(plain(text, SHOWN_CHARACTERS).split())
    # A blank after its first character makes a mark a text like any other.
    unmarked = _CHAT_MARKS.sub(r"\g<0> ", line)
    # Cut once more, as the blanks have made it longer.
    return json.dumps(plain(unmarked, SHOWN_CHARACTERS), ensure_ascii=False)


def now() -> str:
    """Return the time as records have it."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def words_and_signs(text: str) -> list[str]:
    """Return the words of a lesson in order, and the signs that change the meaning of numbers."""
    return _WORDS.findall(text)


def lesson_id(text: str) -> str:
    """Return the id of a lesson: the same for texts that differ in case, blanks and punctuation alone."""
    words = " ".join(words_and_signs(text.casefold()))
    # A text without any word, such as an emoji, stands for itself.
    return _digest(words or text)


def _digest(*parts: Any) -> str:
    # JSON keeps the parts apart: "a", "bc" and "ab", "c" have different digests.
    written = json.dumps(parts, sort_keys=True, ensure_ascii=False)
    encoded = written.encode("utf-8", "replace")
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
        # The key of an edit is a digest of this: a field that a later version adds must not change it.
        return self.model_dump(exclude_none=True)

    def distinct_fields(self) -> list[str]:
        """Return the fields to search, without those that are empty or say the same as another one.

        An embedding costs money, and LangGraph's InMemoryStore refuses a record with two equal texts.
        """
        values = self.stored()
        fields: dict[str, str] = {}
        for field in self.searched:
            text = values.get(field)
            if text and text not in fields:
                fields[text] = field
        return list(fields.values())


class LessonSource(Record):
    """A trial that taught a lesson, or a person who wrote it. All sources with the same words are one lesson."""

    stored_as = "sources"
    searched: ClassVar[list[str]] = ["instruction", "observation", "text"]

    text: Text
    outcome: str = PERSON
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
    lesson_id: str = ""
    """The id of its text, which `stored` adds: it takes longer to compute than to read."""
    words: Text | None = None
    """What a person said of the trial after the fact; None if nobody has."""
    partial: bool | None = None
    """True if the trajectory was gone, and only question and answer were known; None otherwise."""
    pending: bool | None = None
    """True if a person has to approve the lesson before it is recalled; None otherwise."""

    @property
    def key(self) -> str:
        # A trial teaches one lesson, even if its node is run again and the model says something else.
        text = ""
        # A person's lesson belongs to no trial, and only its text tells it from others.
        if not self.task:
            text = self.text
        if self.words:
            # And one more for each thing that people say of it later.
            return _digest(self.run, self.task, self.trial, self.outcome, text, self.words)
        return _digest(self.run, self.task, self.trial, self.outcome, text)

    @property
    def of_trial(self) -> str:
        """The key of its trial, `trial_key`."""
        return trial_key(self.run, self.task, self.trial)

    @property
    def lesson(self) -> str:
        """The lesson's id."""
        return self.lesson_id or lesson_id(self.text)

    def stored(self) -> dict[str, Any]:
        return super().stored() | {"lesson_id": self.lesson}


class LessonUse(Record):
    """A finished trial, and the lessons in its prompt."""

    stored_as = "uses"

    lessons: list[str]
    """Their ids; trials without any are the control group."""
    success: bool
    """The verdict: the evaluator's, or that of later feedback."""
    before: bool | None = None
    """The verdict that was counted before, in the record of a changed verdict: that trial is not counted again."""
    task: str
    kind: str
    trial: int
    run: str
    thread: str = ""
    date: str
    turn: int | None = None
    """How often the verdict had been changed before, in the record of a further change; None in that of the first."""

    @property
    def key(self) -> str:
        # A changed verdict stands beside the one that was counted before.
        if self.before is None:
            return trial_key(self.run, self.task, self.trial)
        # Each change has a key of its own, so that all of them are counted.
        if self.turn is None:
            return _digest(self.run, self.task, self.trial, "changed")
        return _digest(self.run, self.task, self.trial, "changed", self.turn)


class LateVerdict(Record):
    """What was last said of a trial after the fact. No recall reads it: it tells news from what was said before."""

    stored_as = "verdicts"

    run: str
    task: str
    trial: int
    success: bool
    words: Text = ""
    turns: int = 0
    """How often the verdict has been changed, the first time against that of the trial's evaluation."""
    source: str = ""
    """The key of the source of the lesson that the latest words have taught; empty if nothing was learned."""
    sources: list[str] = Field(default_factory=list)
    """Those of all lessons that were learned from the trial after the fact, whatever the verdict then."""
    cost: float = 0.0
    """The money that learning from the trial after the fact has cost."""
    date: str

    @property
    def key(self) -> str:
        return trial_key(self.run, self.task, self.trial)


class QueuedTrial(Record):
    """A trial from which a lesson is to be learned later. No recall reads it."""

    stored_as = "queue"

    run: str
    task: str
    trial: int
    success: bool
    """The evaluator's verdict."""
    thread: str = ""
    state: dict[str, Any]
    """What is known of the trial, as plain JSON: `memory.queue.to_json`."""
    review: bool = False
    """Whether its lesson has to be approved by a person, whoever learns it."""
    date: str
    attempts: int = 0
    """How often it was begun to learn from it."""
    leased_until: str = ""
    """Until then another worker leaves it alone."""

    @property
    def key(self) -> str:
        return trial_key(self.run, self.task, self.trial)


def trial_key(run: str, task: str, trial: int) -> str:
    """Return the key of what is recorded once for a trial: its use of lessons, and a late verdict on it."""
    return _digest(run, task, trial)


class LessonEdit(Record):
    """A person's change of a lesson. Of several changes of the same field the latest counts."""

    stored_as = "edits"

    lesson: str
    date: str
    text: Text | None = None
    retired: bool | None = None
    approved: bool | None = None
    """Whether a pending lesson is approved or rejected."""
    by: str | None = None
    """Who has changed it, as far as that is known."""


class LessonMerge(Record):
    """Says that a lesson is a near-duplicate of another one, to which its sources and uses are counted."""

    stored_as = "merges"

    lesson: str
    into: str
    date: str

    @property
    def key(self) -> str:
        # A lesson is merged into one other: a later merge replaces the record.
        return self.lesson
