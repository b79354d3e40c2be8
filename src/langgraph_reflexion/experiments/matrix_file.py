"""Experiment files: TOML, read into the runs of a matrix.

    [common]                          # settings of every run, by the names of `RunSettings`
    max_trials = 4

    [matrix]                          # the axes: every combination is a run
    environments = ["alfworld", "hotpotqa"]
    strategies = ["retry", "reflexion"]
    seeds = 3

    [environments.hotpotqa]           # settings of one environment, and axes of its own
    actors = ["react", "cot"]

An environment, a model and an ablation may have a table with settings. Of two tables that say the same thing the
later one holds: `common`, the environment's, the model's, the axes `actors` and `strategies`, the ablation's.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from langgraph_reflexion.budgets import Budget
from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.experiments.matrix_schema import AXES, NONE, ExperimentFile, read_schema
from langgraph_reflexion.models.load import DEMO
from langgraph_reflexion.settings import RunSettings, merge_budgets


@dataclass(frozen=True)
class Cell:
    """One run of an experiment.

    Attributes:
        name: Names it, and its folder; other values on an axis do not change it.
        series: The same without the seed.
        axes: Its place in the matrix: the axis, in the singular, and the value; None where the file leaves it
            to the profile.
        settings: What is run, not resolved.
    """

    name: str
    series: str
    axes: Mapping[str, Any]
    settings: RunSettings


@dataclass(frozen=True)
class Experiment:
    """A matrix of runs.

    Attributes:
        file: Where it was read from.
        cells: Its runs, in the order in which they run: all of the first seed, then all of the next.
        budget: What all of it may spend, runs that are finished included.
    """

    file: Path
    cells: tuple[Cell, ...]
    budget: Budget


def read_experiment(file: Path | str) -> Experiment:
    """Read an experiment.

    Raises:
        ConfigurationError: the file cannot be read, or something in it is wrong. The message names file, table and
            key.
    """
    file = Path(file)
    try:
        tables = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigurationError(f"{file} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{file} is no TOML: {error}") from error
    try:
        read = read_schema(tables)
        return Experiment(file, _cells(read), Budget(**read.budget))
    except ConfigurationError as error:
        raise ConfigurationError(f"{file}: {error}") from error


def _cells(read: ExperimentFile) -> tuple[Cell, ...]:
    named = read.matrix.get("environments", list(read.environments))
    if not named:
        raise ConfigurationError("[matrix], environments: name at least one, or give it a table [environments.NAME]")
    needed: set[int] = set()
    found: list[Cell] = []
    used: dict[str, set[str]] = {"environments": set(named), "models": set(), "ablations": set()}
    for environment in named:
        axes = _axes(read, environment)
        used["models"] |= {*axes["models"]}
        used["ablations"] |= {*axes["ablations"]}
        for values in product(*axes.values()):
            at = {"environment": environment, **dict(zip((AXES[name] for name in axes), values, strict=True))}
            excluding = {
                number
                for number, rule in enumerate(read.exclude, 1)
                if all(at[axis] in among for axis, among in rule.items())
            }
            needed |= excluding
            if not excluding:
                found.append(_cell(read, at))
    for number, rule in enumerate(read.exclude, 1):
        if number not in needed:
            told = ", ".join(f"{axis} = {' or '.join(map(str, among))}" for axis, among in rule.items())
            raise ConfigurationError(f"[[exclude]] number {number} ({told}) excludes nothing")
    for table, names in used.items():
        if idle := [name for name in getattr(read, table) if name not in names]:
            raise ConfigurationError(f"[{table}.{idle[0]}]: no run uses it; name it in {table}, or leave it out")
    if not found:
        raise ConfigurationError("every combination is excluded")
    _told_apart(found)
    # A whole comparison under the first seed comes before a second seed of anything.
    seeds = {seed: number for number, seed in enumerate(dict.fromkeys(cell.axes["seed"] for cell in found))}
    return tuple(sorted(found, key=lambda cell: seeds[cell.axes["seed"]]))


def _axes(read: ExperimentFile, environment: str) -> dict[str, list[Any]]:
    own = read.environments.get(environment, {})
    given = {**read.matrix, **{axis: own[axis] for axis in AXES if axis in own}}
    models = list(read.models) or [{**read.common, **own}.get("model", DEMO)]
    usual: dict[str, list[Any]] = {
        "actors": [None],
        "strategies": [None],
        "ablations": [NONE],
        "models": models,
        "seeds": [0],
    }
    return {axis: given.get(axis, values) for axis, values in usual.items()}


def _cell(read: ExperimentFile, at: dict[str, Any]) -> Cell:
    label, model, ablation = at["environment"], at["model"], at["ablation"]
    if ablation != NONE and ablation not in read.ablations:
        known = ", ".join([NONE, *read.ablations])
        raise ConfigurationError(f"ablations: there is no table [ablations.{ablation}]; known are {known}")
    own = {key: value for key, value in read.environments.get(label, {}).items() if key not in AXES}
    environment = own.pop("environment", label)
    of_model = dict(read.models.get(model, {}))
    name = of_model.setdefault("model", model)
    if price := of_model.pop("price", None):
        of_model["prices"] = {name: price, **of_model.get("prices", {})}
    of_axes = {axis: at[axis] for axis in ("actor", "strategy") if at[axis] is not None}
    settings: dict[str, Any] = {}
    for table in (read.common, own, of_model, of_axes):
        settings = _over(settings, table)
    axes = {**at, "actor": settings.get("actor"), "strategy": settings.get("strategy")}
    parts = [label, axes["actor"], axes["strategy"], None if ablation == NONE else ablation, model]
    series = "-".join(re.sub(r"[^\w.]+", "-", part).strip("-") for part in parts if part)
    settings = _over(settings, read.ablations.get(ablation, {}))
    made = RunSettings.read({"environment": environment, "seed": at["seed"], **settings})
    return Cell(f"{series}-s{at['seed']}", series, axes, made)


def _over(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Settings over others. Options and prices are put together by name, budgets by what they limit."""
    merged = {**below, **above}
    for name in ("options", "prices"):
        if name in below and name in above:
            merged[name] = {**below[name], **above[name]}
    if "budgets" in below and "budgets" in above:
        merged["budgets"] = merge_budgets(below["budgets"], above["budgets"])
    return merged


def _told_apart(cells: Sequence[Cell]) -> None:
    """Refuse runs of the same name, and runs that are the same under two names."""
    name, times = Counter(cell.name.casefold() for cell in cells).most_common(1)[0]
    if times > 1:
        raise ConfigurationError(f"{times} runs would be called {name}: give the labels names that differ")
    seen: dict[str, str] = {}
    for cell in cells:
        other = seen.setdefault(repr(cell.settings), cell.name)
        if other != cell.name:
            raise ConfigurationError(
                f"{other} and {cell.name} are the same run, as one table sets what an axis sets: [[exclude]] one"
            )
