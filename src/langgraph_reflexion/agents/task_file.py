"""The tasks of a file or a dataset, one task a row.

A row may be an example of LangSmith: objects `inputs` and `outputs`, or columns `input_KEY` and `output_KEY`.
"""

import csv
import hashlib
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from langgraph_reflexion.envs.base import Task
from langgraph_reflexion.errors import ConfigurationError, the_extra
from langgraph_reflexion.support.files import read_rows, read_text
from langgraph_reflexion.support.text import one_line

TASK_FIELDS = ("task", "question", "instruction", "input")
"""The columns that hold the task unless one is named: the first of them that the first row has."""

ANSWER_FIELD = "answer"
"""The column of reference answers unless one is named."""

REFERENCES = ("reference_outputs", "outputs")
"""The columns of an example's reference answer; `outputs` are the results in a table of experiments."""

BATCH = 1000
"""Number of rows of a dataset that are read at once."""

PlacedRow = tuple[str, Mapping[str, Any]]
"""A row, after where it is."""


class TaskSource(NamedTuple):
    """A file, or a dataset."""

    splits: tuple[str, ...]
    rows: Callable[[str], Iterable[PlacedRow]]
    """Read the rows of a split."""


class TaskRows(NamedTuple):
    """The tasks of a split."""

    tasks: list[Task]
    """Each with its reference answer, if it has one, as `task["data"]["reference"]`."""
    digest: str
    """Tells the tasks and their answers from any others."""


def open_tasks(name: str, subset: str | None = None) -> TaskSource:
    """Find a task file or a dataset.

    Args:
        name: A file (`.jsonl`, `.json`, `.csv`, `.parquet`), a folder that Hugging Face's `datasets` can read, or the
            name of a dataset on the Hub.
        subset: The configuration of a dataset that has several.

    Raises:
        ConfigurationError: it cannot be read.
    """
    file = Path(name).expanduser()
    read = READERS.get(file.suffix.lower())
    if read is not None:
        return TaskSource((file.stem,), lambda split: read(file))
    if file.is_file() and file.suffix.lower() != ".parquet":
        raise ConfigurationError(
            f"the task file {name} must be JSON lines (.jsonl), JSON (.json), CSV (.csv) or Parquet (.parquet), by "
            "its name"
        )
    found = _load_dataset(name, file, subset)
    return TaskSource(tuple(found), lambda split: _dataset_rows(name, found[split]))


def read_tasks(
    rows: Iterable[PlacedRow],
    task_field: str | None = None,
    answer_field: str | None = None,
    user_field: str | None = None,
) -> TaskRows:
    """Read the tasks of rows.

    A row's id is its column `id`, or its number from 1. A task that is not text becomes JSON.

    Args:
        rows: The rows.
        task_field: The column of the tasks, or `COLUMN.KEY` for a key of its objects. Unless given: the first of
            `TASK_FIELDS` among the columns, among an example's inputs, or its only input.
        answer_field: The column of the reference answers, likewise. Unless given: `answer`, if it is there, or an
            example's output of this name, its only output, or all its outputs.
        user_field: The column, or `COLUMN.KEY`, of the users whose lessons are recalled and written; they are in
            `task["data"]["user"]`.

    Raises:
        ConfigurationError: a row is wrong. The message says where it is.
    """
    tasks: list[Task] = []
    places: dict[str, str] = {}
    digest = hashlib.sha256()
    for where, row in rows:
        # The first row decides for all.
        task_field = task_field or _task_field(row, where)
        instruction = _instruction(row, task_field, where)
        name = _id(row, where, number=len(tasks) + 1)
        if name in places:
            raise ConfigurationError(f"{where}: the id {name!r} is already used in {places[name]}")
        # A message names the file only once.
        places[name] = where.rpartition(", ")[2]
        task = Task(id=name, instruction=instruction, data={})
        reference = _reference(row, answer_field, where)
        if reference not in (None, ""):
            task["data"]["reference"] = reference
        if user_field:
            task["data"]["user"] = user_of(row, user_field, where)
        try:
            digest.update(json.dumps(task, ensure_ascii=False).encode())
        except UnicodeEncodeError as error:
            raise ConfigurationError(f"{where}, holds invalid Unicode: {error}") from error
        tasks.append(task)
    return TaskRows(tasks, digest.hexdigest()[:12])


