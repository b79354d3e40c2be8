"""Lessons as a file: all records as JSON lines, which can be added to another store.

A line `{"kind": "sources", "value": {"text": "..."}}` is enough for a lesson of your own.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.files import read_text
from langgraph_reflexion.memory.records import RECORDS, LessonSource, Record
from langgraph_reflexion.memory.snapshot import LessonSnapshot
from langgraph_reflexion.memory.store import LessonStore
from langgraph_reflexion.models.faults import one_line

NAMED = 5
"""Invalid lines named in an error."""


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
        ConfigurationError: the file cannot be read, or has invalid lines, which are named.
    """
    records, invalid = [], []
    for number, line in enumerate(read_text(path).split("\n"), 1):
        try:
            records += [_record(line)] if line.strip() else []
        except (ValueError, RecursionError) as error:
            invalid.append(f"line {number}: {one_line(error)}")
    if invalid:
        more = f"; and {len(invalid) - NAMED} more" if len(invalid) > NAMED else ""
        raise ConfigurationError(f"{path}: {'; '.join(invalid[:NAMED])}{more}")
    return records


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


def _record(line: str) -> Record:
    given = json.loads(line)
    if not isinstance(given, dict) or str(given.get("kind")) not in RECORDS:
        raise ValueError(f"kind must be one of {', '.join(RECORDS)}")
    record = RECORDS[given["kind"]].model_validate(given.get("value"))
    if isinstance(record, LessonSource) and not record.text:
        raise ValueError("the lesson is empty")
    return record
