"""Lessons as files: JSON lines with all records, and Markdown for people, who may edit it, with the records below.

Both hold every record under its key, so that importing a file twice, or into the store that it is from, adds nothing.
"""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import cast

from pydantic import ValidationError

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.memory.lessons import now
from langgraph_reflexion.memory.records import RECORDS, LessonEdit, LessonSource, LessonUse, Record, lesson_id, plain
from langgraph_reflexion.memory.snapshot import Lesson, LessonSnapshot
from langgraph_reflexion.memory.store import LessonStore, validation_message

INTRODUCTION = (
    "# Lessons\n\nThe quotations may be changed: importing this file changes the lessons. A heading of your own with "
    "a quotation below it is a new lesson."
)
NAMED = 5
"""Invalid lines named in an error."""

Entry = tuple[str, Record]
"""A record by its key."""
Numbered = list[tuple[int, str]]
"""Lines with their numbers."""


def write_lessons(snapshot: LessonSnapshot, path: Path) -> None:
    """Write all lessons to a file, `*.jsonl` or `*.md`.

    Raises:
        ConfigurationError: the file has another suffix, or cannot be written.
    """
    text = "".join(_json_lines(snapshot))
    if _suffix(path) == "md":
        sections = "\n\n".join(map(_section, snapshot.lessons.values()))
        text = f"{INTRODUCTION}\n\n{sections}\n\n## All records\n\nDo not change them.\n\n```jsonl\n{text}```\n"
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be written: {error.strerror}") from error


async def read_lessons(store: LessonStore, path: Path) -> tuple[int, int]:
    """Add the records of a file that the store does not have. A lesson that repeats one in the store strengthens it.

    In Markdown, a changed quotation is an edit, and a heading that is no id begins a new lesson.

    Returns:
        The number of new lessons, and of edited texts.

    Raises:
        ConfigurationError: the file cannot be read, or has invalid lines, which are named; then nothing is added.
    """
    lines: Numbered = list(enumerate(read_text(path).split("\n"), 1))
    quotations, lines = _sections(lines) if _suffix(path) == "md" else ([], lines)
    entries: list[Entry] = []
    invalid = [f"line {number}: the lesson is empty" for number, _, text in quotations if not plain(text)]
    for number, line in lines:
        try:
            entries += [_entry(line)] if line.strip() else []
        except (ValueError, RecursionError) as error:
            why = validation_message(error) if isinstance(error, ValidationError) else str(error)
            invalid.append(f"line {number}: {'no JSON' if isinstance(error, json.JSONDecodeError) else why}")
    if invalid:
        more = f"; and {len(invalid) - NAMED} more" if len(invalid) > NAMED else ""
        raise ConfigurationError(f"{path}: {'; '.join(invalid[:NAMED])}{more}")
    before = await store.snapshot()
    await store.put(_new(entries, before))
    edited = 0
    for _, heading, text in quotations:
        edited += await _apply_edit(store, heading, plain(text))
    return len((await store.snapshot()).lessons.keys() - before.lessons.keys()), edited


def describe_source(source: LessonSource) -> str:
    """Return where a lesson is from, in one line."""
    if source.outcome == "person":
        return _line(f"Written by a person on {source.date[:10]}: {source.instruction}")
    run = f", run {source.run}" if source.run else ""
    step = f"; step {source.step}: {source.evidence}" if source.step else ""
    return _line(
        f"From the {source.outcome} of {source.task}, trial {source.trial}, on {source.date[:10]} "
        f"({source.model}, profile {source.profile}{run}){step}"
    )


def read_text(path: Path) -> str:
    """Return the text of a file, without the byte order mark that some editors write.

    Raises:
        ConfigurationError: the file cannot be read.
    """
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{path} cannot be read: {error}") from error