def _instruction(row: Mapping[str, Any], field: str, where: str) -> str:
    """Return the task of a row as text."""
    value = _cell(row, field, where, "--task-field")
    if value is None or (isinstance(value, str) and not value.strip()):
        raise ConfigurationError(f"{where}: the task in {field!r} is empty")
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=str)


def _id(row: Mapping[str, Any], where: str, number: int) -> str:
    """Return the id of a row, or its number if it has none."""
    given = row.get("id")
    if given is None:
        return str(number)
    # In Python, true is a whole number.
    if not isinstance(given, str | int) or isinstance(given, bool) or given == "":
        raise ConfigurationError(f"{where}: the id must be text or a whole number, not {given!r:.100}")
    return str(given)


def _reference(row: Mapping[str, Any], field: str | None, where: str) -> Any:
    """Return the reference answer of a row as JSON-like data; nothing if it has none."""
    if field:
        reference = _cell(row, field, where, "--answer-field")
    else:
        reference = _answer(row)
    if isinstance(reference, str | None):
        return reference
    # Datasets have dates and bytes.
    return _parse(json.dumps(reference, default=str))


def user_of(row: Mapping[str, Any], field: str, where: str) -> str:
    """Return the user whom a row names in a column, or `COLUMN.KEY`.

    Raises:
        ConfigurationError: it names none; the message says where.
    """
    user = _cell(row, field, where, "--user-field")
    is_name = isinstance(user, str | int) and not isinstance(user, bool)
    if not is_name or not str(user).strip():
        # The lessons of everyone are seen by other runs: nobody's are none of theirs.
        raise ConfigurationError(f"{where}: the user in {field!r} must be text or a whole number, not {user!r:.100}")
    return str(user)


def _task_field(row: Mapping[str, Any], where: str) -> str:
    for name in TASK_FIELDS:
        if name in row:
            return name
    columns_of = {key: f"inputs.{key}" for key in _object(row.get("inputs"))}
    for column in _example(row):
        if column.startswith("input_"):
            columns_of[column.removeprefix("input_")] = column
    for name in TASK_FIELDS:
        if name in columns_of:
            return columns_of[name]
    if len(columns_of) == 1:
        return next(iter(columns_of.values()))
    columns = ", ".join(dict.fromkeys([*row, *columns_of.values()]))
    raise ConfigurationError(
        f"{where}, has the columns {columns}: name the one with the tasks by "
        "--task-field, and the one with the reference answers, if there are any, by --answer-field"
    )


def _answer(row: Mapping[str, Any]) -> Any:
    if ANSWER_FIELD in row:
        return row[ANSWER_FIELD]
    outputs = _outputs(row)
    if not isinstance(outputs, Mapping):
        return outputs
    if len(outputs) == 1:
        return next(iter(outputs.values()))
    if ANSWER_FIELD in outputs:
        return outputs[ANSWER_FIELD]
    return outputs or None


def _outputs(row: Mapping[str, Any]) -> Any:
    """Return the outputs of an example by name, or its only one; empty if it has none."""
    if "inputs" in row:
        named = [row[name] for name in REFERENCES if name in row]
        if named and named[0]:
            return _object(named[0]) or named[0]
    outputs: dict[str, Any] = {}
    for column in _example(row):
        if column.startswith("output_"):
            outputs[column.removeprefix("output_")] = row[column]
    return outputs


def _example(row: Mapping[str, Any]) -> list[str]:
    """Return the columns of a table of examples, which has no others; none of any other table."""
    named = [name for name in row if name not in ("id", "metadata")]
    for name in named:
        if not name.startswith(("input_", "output_")):
            return []
    return named


