"""Provenance of a run: `run.json`, and the settings and the commit behind its numbers in words."""

import json
import platform
import subprocess
import uuid
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import zip_longest
from pathlib import Path
from typing import Any

from rich.cells import cell_len

import langgraph_reflexion
from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.lab.settings import RunSettings
from langgraph_reflexion.models.load import AGENTS_MODEL, DEMO
from langgraph_reflexion.support.text import printable

BETWEEN = " · "
"""What stands between the settings of a run in words."""
NO_LLM = "The demo model follows rules. It is not an LLM, and its numbers say nothing about one."
"""The note beside every number of the demo model."""


def new_info(settings: RunSettings, tasks: Sequence[str]) -> dict[str, Any]:
    """Return the `run.json` of a new run with these resolved settings and tasks, by their ids."""
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
    info["created"] = datetime.now(UTC).isoformat(timespec="milliseconds")
    return info


def settings_of(info: dict[str, Any]) -> RunSettings:
    """Return the settings of a run from its `run.json`, in which addresses lack their passwords.

    Raises:
        ConfigurationError: they belong to another version.
    """
    return RunSettings.read(info["settings"], "setting of run.json")


def resumed_info(
    info: dict[str, Any], settings: RunSettings, goals: Mapping[str, str], folder: Path
) -> dict[str, Any]:
    """Return the `run.json` of a run that is resumed under these settings; `goals` are the instructions by task."""
    was, now = info["settings"], settings.public()
    differing = [
        f"{'the digest of the tasks' if label == 'options.digest' else label} was {_shown(had)}, is {_shown(has)}"
        for name in settings.resumable("fixed")
        if name in was  # an older version did not have all of them
        for label, had, has in _parts(name, was[name], now[name])
        if had != has
    ]
    differing += [
        f"{label} was {_shown(had)}, is {_shown(has)}, and can only be raised"
        for name in settings.resumable("raise")
        if name in was
        for label, had, has in _parts(name, was[name], now[name])
        if has is not None and (had is None or has < had)
    ]
    if differing:
        raise ConfigurationError(f"{folder} holds a run with other settings: {'; '.join(differing)}")
    for number, (had, has) in enumerate(zip_longest(info["tasks"], list(goals)[: len(info["tasks"])]), 1):
        if had != has:
            raise ConfigurationError(f"{folder} holds a run with other tasks: task {number} was {had!r}, is {has!r}")
        goal = info.get("goals", {}).get(has, goals[has])
        if goals[has] != goal and "[secret]" not in str(goal):  # redacted: the text is unknown
            raise ConfigurationError(f"{folder} holds a run with another text of task {has!r}: choose another folder")
    return info | {"settings": now, "tasks": list(goals)}


def _parts(name: str, was: Any, now: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield each part of a setting: its name, the old and the new value; None if there is none."""
    if isinstance(was, dict) or isinstance(now, dict):
        was, now = was or {}, now or {}
        for key in {**was, **now}:
            yield from _parts(f"{name}.{key}", was.get(key), now.get(key))
    else:
        yield name, was, now


def _shown(value: Any) -> str:
    return "unset" if value is None else value if isinstance(value, str) else json.dumps(value)


def is_oracle(settings: Mapping[str, Any]) -> bool:
    """Return whether the truth scored the trials: the environment, or a comparison with reference answers."""
    return settings["evaluator"] in ("environment", "exact")


def facts(settings: dict[str, Any]) -> dict[str, str]:
    """Describe the settings of `run.json` that its numbers depend on, by name, except the seed."""
    described = {
        "tasks": _tasks(settings),
        "model": model_name(settings["model"]),
        "reflections": f"reflections by {model_name(settings['reflection_model'])}"
        if settings.get("reflection_model")
        else "",
        "actor": f"actor {settings['actor']}" if settings.get("actor") else "",
        "profile": f"profile {settings['profile']}",
        "verdicts": "oracle" if is_oracle(settings) else f"verdicts by {settings['evaluator']}, no oracle",
        "memory": "" if settings.get("memory", "window") == "window" else f"memory {settings['memory']}",
        "map": "memory map" if settings.get("memory_map") else "",
        "lessons": _lessons(settings),
        "source": f"imported from {settings['imported']['source']}" if "imported" in settings else "",
    }
    return {name: printable(text) for name, text in described.items() if text}


def _tasks(settings: dict[str, Any]) -> str:
    name, split, options = settings["environment"], settings["split"], settings.get("options", {})
    if "digest" not in options:
        given = "".join(f" {key}={value}" for key, value in options.items())
        return f"{name} {split}{given}"
    # An agent of your own. The digest tells its tasks from others in a file of the same name, or in other columns.
    file = str(options.get("tasks"))
    # A file's only split has its name.
    part = "" if split == Path(file).stem else f" {split}"
    return f"{name} on {file}{part} (digest {options['digest']})"


def _lessons(settings: dict[str, Any]) -> str:
    if not settings.get("lessons"):
        return ""
    if not settings.get("recall", True):
        return "lessons written, none recalled"
    if settings.get("frozen", False):
        return "lessons recalled, none written"
    return "lessons recalled and written, one task after the other"


def described(settings: dict[str, Any]) -> str:
    """Describe a run in one line, with strategy and seed."""
    seed = [] if "imported" in settings else [f"seed {settings['seed']}"]
    return printable(BETWEEN.join([str(settings["strategy"]), *facts(settings).values(), *seed]))


def in_lines(parts: Sequence[str], width: int) -> list[str]:
    """Join settings in words to lines of at most `width` characters, which break between two settings.

    A setting that is longer than a line has one of its own.
    """
    lines: list[str] = []
    for part in parts:
        longer = f"{lines[-1]}{BETWEEN}{part}" if lines else ""
        if lines and cell_len(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(part)
    return lines


def code_of(info: dict[str, Any]) -> str:
    """Return the code of a run, by its `run.json`: its commit, or else its version."""
    versions = info.get("versions", {})
    if versions.get("commit"):
        return printable(f"commit {versions['commit']}")
    return (
        f"version {versions['langgraph_reflexion']}" if "langgraph_reflexion" in versions else "version not recorded"
    )


def model_name(name: str) -> str:
    """Return a model's name, with a note for the demo model."""
    return {DEMO: "demo model, not an LLM", AGENTS_MODEL: "the agent's own model"}.get(name, name)


def commit() -> str | None:
    """Return the commit of the running code, with `-dirty` if files differ from it; None outside a repository."""
    # The package contains links; git tracks their targets.
    return commit_of(Path(langgraph_reflexion.__file__).resolve())


def commit_of(file: Path) -> str | None:
    """Return the commit that a file belongs to; None if git does not track it, as in a virtual environment."""
    tracked = _git(file.parent, "ls-files", "--error-unmatch", file.name)
    described = _git(file.parent, "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*")
    return described if tracked and described else None


def _git(folder: Path, *args: str) -> str | None:
    try:
        done = subprocess.run(["git", *args], cwd=folder, capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
