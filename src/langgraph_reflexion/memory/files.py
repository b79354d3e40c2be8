"""Lessons as files: JSON lines, which are all there is, and Markdown, which a person can read and edit.

Both hold every item under its key, so that importing a file twice, or into the store that it is from, adds nothing.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast, get_args

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.memory.bank import Bank
from langgraph_reflexion.memory.book import Book, Lesson
from langgraph_reflexion.memory.items import FIELDS, Edit, Part, checked, item_key, lesson_id, plain
from langgraph_reflexion.memory.lessons import now

ITEMS = "## Everything that is known"
"""The heading of the items in Markdown."""
NAMED = 5
"""So many bad lines are named."""

Entry = tuple[Part, str, dict[str, Any]]
"""An item: what it is, its key, and what it says."""


def write_lessons(book: Book, path: Path | str) -> None:
    """Write all lessons to a file.

    Args:
        book: The lessons.
        path: `*.jsonl` or `*.md`.

    Raises:
        ConfigurationError: it is neither, or cannot be written.
    """
    path = Path(path)
    text = "".join(_lines(book)) if _kind(path) == "jsonl" else _markdown(book)
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be written: {error.strerror}") from error


async def read_lessons(bank: Bank, path: Path | str) -> tuple[int, int]:
    """Add what a file holds and the store does not. A lesson that repeats one of those there strengthens it.

    Args:
        bank: Where it is added.
        path: `*.jsonl` or `*.md`. In Markdown a text that was changed is an edit, and a heading that is no id begins
            a lesson of a person's own.

    Returns:
        How many lessons are new, and how many texts were edited.

    Raises:
        ConfigurationError: it cannot be read, or lines in it are wrong, which are named; then nothing is added.
    """
    path = Path(path)
    kind, lines = _kind(path), read_text(path).split("\n")
    quotes: list[tuple[int, str, str]] = []
    numbered = list(enumerate(lines, 1))
    if kind == "md":
        quotes, numbered = _sections(numbered)
    entries, wrong = _entries(numbered)
    wrong += [f"line {number}: the lesson says nothing" for number, _, text in quotes if not plain(text)]
    if wrong:
        more = f"; and {len(wrong) - NAMED} more" if len(wrong) > NAMED else ""
        raise ConfigurationError(f"{path}: {'; '.join(wrong[:NAMED])}{more}")
    before = await bank.book()
    await bank.put(_without_repeats(entries, before))
    edited = 0
    for _, heading, text in quotes:
        edited += await _take_over(bank, heading, plain(text))
    return len((await bank.book()).lessons.keys() - before.lessons.keys()), edited


def _without_repeats(entries: list[Entry], book: Book) -> list[Entry]:
    """The items without those that are there, and without lessons that repeat others, whose sources become theirs."""
    same = {key: book.like(value["text"]) for part, key, value in entries if part == "lessons"}
    into = {key: known for key, known in same.items() if known and known != key and key not in book.items["lessons"]}
    found: list[Entry] = []
    for part, key, value in entries:
        if part == "lessons" and key in into:
            continue
        if part == "uses":
            value = {**value, "lessons": [into.get(each, each) for each in value["lessons"]]}
        elif part != "lessons":
            value = value | {name: into.get(value[name], value[name]) for name in ("lesson", "into") if name in value}
            key = item_key(part, value) if part == "edits" else key
        if key not in book.items[part]:
            found.append((part, key, value))
    return found


async def _take_over(bank: Bank, heading: str, text: str) -> int:
    """Make a lesson say what a person has written. Returns how many edits that took."""
    book = await bank.book()
    known = book.lessons.get(book.id_of(heading))
    if known is None:
        if book.like(text) is None:
            by_hand = {"outcome": "person", "task": "", "kind": "", "instruction": heading, "observation": ""}
            unknown = {"trial": 0, "profile": "", "model": "", "step": 0, "evidence": "", "run": "", "date": now()}
            await bank.learn(text, by_hand | unknown, f"person {lesson_id(text)}")
        return 0
    if known.text == text:
        return 0
    await bank.edit(Edit(lesson=known.id, text=text, date=now()))
    return 1


def _lines(book: Book) -> Iterator[str]:
    for part in get_args(Part):
        for key, value in sorted(book.items[part].items()):
            yield json.dumps({"item": part, "key": key, "value": value}, ensure_ascii=False, sort_keys=True) + "\n"


def _markdown(book: Book) -> str:
    told = [
        "# Lessons",
        "The quotations may be changed: importing this file makes the lessons say that. A heading of your own with a "
        "quotation below it is a new lesson.",
        *(_section(lesson) for lesson in book.lessons.values()),
        f"{ITEMS}\n\nNot to be changed.\n\n```jsonl\n{''.join(_lines(book))}```\n",
    ]
    return "\n\n".join(told)


def _section(lesson: Lesson) -> str:
    quoted = "\n".join(f"> {line}" if line else ">" for line in lesson.text.split("\n"))
    facts = [f"- Recalled in {lesson.recalled} trials, of which {lesson.succeeded} succeeded."]
    facts += ["- Retired: it is recalled no more."] if lesson.retired else []
    for _, source in lesson.sources:
        facts.append(f"- {told(source)}")
    return "\n".join([f"## {lesson.id}", "", quoted, "", *facts])


def told(source: Mapping[str, Any]) -> str:
    """Where a lesson is from, in words."""
    if source["outcome"] == "person":
        return f"Written by a person on {source['date'][:10]}: {_line(source['instruction'])}"
    by = f"{source['model']}, profile {source['profile']}"
    step = f"; step {source['step']}: {_line(source['evidence'])}" if source["step"] else ""
    run = f", run {source['run']}" if source["run"] else ""
    return _line(
        f"From the {source['outcome']} of {source['task']}, trial {source['trial']}, on {source['date'][:10]} "
        f"({by}{run}){step}"
    )


def _line(text: str) -> str:
    return " ".join(plain(text).split())


def _sections(lines: list[tuple[int, str]]) -> tuple[list[tuple[int, str, str]], list[tuple[int, str]]]:
    """What Markdown holds: quotations with their headings and line numbers, and the lines of its items."""
    quotes: list[tuple[int, str, list[str]]] = []
    items: list[tuple[int, str]] = []
    heading, inside = "", False
    for number, line in lines:
        if inside:
            inside = line.rstrip() != "```"
            items += [(number, line)] if inside else []
        elif line.startswith("```"):
            inside = True
        elif found := re.match(r"##? +(.*?)\s*$", line):
            heading = found[1]
        elif heading and line.startswith(">"):
            # A lesson is what stands quoted below a heading, be it in one piece or in several.
            if not quotes or quotes[-1][1] != heading:
                quotes.append((number, heading, []))
            quotes[-1][2].append(line[1:].removeprefix(" "))
    return [(number, name, "\n".join(text)) for number, name, text in quotes], items


def _entries(lines: list[tuple[int, str]]) -> tuple[list[Entry], list[str]]:
    """The items of JSON lines, and what is wrong with which line."""
    entries: list[Entry] = []
    wrong = []
    for number, line in lines:
        if not line.strip():
            continue
        try:
            entries.append(_entry(json.loads(line)))
        except (ValueError, RecursionError) as error:
            why = "no JSON" if isinstance(error, json.JSONDecodeError | RecursionError) else str(error)
            wrong.append(f"line {number}: {why}")
    return entries, wrong


def _entry(line: Any) -> Entry:
    if not isinstance(line, dict) or str(line.get("item")) not in FIELDS:
        raise ValueError(f"its item is none of {', '.join(FIELDS)}")
    part, key, value = cast(Part, line["item"]), line.get("key"), line.get("value")
    if not (isinstance(key, str) and re.fullmatch("[0-9a-f]{16}", key)):
        raise ValueError("its key is none")
    if not isinstance(value, dict):
        raise ValueError("its value is none")
    given = checked(part, value)
    kept = {name: plain(each) if isinstance(each, str) else each for name, each in given.items()}
    if part == "lessons" and not kept["text"]:
        raise ValueError("the lesson says nothing")
    if part in ("lessons", "edits") and key != item_key(part, kept):
        raise ValueError("its key does not go with what it says")
    return part, key, kept


def read_text(path: Path) -> str:
    """What a file says, with or without the mark of its encoding with which some editors begin it.

    Raises:
        ConfigurationError: it cannot be read.
    """
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{path} cannot be read: {error}") from error


def _kind(path: Path) -> str:
    kind = path.suffix.lower().lstrip(".")
    if kind not in ("jsonl", "md"):
        raise ConfigurationError(f"{path}: lessons are kept in files that end in .jsonl or .md")
    return kind
