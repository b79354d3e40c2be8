"""An experiment's folder: one run folder for each of its runs, and `experiment.json`, which says what they are."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.experiments.record import holds_run, trouble
from langgraph_reflexion.experiments.rows import write_whole

EXPERIMENT = "experiment.json"


def write_info(folder: Path, told: Mapping[str, Any], runs: Mapping[str, Any]) -> None:
    """Say in `experiment.json` what the experiment is. Runs that it has no more are kept, and named as such.

    Args:
        folder: The experiment's; it is there.
        told: The facts about all runs.
        runs: What is said of each, by name: its series, its place on the axes, its settings without passwords.

    Raises:
        ConfigurationError: it cannot be written, or what it said before cannot be read.
    """
    now = datetime.now(UTC).isoformat(timespec="seconds")
    before: dict[str, Any] = read_info(folder) if holds_experiment(folder) else {"created": now, "runs": {}}
    dropped = {name: {**run, "dropped": True} for name, run in before["runs"].items() if name not in runs}
    info = {**told, "created": before["created"], "begun": now, "runs": {**runs, **dropped}}
    try:
        write_whole(folder / EXPERIMENT, [(json.dumps(info, indent=2, ensure_ascii=False) + "\n").encode()])
    except OSError as error:
        raise ConfigurationError(f"cannot write to {folder}: {error.strerror}") from error


def holds_experiment(folder: Path | str) -> bool:
    """Return whether an experiment was begun in this folder."""
    return Path(folder, EXPERIMENT).exists()


def read_info(folder: Path | str) -> dict[str, Any]:
    """Return a folder's `experiment.json`.

    Raises:
        ConfigurationError: there is none that can be read.
    """
    try:
        info = json.loads(Path(folder, EXPERIMENT).read_text(encoding="utf-8"))
        info["created"], [(run["series"], run["axes"]) for run in info["runs"].values()]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigurationError(
            f"{folder} holds no experiment that can be read: {EXPERIMENT} {trouble(error)}"
        ) from error
    return cast(dict[str, Any], info)


def run_folders(folder: Path | str) -> list[Path]:
    """The run folders of what the experiment has now, as far as they were begun.

    Raises:
        ConfigurationError: none was.
    """
    folder = Path(folder)
    names = [name for name, run in read_info(folder)["runs"].items() if not run.get("dropped")]
    if found := [folder / name for name in names if holds_run(folder / name)]:
        return found
    raise ConfigurationError(f"{folder} holds an experiment of which no run has begun")
