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
    # This stores a summary. Its origin goes into the file, so that an import into this store knows it as its own.
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
    """Return the records of a file: the sources of each lesson that are needed, and all numbers added up."""
    records: list[Record] = []
    for lesson in snapshot.live:
        records += lesson.needed_sources
    # The store's summary names all records that it has counted. Of these, the file has only the sources above.
    in_file = {"counted": [source.key for source in records], "removed": []}
    summary = snapshot.summary(now()).model_copy(update=in_file)
    records.extend(snapshot.records["edits"].values())
    records.extend(snapshot.records["merges"].values())
    records.append(summary)
    # Imported summaries keep their origin, so that a store that has their numbers already does not count them twice.
    for each in snapshot.records["summaries"].values():
        if each is not snapshot.own:
            records.append(each)
    records.extend(snapshot.records["archived"].values())
    return records


def _imported(record: Record) -> Record:
    """Return the record as the store keeps it: a summary stays apart from the store's own."""
    if isinstance(record, LessonSource):
        # A file may name the id of any lesson. Without one, the text decides which lesson it is.
        return record.model_copy(update={"lesson_id": ""})
    if isinstance(record, LessonSummary):
        return record.model_copy(update={"foreign": True})
    return record


def _is_new(record: Record, before: LessonSnapshot) -> bool:
    """Return whether a record, as `_imported` returns it, says something that the store does not know."""
    known = before.records[record.stored_as].get(record.key)
    if isinstance(record, LessonSource):
        # A source that is known must not bring its lesson back from the archive: only a trial or a person does so.
        return known is None and record.key not in _archived_sources(before)
    if not isinstance(record, LessonSummary):
        return known is None
    if before.own and record.origin == before.own.origin:
        # It was exported from here, where all that it has counted is counted already.
        return False
    if not isinstance(known, LessonSummary):
        return True
    # Both are of the same namespace, and the newer one has counted what the older one has.
    return record.date > known.date


def _archived_sources(snapshot: LessonSnapshot) -> set[str]:
    """Return the keys of the sources whose lessons are in the archive."""
    keys = set()
    for record in snapshot.records["archived"].values():
        if isinstance(record, ArchivedLesson):
            keys.add(record.source.key)
    return keys


def _record(row: Mapping[str, Any], place: str) -> Record:
    """Return the record of a row.

    Raises:
        ConfigurationError: it is invalid; `place` says where it is.
    """
    kind = row.get("kind")
    if not isinstance(kind, str) or kind not in RECORDS:
        raise ConfigurationError(f"{place}: kind must be one of {', '.join(RECORDS)}")
    try:
        record = RECORDS[kind].model_validate(row.get("value"))
    except ValidationError as error:
        explained = explain(error, place=_within_value)
        raise ConfigurationError(f"{place}: {explained}") from error
    if isinstance(record, LessonSource) and not record.text:
        raise ConfigurationError(f"{place}: the lesson is empty")
    return record


def _within_value(path: Sequence[str]) -> str:
    """Return how an error names a field of a record: as in the row, such as `value.text`."""
    return ".".join(["value", *path])
