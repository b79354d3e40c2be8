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
    """Write `experiment.json`. Runs that it lists and the experiment no longer has are kept, marked as dropped."""
    before = read_experiment_info(folder)["runs"] if holds_experiment(folder) else {}
    dropped = {name: {**run, "dropped": True} for name, run in before.items() if name not in runs}
    info = {**facts, "runs": {**runs, **dropped}}
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
    runs = read_experiment_info(folder)["runs"]
    names = [name for name, run in runs.items() if not run.get("dropped")]
    if found := [Path(folder, name) for name in names if holds_run(Path(folder, name))]:
        return found
    raise ConfigurationError(f"{folder} holds an experiment of which no run has begun")
