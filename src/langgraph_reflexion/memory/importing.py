"""Lessons as a file: all records as JSON lines, which can be added to another store.

A line `{"kind": "sources", "value": {"text": "..."}}` is enough for a lesson of your own.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from langgraph_reflexion.errors import ConfigurationError, explain
from langgraph_reflexion.memory.records import RECORDS, LessonSource, Record
from langgraph_reflexion.memory.snapshot import LessonSnapshot
from langgraph_reflexion.memory.store import LessonStore
from langgraph_reflexion.support.files import read_rows


def write_lessons(snapshot: LessonSnapshot, path: Path) -> None:
    """Write all records to a file.

    Raises:
        ConfigurationError: the file cannot be written.
    """
    try:
        path.write_text("".join(_lines(snapshot)), encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be written: {error.strerror}") from error


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
    await store.add(record for record in records if record.key not in before.records[record.stored_as])
    return len((await store.snapshot()).lessons.keys() - before.lessons.keys())


def _lines(snapshot: LessonSnapshot) -> Iterator[str]:
    for kind, records in snapshot.records.items():
        for _, record in sorted(records.items()):
            yield json.dumps({"kind": kind, "value": record.stored()}, ensure_ascii=False, sort_keys=True) + "\n"


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