def _new(entries: list[Entry], snapshot: LessonSnapshot) -> Iterator[Entry]:
    """Leave out records of the store, and lessons that repeat others, whose sources and uses become theirs."""
    texts = {key: cast(str, record.stored()["text"]) for key, record in entries if record.stored_as == "lessons"}
    known = snapshot.duplicates(texts.values())
    into = {
        key: known[text]
        for key, text in texts.items()
        if known.get(text, key) != key and key not in snapshot.records["lessons"]
    }
    for key, record in entries:
        if record.stored_as == "lessons" and key in into:
            continue
        if isinstance(record, LessonUse):
            record = record.model_copy(update={"lessons": [into.get(each, each) for each in record.lessons]})
        elif isinstance(record, LessonSource):
            record = record.model_copy(update={"lesson": into.get(record.lesson, record.lesson)})
        elif isinstance(record, LessonEdit):
            target = into.get(record.into, record.into) if record.into else None
            record = record.model_copy(update={"lesson": into.get(record.lesson, record.lesson), "into": target})
            key = record.key()
        if key not in snapshot.records[record.stored_as]:
            yield key, record


async def _apply_edit(store: LessonStore, heading: str, text: str) -> int:
    """Give a lesson the text of its quotation; return the number of edits."""
    snapshot = await store.snapshot()
    lesson = snapshot.lessons.get(snapshot.id_of(heading))
    if lesson is None and snapshot.find_duplicate(text) is None:
        source = LessonSource(text=text, outcome="person", task="", instruction=heading, date=now())
        await store.learn(source, f"person {lesson_id(text)}")
    if lesson is None or lesson.text == text:
        return 0
    await store.add([LessonEdit(lesson=lesson.id, text=text, date=now())])
    return 1


def _json_lines(snapshot: LessonSnapshot) -> Iterator[str]:
    for kind, records in snapshot.records.items():
        for key, record in sorted(records.items()):
            line = {"kind": kind, "key": key, "value": record.stored()}
            yield json.dumps(line, ensure_ascii=False, sort_keys=True) + "\n"


def _section(lesson: Lesson) -> str:
    quotation = "\n".join(f"> {line}" if line else ">" for line in lesson.text.split("\n"))
    facts = [f"Recalled in {lesson.recalled} trials, of which {lesson.succeeded} succeeded."]
    facts += ["Retired: no longer recalled."] if lesson.retired else []
    facts += [describe_source(source) for _, source in lesson.sources]
    return "\n".join([f"## {lesson.id}", "", quotation, "", *(f"- {fact}" for fact in facts)])


def _line(text: str) -> str:
    return " ".join(plain(text).split())


def _sections(lines: Iterable[tuple[int, str]]) -> tuple[list[tuple[int, str, str]], Numbered]:
    """Return the quotations of Markdown with line numbers and headings, and the lines of its records."""
    quotations: list[tuple[int, str, list[str]]] = []
    records: Numbered = []
    heading, fenced = "", False
    for number, line in lines:
        if fenced:
            fenced = line.rstrip() != "```"
            records += [(number, line)] if fenced else []
        elif line.startswith("```"):
            fenced = True
        elif found := re.match(r"##? +(.*?)\s*$", line):
            heading = found[1]
        elif heading and line.startswith(">"):
            if not quotations or quotations[-1][1] != heading:  # a lesson may be quoted in several pieces
                quotations.append((number, heading, []))
            quotations[-1][2].append(line[1:].removeprefix(" "))
    return [(number, name, "\n".join(text)) for number, name, text in quotations], records


def _entry(line: str) -> Entry:
    given = json.loads(line)
    if not isinstance(given, dict) or str(given.get("kind")) not in RECORDS:
        raise ValueError(f"kind must be one of {', '.join(RECORDS)}")
    key, record = given.get("key"), RECORDS[given["kind"]].model_validate(given.get("value"))
    if not (isinstance(key, str) and re.fullmatch("[0-9a-f]{16}", key)):
        raise ValueError("key must be 16 hexadecimal digits")
    clean = {name: plain(value) for name, value in record.stored().items() if isinstance(value, str)}
    record = record.model_copy(update=clean)
    if record.stored_as == "lessons" and not clean["text"]:
        raise ValueError("the lesson is empty")
    if record.stored_as in ("lessons", "edits") and key != record.key():
        raise ValueError("key does not belong to this value")
    return key, record


def _suffix(path: Path) -> str:
    suffix = path.suffix.lower().lstrip(".")
    if suffix not in ("jsonl", "md"):
        raise ConfigurationError(f"{path}: lessons are kept in files that end in .jsonl or .md")
    return suffix
