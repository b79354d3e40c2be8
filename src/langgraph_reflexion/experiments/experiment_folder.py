"""Folders of experiments: a run folder for each run, and `experiment.json`, which lists them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.experiments.record import holds_run, json_error
from langgraph_reflexion.experiments.rows import atomic_write

EXPERIMENT = "experiment.json"


def write_experiment(folder: Path, facts: Mapping[str, Any], runs: Mapping[str, Any]) -> None:
    """Write `experiment.json`. The folders of runs that the experiment no longer has stay, and are not listed."""
    info = {**facts, "runs": runs}
    atomic_write(folder / EXPERIMENT, [(json.dumps(info, indent=2, ensure_ascii=False) + "\n").encode()])


def holds_experiment(folder: Path | str) -> bool:
    """Return whether an experiment was begun in this folder."""
    return Path(folder, EXPERIMENT).exists()


def read_experiment_info(folder: Path | str) -> dict[str, Any]:
    """Return a folder's `experiment.json`."""
    try:
        info = json.loads(Path(folder, EXPERIMENT).read_text(encoding="utf-8"))
        [(run["series"], run["axes"]) for run in info["runs"].values()]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigurationError(f"{folder} holds no experiment: {EXPERIMENT} {json_error(error)}") from error
    return cast(dict[str, Any], info)


def run_folders(folder: Path | str) -> list[Path]:
    """Return the run folders of the experiment's runs that have begun."""
    listed = [Path(folder, name) for name in read_experiment_info(folder)["runs"]]
    if begun := [run for run in listed if holds_run(run)]:
        return begun
    raise ConfigurationError(f"{folder} holds an experiment of which no run has begun")
