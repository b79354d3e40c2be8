"""Lessons as a block of a Markdown file: in AGENTS.md, where people change them, or as an Agent Skill.

The block itself is written and read in `block`.
"""

import json
import re
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.memory.block import ID_CHARACTERS, Block, block_of, fingerprint, parse_block, shown
from langgraph_reflexion.memory.records import LessonEdit, LessonSource, Record, lesson_id, now, plain
from langgraph_reflexion.memory.snapshot import Lesson, LessonSnapshot
from langgraph_reflexion.support.files import expect_ordinary

MOST = 50
"""Lessons of a block, at most: agents read the whole file for every task."""

_SKILL_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_LONGEST_NAME = 64


@dataclass(frozen=True)
class Changes:
    """What people have changed in a block, as records, and how many lessons that concerns."""

    records: list[Record]
    new: int = 0
    edited: int = 0
    retired: int = 0


def write_agents_md(snapshot: LessonSnapshot, path: Path) -> int:
    """Write the most useful lessons into a Markdown file, as a block that replaces the one before.

    Everything else in the file stays as it is. A file without a block gets it at its end.

    Args:
        snapshot: The lessons.
        path: The file, which need not exist.

    Returns:
        The number of lessons in the block.

    Raises:
        ConfigurationError: the file cannot be read or written, its block is broken, or it has changes that are not in
            the store yet.
    """
    return _write_block(snapshot, path, "")


