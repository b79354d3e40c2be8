"""Provenance of a run: the settings, the commit and the tracing that its numbers were recorded under."""

import logging
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import langgraph_reflexion
from langgraph_reflexion.experiments.printable import printable
from langgraph_reflexion.models.load import DEMO

_log = logging.getLogger(__name__)

NO_LLM = "The demo model follows rules. It is not an LLM, and its numbers say nothing about one."
"""The note beside every number of the demo model."""


def is_oracle(settings: dict[str, Any]) -> bool:
    """Return whether the environment, which knows the truth, scored the trials."""
    return bool(settings["evaluator"] == "environment")


def facts(settings: dict[str, Any]) -> dict[str, str]:
    """Describe the settings that a run's numbers depend on, by name, except the seed; for a log, its source.

    Args:
        settings: As `run.json` has them.
    """
    options = "".join(f" {key}={value}" for key, value in settings.get("options", {}).items())
    described = {
        "tasks": f"{settings['environment']} {settings['split']}{options}",
        "model": model_name(settings["model"]),
        "reflections": f"reflections by {model_name(settings['reflection_model'])}"
        if settings.get("reflection_model")
        else "",
        "actor": f"actor {settings['actor']}",
        "profile": f"profile {settings['profile']}",
        "verdicts": "oracle" if is_oracle(settings) else f"verdicts by {settings['evaluator']}, no oracle",
        "memory": "" if settings.get("memory", "window") == "window" else f"memory {settings['memory']}",
        "map": "memory map" if settings.get("memory_map") else "",
        "lessons": _lessons(settings),
        "source": f"imported from {settings['imported']['source']}" if "imported" in settings else "",
    }
    return {name: printable(text) for name, text in described.items() if text}


def _lessons(settings: dict[str, Any]) -> str:
    if not settings.get("lessons"):
        return ""
    if not settings["recall"]:
        return "lessons written, none recalled"
    return f"lessons recalled{', none written' if settings['frozen'] else ' and written, one task after the other'}"


def described(settings: dict[str, Any]) -> str:
    """Describe a run in one line, with strategy and seed."""
    seed = [] if "imported" in settings else [f"seed {settings['seed']}"]
    return printable(" · ".join([str(settings["strategy"]), *facts(settings).values(), *seed]))


def code_of(info: dict[str, Any]) -> str:
    """Return the code of a run: its commit, or else its version.

    Args:
        info: The run's `run.json`.
    """
    versions = info.get("versions", {})
    if versions.get("commit"):
        return printable(f"commit {versions['commit']}")
    return (
        f"version {versions['langgraph_reflexion']}" if "langgraph_reflexion" in versions else "version not recorded"
    )


def model_name(name: str) -> str:
    """Return a model's name, with a note for the demo model."""
    return "demo model, not an LLM" if name == DEMO else name


def commit() -> str | None:
    """Return the commit of the running code, with `-dirty` if files differ from it; None outside a repository."""
    # The package contains links; git tracks their targets.
    return commit_of(Path(langgraph_reflexion.__file__).resolve())


def commit_of(file: Path) -> str | None:
    """Return the commit that a file belongs to.

    Args:
        file: The file. One in a virtual environment inside another repository belongs to no commit.
    """
    tracked = _git(file.parent, "ls-files", "--error-unmatch", file.name)
    described = _git(file.parent, "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*")
    return described if tracked and described else None


def _git(folder: Path, *args: str) -> str | None:
    try:
        done = subprocess.run(["git", *args], cwd=folder, capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


@contextmanager
def tracing_if_requested() -> Iterator[None]:
    """Trace to LangSmith only if it was requested, by `LANGSMITH_TRACING=true` or in code, and warn of the cost."""
    # Imported here: captions need no tracing.
    from langsmith.run_helpers import tracing_context
    from langsmith.utils import tracing_is_enabled

    if tracing_is_enabled():
        _log.warning(
            "every step is traced to LangSmith, at several times its CPU: LANGSMITH_TRACING=false is without"
        )
        yield
    else:
        with tracing_context(enabled=False):
            yield
