"""Lessons as a file: JSON lines, which can be added to another store.

A line `{"kind": "sources", "value": {"text": "..."}}` is enough for a lesson of your own.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from langgraph_reflexion.errors import ConfigurationError, explain
from langgraph_reflexion.memory.records import LessonSource, Record, now
from langgraph_reflexion.memory.snapshot import RECORDS, LessonSnapshot
from langgraph_reflexion.memory.store import LessonStore
from langgraph_reflexion.memory.summaries import ArchivedLesson, LessonSummary
from langgraph_reflexion.support.files import read_rows


async def write_lessons(store: LessonStore, path: Path) -> int:
    """Write the lessons of a namespace to a file, with their numbers added up.

    Returns:
        The number of lines.

    Raises:
        ConfigurationError: the file cannot be written.
    """
    # The summary that is stored now has the name by which the file is known if it is imported again.
    await store.tidy(force=True)
    records = _exported(await store.snapshot())
    lines = [_line(record) for record in records]
    try:
        await asyncio.to_thread(path.write_text, "".join(lines), encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be written: {error.strerror}") from error
    return len(lines)


def read_records(path: Path) -> list[Record]:
    """Return the records of a file.

    Raises:
        ConfigurationError: the file cannot be read, or has an invalid line, which is named.
    """
    return [_record(row, place) for place, row in read_rows(path)]


async def add_records(store: LessonStore, records: Sequence[Record]) -> int:
    """Add the records that the store does not have. A lesson that is known gets more sources.

    Returns:
        The number of new lessons.
    """
    before = await store.snapshot()
    added = []
    for record in records:
        imported = _imported(record)
        if _is_new(imported, before):
            added.append(imported)
    await store.add(added)
    after = await store.snapshot()
    return len(after.lessons.keys() - before.lessons.keys())


def _line(record: Record) -> str:
    row = {"kind": record.stored_as, "value": record.stored()}
    return json.dumps(row, ensure_ascii=False, sort_keys=True) + "\n"


def _exported(snapshot: LessonSnapshot) -> list[Record]:
    """Return the records of a file: the first source of each lesson, and all numbers added up."""
    records: list[Record] = [lesson.first_source for lesson in snapshot.live]
    # The file has no other records that the summary could have counted.
    counted = {"counted": [source.key for source in records], "removed": []}
    summary = snapshot.summary(now())
    records.extend(snapshot.records["edits"].values())
    records.extend(snapshot.records["merges"].values())
    records.append(summary.model_copy(update=counted))
    # Each under the name that it came with, so that whoever has its numbers already does not count them twice.
    foreign = [each for each in snapshot.records["summaries"].values() if each is not snapshot.own]
    records.extend(foreign)
    records.extend(snapshot.records["archived"].values())
    return records


def _imported(record: Record) -> Record:
    """Return the record as the store keeps it: a summary stays apart from the store's own."""
    if isinstance(record, LessonSource):
        # A file may say anything: without this id, the text says which lesson it is.
        return record.model_copy(update={"lesson_id": ""})
    if isinstance(record, LessonSummary):
        return record.model_copy(update={"foreign": True})
    return record


def _is_new(record: Record, before: LessonSnapshot) -> bool:
    known = before.records[record.stored_as].get(record.key)
    if isinstance(record, LessonSource):
        # A source that is known must not bring its lesson back from the archive: only a trial or a person does so.
        return known is None and record.key not in _archived_sources(before)
    if not isinstance(record, LessonSummary):
        return known is None
    if before.own and record.origin == before.own.origin:
        # It was exported from here, where all that it has counted is counted already.
        return False
    # A newer summary of the same namespace has counted what the older one has.
    return not isinstance(known, LessonSummary) or known.date < record.date


def _archived_sources(snapshot: LessonSnapshot) -> set[str]:
    """Return the keys of the sources whose lessons are in the archive."""
    keys = set()
    for record in snapshot.records["archived"].values():
        if isinstance(record, ArchivedLesson):
            keys.add(record.source.key)
    return keys


def _record(row: Mapping[str, Any], place: str) -> Record:
    kind = row.get("kind")
    if not isinstance(kind, str) or kind not in RECORDS:
        raise ConfigurationError(f"{place}: kind must be one of {', '.join(RECORDS)}")
    try:
        record = RECORDS[kind].model_validate(row.get("value"))
    except ValidationError as error:
        explained = explain(error, place=lambda path: ".".join(["value", *path]))
        raise ConfigurationError(f"{place}: {explained}") from error
    if isinstance(record, LessonSource) and not record.text:
        raise ConfigurationError(f"{place}: the lesson is empty")
    return record
