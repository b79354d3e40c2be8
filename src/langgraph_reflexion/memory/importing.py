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
from langgraph_reflexion.memory.records import RECORDS, ArchivedLesson, LessonSource, LessonSummary, Record, now
from langgraph_reflexion.memory.snapshot import LessonSnapshot
from langgraph_reflexion.memory.store import LessonStore
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
    lines = [
        json.dumps({"kind": each.stored_as, "value": each.stored()}, ensure_ascii=False, sort_keys=True) + "\n"
        for each in records
    ]
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
    imported = map(_imported, records)
    await store.add(record for record in imported if _is_new(record, before))
    return len((await store.snapshot()).lessons.keys() - before.lessons.keys())


def _exported(snapshot: LessonSnapshot) -> list[Record]:
    """Return the records of a file: the first source of each lesson, and all numbers added up."""
    sources: list[Record] = [lesson.sources[0] for lesson in snapshot.live]
    own = snapshot.summary(now()).model_copy(update={"counted": [source.key for source in sources], "removed": []})
    summaries = [own, *(each for each in snapshot.records["summaries"].values() if each is not snapshot.own)]
    return [*sources, *snapshot.records["edits"].values(), *summaries, *snapshot.records["archived"].values()]


def _imported(record: Record) -> Record:
    """Return the record as the store keeps it: a summary stays apart from the store's own."""
    if isinstance(record, LessonSource):
        return record.model_copy(update={"lesson_id": ""})  # a file may say anything
    if isinstance(record, LessonSummary):
        return record.model_copy(update={"foreign": True})
    return record


def _is_new(record: Record, before: LessonSnapshot) -> bool:
    known = before.records[record.stored_as].get(record.key)
    if isinstance(record, LessonSource):
        archived = [
            each.source.key for each in before.records["archived"].values() if isinstance(each, ArchivedLesson)
        ]
        return known is None and record.key not in archived
    if not isinstance(record, LessonSummary):
        return known is None
    if before.own and record.origin == before.own.origin:
        return False
    # A newer summary of the same namespace has counted what the older one has.
    return not isinstance(known, LessonSummary) or known.date < record.date


def _record(row: Mapping[str, Any], place: str) -> Record:
    kind = row.get("kind")
    if not isinstance(kind, str) or kind not in RECORDS:
        raise ConfigurationError(f"{place}: kind must be one of {', '.join(RECORDS)}")
    try:
        record = RECORDS[kind].model_validate(row.get("value"))
    except ValidationError as error:
        raise ConfigurationError(
            f"{place}: {explain(error, place=lambda path: '.'.join(['value', *path]))}"
        ) from error
    if isinstance(record, LessonSource) and not record.text:
        raise ConfigurationError(f"{place}: the lesson is empty")
    return record