def _cell(row: Mapping[str, Any], field: str, where: str, option: str) -> Any:
    # The name of a column may have a dot in it.
    if field in row:
        return row[field]
    found: Any = row
    for part in field.split("."):
        found = _object(found)
        if part not in found:
            raise ConfigurationError(f"{where}: there is no {field!r} ({option}) among {', '.join(map(str, row))}")
        found = found[part]
    return found


def _object(value: Any) -> Mapping[str, Any]:
    """Return an object, which a table holds as its JSON; empty if it is none."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            value = _parse(value)
        except (ValueError, RecursionError):
            return {}
    if isinstance(value, Mapping):
        return value
    return {}


def _parse(text: str) -> Any:
    return json.loads(text, parse_int=_whole_number)


def _whole_number(digits: str) -> int | str:
    """Return a number of JSON. Checkpoints hold integers of 64 bits; larger ones are text."""
    if len(digits) < 19:
        return int(digits)
    return digits


def _json_rows(file: Path) -> Iterator[PlacedRow]:
    if file.suffix.lower() == ".json":
        # Anything else than a list would be read as JSON lines.
        is_list = read_text(file).lstrip().startswith("[")
        if not is_list:
            raise ConfigurationError(f"{file} is not a JSON array of objects")
    yield from read_rows(file, _parse)


def _csv_rows(path: Path) -> Iterator[PlacedRow]:
    # The reader finds the ends of rows by itself, as a quoted cell may have several lines.
    text = io.StringIO(read_text(path), newline="")
    reader = csv.reader(text, strict=True)
    header: list[str] = []
    begins = 1
    try:
        for cells in reader:
            where = f"{path}, line {begins}"
            # A row may have several lines.
            begins = reader.line_num + 1
            if not header:
                header = cells
                _expect_different(header, where)
            elif cells:
                if len(cells) != len(header):
                    raise ConfigurationError(f"{where}, has more or fewer cells than the header")
                yield where, dict(zip(header, cells, strict=True))
    except csv.Error as error:
        raise ConfigurationError(f"{path}, line {begins}, is not CSV: {error}") from error


def _expect_different(header: list[str], where: str) -> None:
    """Raise ConfigurationError if two columns have the same name."""
    for name in header:
        if name and header.count(name) > 1:
            raise ConfigurationError(f"{where}: two columns are called {name!r}")


READERS: Mapping[str, Callable[[Path], Iterator[PlacedRow]]] = {
    ".jsonl": _json_rows,
    ".ndjson": _json_rows,
    ".json": _json_rows,
    ".csv": _csv_rows,
}
"""How task files are read, by the end of their names."""


def _load_dataset(name: str, path: Path, subset: str | None) -> Mapping[str, Any]:
    """Return the splits of a dataset by name."""
    try:
        import datasets
    except ImportError as error:
        need = f"a dataset needs {the_extra('datasets')}"
        raise ConfigurationError(f"{name} is not a task file, and {need}") from error
    was_saved = (path / "state.json").exists() or (path / "dataset_dict.json").exists()
    try:
        if was_saved:
            found = datasets.load_from_disk(str(path))
        elif path.is_file():
            found = datasets.load_dataset("parquet", data_files=str(path))
        elif path.exists():
            found = datasets.load_dataset(str(path), subset)
        else:
            found = datasets.load_dataset(name, subset)
    except Exception as error:  # of the package, its file systems and the Hub's client
        nowhere = ""
        if not path.exists():
            nowhere = f"there is no file or folder {name}, and "
        raise ConfigurationError(f"{nowhere}the dataset {name} cannot be loaded: {one_line(error)}") from error
    if isinstance(found, dict):
        return found
    return {str(found.split or path.stem): found}


def _dataset_rows(name: str, dataset: Any) -> Iterator[PlacedRow]:
    number = 0
    # Arrow's own values: images and sounds are not decoded.
    for batch in dataset.with_format("arrow").iter(BATCH):
        for row in batch.to_pylist():
            number += 1
            yield f"{name}, row {number}", row
