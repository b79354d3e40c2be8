"""Tasks in a workspace, from a file or from Python."""

import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from langgraph_reflexion.envs.base import Task
from langgraph_reflexion.errors import ConfigurationError

TIMEOUT = 300.0
"""The time limit of a command, in seconds."""
MEMORY = 4096
"""The memory limit of a command, in megabytes."""

_LISTS = ("verify", "protect", "allow", "show")
KNOWN = {"id", "path", "instruction", "network", "timeout", "memory", "env", *_LISTS}
"""The keys of a task in a task file."""


def read_tasks(file: Path) -> list[Task]:
    """Read a task file: one task, or several as `[[task]]`. Relative paths start at the file's folder.

    Raises:
        ConfigurationError: the file cannot be read, or a key is wrong.
    """
    try:
        read = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigurationError(f"{file.absolute()}: {error.strerror}") from None
    except ValueError as error:
        raise ConfigurationError(f"{file}: {error}") from None
    several = read.get("task")
    if several is None:
        given: list[Any] = [read]
    elif isinstance(several, list) and several:
        if more := sorted(read.keys() - {"task"}):
            raise ConfigurationError(f"{file}: {more[0]!r} is outside of the tasks: move it into each [[task]]")
        given = several
    else:
        raise ConfigurationError(f"{file}: give the tasks as [[task]]")
    return make_tasks(given, file.absolute().parent, str(file))


def make_tasks(given: Sequence[Mapping[str, Any]], base: Path, where: str) -> list[Task]:
    """Make tasks from the tables of a task file.

    Args:
        given: The tables.
        base: The folder at which relative paths start.
        where: The source of the tables, for error messages.

    Raises:
        ConfigurationError: a key is missing, unknown or wrong.
    """
    tasks = [
        _task(each, base, where if len(given) == 1 else f"{where}, task {number}")
        for number, each in enumerate(given, 1)
    ]
    ids = [task["id"] for task in tasks]
    for name in ids:
        if ids.count(name) > 1:
            raise ConfigurationError(f"{where}: two tasks have the id {name!r}: give each an id of its own")
    return tasks


def _task(given: Mapping[str, Any], base: Path, where: str) -> Task:
    if not isinstance(given, Mapping):
        raise ConfigurationError(f"{where}: a task must be a table, not {given!r:.60}")
    if unknown := sorted(given.keys() - KNOWN):
        raise ConfigurationError(f"{where}: unknown {unknown[0]!r}: a task has {', '.join(sorted(KNOWN))}")
    for name in ("path", "instruction", "verify"):
        if not given.get(name):
            raise ConfigurationError(f"{where}: {name!r} is missing")
    path = Path(os.path.normpath(base / Path(_text(given, "path", where)).expanduser())).resolve()
    if not path.is_dir():
        raise ConfigurationError(f"{where}: path: there is no folder {path}")
    lists = {name: _strings(given, name, where) for name in _LISTS}
    lists["show"] = [os.path.normpath(base / Path(shown).expanduser()) for shown in lists["show"]]
    if missing := [shown for shown in lists["show"] if not os.path.exists(shown)]:
        raise ConfigurationError(f"{where}: show: there is no {missing[0]}")
    name = _text(given, "id", where) if "id" in given else re.sub(r"[^\w.-]+", "-", path.name).strip("-.") or "task"
    if not re.fullmatch(r"[\w][\w.-]{0,99}", name, re.ASCII):
        raise ConfigurationError(f"{where}: id {name!r:.120}: use letters, digits, '-', '_' and '.'")
    network = given.get("network", False)
    if not isinstance(network, bool):
        raise ConfigurationError(f"{where}: network must be true or false, not {network!r:.60}")
    data = {
        "path": str(path),
        **lists,
        "network": network,
        "timeout": float(_number(given, "timeout", TIMEOUT, where)),
        "memory": int(_number(given, "memory", MEMORY, where)),
        "env": _variables(given, where),
    }
    return Task(id=name, instruction=_text(given, "instruction", where), data=data)


def _text(given: Mapping[str, Any], name: str, where: str) -> str:
    value = os.fspath(given[name]) if isinstance(given[name], os.PathLike) else given[name]
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise ConfigurationError(f"{where}: {name} must be text, not {value!r:.60}")
    return value


def _strings(given: Mapping[str, Any], name: str, where: str) -> list[str]:
    values = given.get(name, [])
    values = [values] if isinstance(values, str) else values
    good = isinstance(values, Sequence) and all(isinstance(v, str) and v.strip() and "\0" not in v for v in values)
    if not good:
        raise ConfigurationError(f"{where}: {name} must be a list of texts, not {values!r:.60}")
    return list(values)


def _number(given: Mapping[str, Any], name: str, default: float, where: str) -> float:
    value = given.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 1 <= value <= 10**6:
        raise ConfigurationError(f"{where}: {name} must be a number from 1 to {10**6}, not {value!r:.60}")
    return value


def _variables(given: Mapping[str, Any], where: str) -> dict[str, str]:
    values = given.get("env", {})
    if not isinstance(values, Mapping) or not all(
        isinstance(v, str) and isinstance(k, str) for k, v in values.items()
    ):
        raise ConfigurationError(f"{where}: env must be a table of texts, not {values!r:.60}")
    return dict(values)
