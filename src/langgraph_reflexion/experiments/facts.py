"""Descriptions of a run's settings (model, profile, evaluator, seed, commit) for captions."""

from typing import Any

from langgraph_reflexion.experiments.printable import printable
from langgraph_reflexion.models.load import DEMO

NO_LLM = "The demo model follows rules. It is not an LLM, and its numbers say nothing about one."
"""The note beside every number of the demo model."""


def is_oracle(settings: dict[str, Any]) -> bool:
    """Return whether the environment itself, which knows the truth, has scored the trials."""
    return bool(settings["evaluator"] == "environment")


def facts(settings: dict[str, Any]) -> dict[str, str]:
    """Describe the settings that a run's numbers depend on, by name and without the seed; of a log, its source.

    All of it is fit to be shown.

    Args:
        settings: As `run.json` has them.
    """
    options = "".join(f" {key}={value}" for key, value in settings.get("options", {}).items())
    told = {
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
    return {name: printable(text) for name, text in told.items() if text}


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
    """The code that a run was made by: its commit, or else its version.

    Args:
        info: What the run's `run.json` says.
    """
    versions = info.get("versions", {})
    if versions.get("commit"):
        return printable(f"commit {versions['commit']}")
    return (
        f"version {versions['langgraph_reflexion']}" if "langgraph_reflexion" in versions else "version not recorded"
    )


def model_name(name: str) -> str:
    """A model's name, and for the demo model that it is no LLM."""
    return "demo model, not an LLM" if name == DEMO else name
