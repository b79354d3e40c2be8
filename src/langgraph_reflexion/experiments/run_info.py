"""The contents of `run.json`, and their changes when a run is resumed."""

import json
import platform
import uuid
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import langgraph_reflexion
from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.experiments.provenance import NO_LLM, commit
from langgraph_reflexion.models.load import DEMO
from langgraph_reflexion.settings import RunSettings


def describe(settings: RunSettings, tasks: Sequence[str]) -> dict[str, Any]:
    """Return the `run.json` of a new run.

    Args:
        settings: The settings, resolved.
        tasks: The ids of its tasks, in their order.
    """
    # The id distinguishes its checkpoints from those of other runs in the same database.
    info: dict[str, Any] = {"run_id": uuid.uuid4().hex[:12], "settings": settings.public(), "tasks": list(tasks)}
    if DEMO in (settings.model, settings.reflection_model):
        info["note"] = NO_LLM
    info["versions"] = {
        "python": platform.python_version(),
        "langgraph_reflexion": langgraph_reflexion.__version__,
        "commit": commit(),
        **{package: version(package) for package in ("langgraph", "langchain-core")},
    }
    info["created"] = datetime.now(UTC).isoformat(timespec="seconds")
    return info


def settings_of(info: dict[str, Any]) -> RunSettings:
    """Return the settings of a run from its `run.json`, in which addresses lack their passwords.

    Raises:
        ConfigurationError: they belong to another version.
    """
    return RunSettings.read(info["settings"], "setting of run.json")


def continued(info: dict[str, Any], settings: RunSettings, tasks: Sequence[str], folder: Path) -> dict[str, Any]:
    """Return the `run.json` of a run that is resumed under these settings.

    Args:
        info: Its `run.json` so far.
        settings: The settings, resolved.
        tasks: The ids of the tasks under these settings.
        folder: Named in the error.

    Raises:
        ConfigurationError: fixed settings differ, or limits that can only be raised are lower. The message names all
            of them.
    """
    was, now = info["settings"], settings.public()
    differing = [
        f"{name} was {_shown(was.get(name))}, is {_shown(now[name])}"
        for name in settings.resumable("fixed")
        if was.get(name) != now[name]
    ]
    differing += [
        f"{label} was {_shown(had)}, is {_shown(has)}, and can only be raised"
        for name in settings.resumable("raise")
        for label, had, has in _limits(name, was.get(name), now[name])
        if has is not None and (had is None or has < had)
    ]
    if differing:
        raise ConfigurationError(f"{folder} holds a run with other settings: {'; '.join(differing)}")
    had = info["tasks"]
    for number, task in enumerate(had):
        if number >= len(tasks) or tasks[number] != task:
            is_now = repr(tasks[number]) if number < len(tasks) else "none"
            raise ConfigurationError(
                f"{folder} holds a run with other tasks: task {number + 1} was {task!r}, is {is_now}"
            )
    return info | {"settings": now, "tasks": list(tasks)}


def _limits(name: str, was: Any, now: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield each number of a setting that can be raised: its name, the old and the new value; None is no limit."""
    if isinstance(was, dict) or isinstance(now, dict):
        was, now = was or {}, now or {}
        for key in {**was, **now}:
            yield from _limits(f"{name}.{key}", was.get(key), now.get(key))
    else:
        yield name, was, now


def _shown(value: Any) -> str:
    return "unset" if value is None else value if isinstance(value, str) else json.dumps(value)
