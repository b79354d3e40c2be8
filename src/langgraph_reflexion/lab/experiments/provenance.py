"""Provenance of a run: `run.json`, and the settings and the commit behind its numbers in words."""

import hashlib
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
from langgraph_reflexion.lab.in_turn import model_names
from langgraph_reflexion.lab.run_settings import RunSettings
from langgraph_reflexion.models.load import AGENTS_MODEL, DEMO
from langgraph_reflexion.support.objects import file_named
from langgraph_reflexion.support.text import printable

BETWEEN = " · "
"""What stands between the settings of a run in words."""
NO_LLM = "The demo model follows rules. It is not an LLM, and its numbers say nothing about one."
"""The note beside every number of the demo model."""


def new_info(settings: RunSettings, tasks: Sequence[str]) -> dict[str, Any]:
    """Return the `run.json` of a new run with these resolved settings and tasks, by their ids."""
    # The id distinguishes its checkpoints from those of other runs in the same database.
    info: dict[str, Any] = {
        "run_id": uuid.uuid4().hex[:12],
        "settings": settings.public(),
        "tasks": list(tasks),
    }
    if DEMO in (*model_names(settings.model), settings.reflection_model):
        info["note"] = NO_LLM
    info["code"] = digests_of_code(settings)
    info["versions"] = {
        "python": platform.python_version(),
        "langgraph_reflexion": langgraph_reflexion.__version__,
        "commit": commit(),
        "langgraph": version("langgraph"),
        "langchain-core": version("langchain-core"),
    }
    info["created"] = datetime.now(UTC).isoformat(timespec="milliseconds")
    return info


def digests_of_code(settings: RunSettings) -> dict[str, str]:
    """Return a digest of each file that a setting names as FILE.py:NAME, by the file as it is named.

    Other files that these import are not looked at.
    """
    digests: dict[str, str] = {}
    # `--model` may name several, separated by commas.
    for value in [*_texts(settings.public()), *model_names(settings.model)]:
        file = file_named(value)
        if file is not None and file.is_file():
            digests[str(file)] = hashlib.sha256(file.read_bytes()).hexdigest()[:16]
    return digests


def _texts(value: Any) -> Iterator[str]:
    """Yield each text in a value of settings."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from _texts(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _texts(part)


def changed_code(info: Mapping[str, Any], settings: RunSettings) -> list[str]:
    """Return the files of the user's code that have changed since a run began or was resumed, by its `run.json`."""
    now = digests_of_code(settings)
    return [file for file, digest in info.get("code", {}).items() if now.get(file, digest) != digest]


def expect_same_code(info: Mapping[str, Any], settings: RunSettings, folder: Path) -> None:
    """Check that the user's code is that of the run in the folder, whose figures would pass for the new code's.

    After an error, which ends a task, the code is what has to change.

    Raises:
        ConfigurationError: a file has changed.
    """
    changed = changed_code(info, settings)
    if changed and not info.get("errors"):
        files = ", ".join(changed)
        raise ConfigurationError(
            f"{folder} holds a run of other code, as {files} has changed since: choose another folder for a run of "
            f"the new code. An unfinished run continues with the new code by langgraph-reflexion resume {folder}"
        )


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
    was = info["settings"]
    now = settings.public()
    differing = _changed(settings, was, now) + _lowered(settings, was, now)
    if differing:
        raise ConfigurationError(
            f"{folder} holds a run with other settings (resume it, or choose another folder): {'; '.join(differing)}"
        )
    _expect_tasks(info, goals, folder)
    resumed = dict(info)
    resumed["settings"] = now
    resumed["tasks"] = list(goals)
    return resumed


def _expect_tasks(info: Mapping[str, Any], goals: Mapping[str, str], folder: Path) -> None:
    """Check that a run goes on with the tasks that it began with, after which others may come.

    Raises:
        ConfigurationError: a task is another one, or has another text.
    """
    first_tasks = list(goals)[: len(info["tasks"])]
    recorded = info.get("goals", {})
    for number, (had, has) in enumerate(zip_longest(info["tasks"], first_tasks), 1):
        if had != has:
            raise ConfigurationError(f"{folder} holds a run with other tasks: task {number} was {had!r}, is {has!r}")
        goal = recorded.get(has, goals[has])
        # The text of a task in which a secret was redacted is unknown.
        if "[secret]" in str(goal):
            continue
        if goals[has] != goal:
            raise ConfigurationError(f"{folder} holds a run with another text of task {has!r}: choose another folder")


