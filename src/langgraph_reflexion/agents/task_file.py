"""Task files: JSON lines or CSV, one task a row."""

import csv
import hashlib
import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from langgraph_reflexion.envs.base import Task
from langgraph_reflexion.errors import ConfigurationError

TASK_FIELDS = ("task", "question", "instruction", "input")
"""The columns that hold the task unless one is named: the first of them that the first row has."""

ANSWER_FIELD = "answer"
"""The column of reference answers unless one is named."""


class TaskFile(NamedTuple):
    """The tasks of a file."""

    path: Path
    tasks: list[Task]
    """Each with its reference answer, if it has one, as `task["data"]["reference"]`."""
    digest: str
    """Tells the file's content from any other."""


def read_tasks(path: str, task_field: str | None = None, answer_field: str | None = None) -> TaskFile:
    """Read a task file.

    A row's id is its column `id`, or its number from 1.

    Args:
        path: The file: `.jsonl` or `.csv`.
        task_field: The column of the tasks; the first of `TASK_FIELDS` that is there unless given.
        answer_field: The column of the reference answers; `answer`, if it is there, unless given.

    Raises:
        ConfigurationError: the file cannot be read, or a row is wrong. The message names the line.
    """
    file = Path(path).expanduser()
    readers = {".jsonl": _json_rows, ".ndjson": _json_rows, ".csv": _csv_rows}
    if file.suffix.lower() not in readers:
        raise ConfigurationError(f"the task file {path} must be JSON lines (.jsonl) or CSV (.csv), by its name")
    try:
        content = file.read_bytes()
        rows = list(readers[file.suffix.lower()](path, content.decode("utf-8-sig")))
    except OSError as error:
        raise ConfigurationError(f"the task file {path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"the task file {path} is not UTF-8: {error}") from error
    if not rows:
        raise ConfigurationError(f"the task file {path} has no rows")
    field = task_field or next((name for name in TASK_FIELDS if name in rows[0][1]), None)
    if field is None:
        columns = f"{path}, line {rows[0][0]}, has the columns {', '.join(map(str, rows[0][1]))}"
        raise ConfigurationError(f"{columns}: name the one with the tasks by --task-field")
    tasks: list[Task] = []
    lines: dict[str, int] = {}
    for line, row in rows:
        where = f"{path}, line {line}"
        text = _cell(row, field, where, "--task-field")
        if not isinstance(text, str) or not text.strip():
            raise ConfigurationError(f"{where}: the task in {field!r} must be text, not {text!r:.100}")
        given = row.get("id")
        if not isinstance(given, str | int | None) or isinstance(given, bool) or given == "":
            raise ConfigurationError(f"{where}: the id must be text or a whole number, not {given!r:.100}")
        name = str(len(tasks) + 1 if given is None else given)
        if name in lines:
            raise ConfigurationError(f"{where}: the id {name!r} is that of line {lines[name]}, too")
        lines[name] = line
        reference = _cell(row, answer_field, where, "--answer-field") if answer_field else row.get(ANSWER_FIELD)
        data = {} if reference in (None, "") else {"reference": reference}
        tasks.append(Task(id=name, instruction=text, data=data))
    return TaskFile(file, tasks, hashlib.sha256(content).hexdigest()[:12])


def _cell(row: Mapping[str, Any], field: str, where: str, option: str) -> Any:
    if field not in row:
        raise ConfigurationError(f"{where}: there is no {field!r} ({option}) among {', '.join(map(str, row))}")
    return row[field]


def _json_rows(path: str, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise ConfigurationError(f"{path}, line {number}, is not JSON: {error}") from error
        if not isinstance(row, dict):
            raise ConfigurationError(f"{path}, line {number}, is not a JSON object: {line:.100}")
        yield number, row


def _csv_rows(path: str, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = next(reader, [])
        if again := [name for name in header if header.count(name) > 1]:
            raise ConfigurationError(f"{path}, line 1: two columns are called {again[0]!r}")
        begins = reader.line_num + 1
        for cells in reader:
            if cells:
                if len(cells) != len(header):
                    raise ConfigurationError(
                        f"{path}, line {begins}, has {len(cells)} cells, but the header has {len(header)}"
                    )
                yield begins, dict(zip(header, cells, strict=True))
            begins = reader.line_num + 1
    except csv.Error as error:
        raise ConfigurationError(f"{path}, line {reader.line_num}, is not CSV: {error}") from error