def write_skill(snapshot: LessonSnapshot, environment: str, folder: Path) -> int:
    """Write the most useful lessons as an Agent Skill: the file SKILL.md of a folder.

    In a file that is there already, the block alone is replaced.

    Args:
        snapshot: The lessons.
        environment: The environment that they are of.
        folder: The folder, which need not exist. Its name is the skill's.

    Returns:
        The number of lessons in the skill.

    Raises:
        ConfigurationError: the folder's name cannot be a skill's, or the same as in `write_agents_md`.
    """
    name = folder.resolve().name
    if len(name) > _LONGEST_NAME or not _SKILL_NAME.fullmatch(name):
        raise ConfigurationError(
            f"{folder} cannot be the folder of a skill: its name must be of lower-case letters, digits and single "
            f"hyphens, at most {_LONGEST_NAME} characters"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(f"the folder {folder} cannot be made: {error.strerror}") from error
    tasks = plain(environment, 100)
    description = f"Lessons from earlier tasks of {tasks}, with how often they helped. Read them before such a task."
    # A JSON string is one of YAML, too: `name: 1` would be a number.
    front_matter = f'---\nname: "{name}"\ndescription: {json.dumps(description, ensure_ascii=False)}\n---\n'
    return _write_block(snapshot, folder / "SKILL.md", front_matter)


def read_block(path: Path) -> Block:
    """Read the block of lessons in a file.

    Raises:
        ConfigurationError: the file cannot be read, or has no block, or a broken one.
    """
    block = parse_block(_read(path), path)
    if block is None:
        raise ConfigurationError(f"{path} has no block of lessons: `lessons export --format agents-md` writes one")
    return block


def _write_block(snapshot: LessonSnapshot, path: Path, head: str) -> int:
    """Write the block into a file, which begins with `head` if it is new, and return the number of its lessons."""
    content = head.encode()
    if path.exists():
        content = _read(path)
    block = parse_block(content, path)
    if block is not None and find_changes(block, snapshot).records:
        raise ConfigurationError(
            f"{path} has changes that are not in the store: `lessons import` adds them; or remove the whole block"
        )
    # Line ends as the file has them, so that it does not become a mixture of both.
    newline = b"\n"
    if b"\r\n" in content:
        newline = b"\r\n"
    if block is not None:
        before = block.before
        after = block.after
    else:
        before = _before_new_block(content, newline)
        after = b""
    lessons = _most_useful(snapshot)
    written = block_of(lessons).encode().replace(b"\n", newline)
    _replace(path, before + written + after)
    return len(lessons)


def _before_new_block(content: bytes, newline: bytes) -> bytes:
    """Return a file's content with the line ends that a block at its end needs before it."""
    if not content:
        return content
    if not content.endswith(b"\n"):
        content += newline
    # An empty line, so that the block does not continue a paragraph.
    return content + newline


def _most_useful(snapshot: LessonSnapshot) -> list[Lesson]:
    recalled = [lesson for lesson in snapshot.live if not (lesson.retired or lesson.pending)]
    recalled.sort(key=lambda lesson: (lesson.usefulness, lesson.id), reverse=True)
    return recalled[:MOST]


def find_changes(block: Block, snapshot: LessonSnapshot) -> Changes:
    """Return what people have changed in a block since it was written, and the store does not have yet.

    A changed text is an edit, a removed line retires its lesson, and an added line is a new lesson. So is any line
    whose lesson the store does not have.
    """
    known = _known(snapshot)
    date = now()
    seen: set[str] = set()
    texts: list[str] = []
    edits: dict[str, LessonEdit] = {}
    for note in block.notes:
        # The second line with an id is a copy of the first that a person has made.
        if note.id not in block.exported or note.id in seen:
            texts.append(note.text)
            continue
        # A line that has no text left is as good as removed.
        if not note.text:
            continue
        seen.add(note.id)
        lesson = known.get(note.id)
        if lesson is None:
            texts.append(note.text)
            continue
        is_changed = fingerprint(note.text) != block.exported[note.id]
        # What is in the store already was changed here and imported before.
        if is_changed and note.text != shown(lesson.text):
            edits[lesson.id] = LessonEdit(lesson=lesson.id, date=date, text=note.text)
    added = _added(texts, known, date)
    removed = [key for key in block.exported if key not in seen]
    retirements = _retirements(removed, known, date)
    records: list[Record] = []
    records.extend(added)
    records.extend(edits.values())
    records.extend(retirements)
    return Changes(records, new=len(added), edited=len(edits), retired=len(retirements))


def _added(texts: Iterable[str], known: Mapping[str, Lesson], date: str) -> list[LessonSource]:
    """Return the lessons that are not known yet, or wait for a person, as a person's."""
    added: dict[str, LessonSource] = {}
    for text in texts:
        key = lesson_id(text)
        lesson = known.get(key[:ID_CHARACTERS])
        # A person who adds the words of a lesson under review wants it.
        if text and (lesson is None or lesson.pending):
            added[key] = LessonSource(text=text, date=date)
    return list(added.values())


def _retirements(removed: Iterable[str], known: Mapping[str, Lesson], date: str) -> list[LessonEdit]:
    """Return the edits that retire the lessons whose lines are gone."""
    edits = []
    for key in removed:
        lesson = known.get(key)
        if lesson is None or lesson.retired:
            continue
        # One that was merged since does not take the lesson that is left with it.
        if lesson.id.startswith(key):
            edits.append(LessonEdit(lesson=lesson.id, date=date, retired=True))
    return edits


def _known(snapshot: LessonSnapshot) -> Mapping[str, Lesson]:
    """Return the lessons by the beginning of their id; a merged one's is that of the lesson that is left."""
    known: dict[str, Lesson] = {}
    for key, left in snapshot.merged.items():
        known[key[:ID_CHARACTERS]] = snapshot.lessons[left]
    # At last, as a merged lesson may be in the archive as well, and is then the one that is meant.
    for key, lesson in snapshot.lessons.items():
        known[key[:ID_CHARACTERS]] = lesson
    return known


def _read(path: Path) -> bytes:
    expect_ordinary(path)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}") from error
    # UTF-16 has zeros in every Latin letter: a block in UTF-8 would break the file.
    if b"\0" in content:
        raise ConfigurationError(f"{path} is not UTF-8 text: save the file in that encoding")
    return content


def _replace(path: Path, content: bytes) -> None:
    """Write a file so that a crash leaves either the old or the new one."""
    # A link stays one: AGENTS.md and CLAUDE.md are often the same file.
    target = path.resolve()
    # In the same folder: a file can replace another one in one step only within a file system.
    temporary = target.with_name(f"{target.name}.tmp")
    try:
        temporary.write_bytes(content)
        if target.exists():
            shutil.copymode(target, temporary)
        temporary.replace(target)
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be written: {error.strerror}") from error