def _changed(settings: RunSettings, was: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return, in words, the parts of settings that differ and must not."""
    differing = []
    for name in settings.resumable("fixed"):
        if name not in was:
            continue  # an older version did not have all of them
        for label, had, has in _parts(name, was[name], now[name]):
            if had == has:
                continue
            if label == "options.digest":
                label = "the digest of the tasks"
            differing.append(f"{label} was {_shown(had)}, is {_shown(has)}")
    return differing


def _lowered(settings: RunSettings, was: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return, in words, the limits that are lower than before, and may only be raised."""
    lowered = []
    for name in settings.resumable("raise"):
        if name not in was:
            continue
        for label, had, has in _parts(name, was[name], now[name]):
            # None means no limit.
            if has is None:
                continue
            if had is None or has < had:
                lowered.append(f"{label} was {_shown(had)}, is {_shown(has)}, and can only be raised")
    return lowered


def _parts(name: str, was: Any, now: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield each part of a setting: its name, the old and the new value; None if there is none."""
    if not isinstance(was, dict) and not isinstance(now, dict):
        yield name, was, now
        return
    was = was or {}
    now = now or {}
    for key in was | now:
        yield from _parts(f"{name}.{key}", was.get(key), now.get(key))


def _shown(value: Any) -> str:
    """Return a value for an error message."""
    if value is None:
        return "unset"
    if isinstance(value, str):
        return value
    return json.dumps(value)


def is_oracle(settings: Mapping[str, Any]) -> bool:
    """Return whether the truth scored the trials: the environment, or a comparison with reference answers."""
    truth = settings.get("truth")
    if truth is not None:
        return bool(settings["evaluator"] == truth)
    return settings["evaluator"] in ("environment", "exact")


def facts(settings: dict[str, Any]) -> dict[str, str]:
    """Describe the settings of `run.json` that its numbers depend on, by name, except the seed."""
    described = {"tasks": _tasks(settings), "model": model_name(settings["model"])}
    if settings.get("reflection_model"):
        described["reflections"] = f"reflections by {model_name(settings['reflection_model'])}"
    if settings.get("actor"):
        described["actor"] = f"actor {settings['actor']}"
    described["profile"] = f"profile {settings['profile']}"
    described["verdicts"] = f"verdicts by {settings['evaluator']}, no oracle"
    if is_oracle(settings):
        described["verdicts"] = "oracle"
    elif settings.get("truth"):
        described["truth"] = f"truth by {settings['truth']}"
    memory = settings.get("memory", "window")
    if memory != "window":
        described["memory"] = f"memory {memory}"
    if settings.get("memory_map"):
        described["map"] = "memory map"
    if settings.get("facts"):
        described["facts"] = "facts about trials"
    if settings.get("rejects_answers"):
        described["answers"] = "rejected answers sampled again"
    described["lessons"] = _lessons(settings)
    if "imported" in settings:
        described["source"] = f"imported from {settings['imported']['source']}"
    return {name: printable(text) for name, text in described.items() if text}


def _tasks(settings: dict[str, Any]) -> str:
    """Describe a run's tasks, with the options of the environment."""
    named = tasks_in_words(settings)
    options = settings.get("options", {})
    if "digest" not in options:
        given = "".join(f" {key}={value}" for key, value in options.items())
        return f"{named}{given}"
    # An agent of your own. The digest tells its tasks from others in a file of the same name, or in other columns.
    return f"{named} (digest {options['digest']})"


def tasks_in_words(settings: dict[str, Any]) -> str:
    """Name a run's tasks: the environment and the split, or an agent of your own and the file of its tasks."""
    name = settings["environment"]
    split = settings["split"]
    options = settings.get("options", {})
    if "digest" not in options:
        return f"{name} {split}"
    file = str(options.get("tasks"))
    where = file
    # A file's only split has its name.
    if split != Path(file).stem:
        where = f"{file} {split}"
    return f"{name} on {where}"


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
    parts = [str(settings["strategy"])]
    parts += facts(settings).values()
    if "imported" not in settings:
        parts.append(f"seed {settings['seed']}")
    return printable(BETWEEN.join(parts))


def in_lines(parts: Sequence[str], width: int) -> list[str]:
    """Join settings in words to lines of at most `width` characters, which break between two settings.

    A setting that is longer than a line has one of its own.
    """
    lines: list[str] = []
    for part in parts:
        if lines:
            longer = f"{lines[-1]}{BETWEEN}{part}"
            if cell_len(longer) <= width:
                lines[-1] = longer
                continue
        lines.append(part)
    return lines


def code_of(info: dict[str, Any]) -> str:
    """Return the code of a run, by its `run.json`: its commit, or else its version."""
    versions = info.get("versions", {})
    if versions.get("commit"):
        return printable(f"commit {versions['commit']}")
    if "langgraph_reflexion" in versions:
        return printable(f"version {versions['langgraph_reflexion']}")
    return "version not recorded"


def model_name(name: str) -> str:
    """Return a model's name, with a note for the demo model."""
    if name == DEMO:
        return "demo model, not an LLM"
    if name == AGENTS_MODEL:
        return "the agent's own model"
    return name


def commit() -> str | None:
    """Return the commit of the running code, with `-dirty` if files differed from it; None if it has none."""
    # The package contains links; git tracks their targets.
    package = Path(langgraph_reflexion.__file__).resolve()
    tracked = commit_of(package)
    if tracked:
        return tracked
    # Of an installation from a clone, as its build has written it down.
    written = package.parent / "commit.txt"
    if written.is_file():
        return written.read_text(encoding="utf-8").strip()
    return None


def commit_of(file: Path) -> str | None:
    """Return the commit that a file belongs to; None if git does not track it, as in a virtual environment."""
    tracked = _git(file.parent, "ls-files", "--error-unmatch", file.name)
    described = _git(file.parent, "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*")
    if not tracked or not described:
        return None
    return described


def _git(folder: Path, *args: str) -> str | None:
    try:
        done = subprocess.run(["git", *args], cwd=folder, capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    if done.returncode != 0:
        return None
    return done.stdout.strip()
