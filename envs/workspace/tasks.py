"""Tasks in a workspace, from a file or from Python."""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from langgraph_reflexion.envs.base import Task
from langgraph_reflexion.errors import ConfigurationError, explain
from langgraph_reflexion.support.files import read_toml


def _text(given: str) -> str:
    if not given.strip() or "\0" in given:
        raise ValueError("must be text")
    return given


def _list(given: Any) -> Any:
    if isinstance(given, str):
        return [given]
    if isinstance(given, tuple):
        return list(given)
    return given


def _path(given: Any) -> Any:
    if isinstance(given, os.PathLike):
        return os.fspath(given)
    return given


LONGEST_NAME = 200
"""Characters of a path in an error message."""

_Text = Annotated[str, AfterValidator(_text)]
_Texts = Annotated[list[_Text], BeforeValidator(_list)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    id: Annotated[str, Field(pattern=r"\A[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}\z")] = ""
    path: Annotated[_Text, BeforeValidator(_path)]
    instruction: _Text
    verify: Annotated[_Texts, Field(min_length=1)]
    protect: _Texts = []
    allow: _Texts = []
    show: _Texts = []
    network: bool = False
    timeout: Annotated[float, Field(ge=1, le=10**6)] = 300.0
    """The time limit of a command, in seconds."""
    memory: Annotated[int, Field(ge=1, le=10**6)] = 4096
    """The memory limit of a command, in megabytes."""
    env: dict[str, str] = {}


def read_data(task: Task) -> dict[str, Any]:
    """Return the data of a task, checked: it may be from a graph's input or state, which anybody may have written.

    Raises:
        ConfigurationError: this is not a task of a workspace; the message names what is wrong.
    """
    where = f"the task {task['id']!r:.100}"
    data = task.get("data")
    if not isinstance(data, Mapping) or not {"path", "verify"} <= data.keys():
        raise ConfigurationError(f"{where} is not a workspace task")
    given = dict(data)
    given["id"] = task["id"]
    given["instruction"] = task["instruction"]
    table = _validated(given, where)
    if not table.id:
        raise ConfigurationError(f"{where}: the id must not be empty")
    _expect_absolute(table.path, f"{where}: path")
    for path in table.show:
        _expect_absolute(path, f"{where}: show")
    return _data_of(table)


def _expect_absolute(path: str, where: str) -> None:
    if not os.path.isabs(path) or path != os.path.normpath(path):
        raise ConfigurationError(f"{where}: {path!r:.200} is not an absolute path without '..'")


def _validated(given: Mapping[str, Any], where: str) -> _Table:
    try:
        return _Table.model_validate(given)
    except ValidationError as error:
        raise ConfigurationError(f"{where}: {explain(error, 'key', model=_Table)}") from None


def _data_of(table: _Table) -> dict[str, Any]:
    return table.model_dump(exclude={"id", "instruction"})


def read_tasks(file: Path) -> list[Task]:
    """Read a task file: one task, or several as `[[task]]`. Relative paths start at the file's folder.

    Raises:
        ConfigurationError: the file cannot be read, or a key is wrong.
    """
    read = read_toml(file)
    given: Any = [read]
    # A file of one task has the keys of the task itself.
    if read.keys() == {"task"}:
        given = read["task"]
    if not isinstance(given, list) or not given:
        raise ConfigurationError(f"{file}: give the tasks as [[task]]")
    return make_tasks(given, file.absolute().parent, str(file))


def make_tasks(given: Sequence[Mapping[str, Any]], base: Path, where: str) -> list[Task]:
    """Make tasks from the tables of a task file; relative paths start at `base`, and errors name the source, `where`.

    Raises:
        ConfigurationError: a key is missing, unknown or wrong.
    """
    tasks = []
    for number, each in enumerate(given, 1):
        source = where
        if len(given) > 1:
            source = f"{where}, task {number}"
        tasks.append(_task(each, base, source))
    ids = [task["id"] for task in tasks]
    twice = [name for name in ids if ids.count(name) > 1]
    if twice:
        raise ConfigurationError(f"{where}: two tasks have the id {twice[0]!r}: give them different ids")
    return tasks


def _task(given: Mapping[str, Any], base: Path, where: str) -> Task:
    if not isinstance(given, Mapping):
        raise ConfigurationError(f"{where}: a task is a table, not {given!r:.60}")
    table = _validated(given, where)
    path = Path(os.path.realpath(_from_base(table.path, base)))
    show = [_from_base(shown, base) for shown in table.show]
    if not os.path.isdir(path):
        raise ConfigurationError(f"{where}: path: there is no folder {_named(path)}")
    for shown in show:
        if not os.path.exists(shown):
            raise ConfigurationError(f"{where}: show: there is no {_named(shown)}")
    data = _data_of(table)
    data["path"] = str(path)
    data["show"] = show
    return Task(id=table.id or _id_of(path), instruction=table.instruction, data=data)


def _from_base(path: str, base: Path) -> str:
    # These functions of `os.path` raise nothing at a name that is too long, or at a user who does not exist.
    expanded = os.path.expanduser(path)
    return os.path.normpath(base / expanded)


def _id_of(folder: Path) -> str:
    """Return an id that is made of a folder's name."""
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", folder.name)
    return name.strip("-.")[:100] or "task"


def _named(path: Path | str) -> str:
    """Return a path in one line, cut to a length that a reader can take in."""
    text = " ".join(str(path).split())
    if len(text) <= LONGEST_NAME:
        return text
    return f"{text[:LONGEST_NAME]}…"
