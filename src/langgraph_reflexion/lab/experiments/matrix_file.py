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
later one counts: `common`, the environment's, the model's, the axes `actors` and `strategies`, the ablation's.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from langgraph_reflexion.errors import ConfigurationError, validated
from langgraph_reflexion.lab.settings import RunSettings, merge_budgets
from langgraph_reflexion.models.load import DEMO
from langgraph_reflexion.support.files import read_toml

AXES = {"actors": "actor", "strategies": "strategy", "ablations": "ablation", "models": "model", "seeds": "seed"}
"""The axes besides the environments, and the name of one value of each."""

NONE = "none"
"""The ablation that removes nothing."""

MAX_VALUES = 1_000
"""Values on an axis: each is at least a run of its own."""


def _once(values: Any) -> Any:
    if not isinstance(values, list):
        return values
    if len(values) > MAX_VALUES:
        raise ValueError(f"there may be at most {MAX_VALUES} of them")
    if again := [each for each in values if values.count(each) > 1]:
        raise ValueError(f"{again[0]!r} is listed twice")
    return values


def _seeds(seeds: Any) -> Any:
    """Return a list of seeds; a number N is the seeds from 0 to N - 1."""
    if not isinstance(seeds, int):
        return seeds
    # One more than allowed says that there are too many, in few numbers.
    return list(range(min(seeds, MAX_VALUES + 1)))


_Names = Annotated[list[str], Field(min_length=1), BeforeValidator(_once)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _Axes(_Table):
    actors: _Names = []
    strategies: _Names = []
    ablations: _Names = []
    models: _Names = []
    seeds: Annotated[list[int], Field(min_length=1), BeforeValidator(_once), BeforeValidator(_seeds)] = []


class _Matrix(_Axes):
    environments: _Names = []


class _File(_Table):
    common: dict[str, Any] = {}
    matrix: _Matrix = _Matrix()
    environments: dict[str, dict[str, Any]] = {}
    models: dict[str, dict[str, Any]] = {}
    ablations: dict[str, dict[str, Any]] = {}
    exclude: list[dict[str, Any]] = []


@dataclass(frozen=True)
class RunSpec:
    """One run of an experiment."""

    name: str
    series: str
    """Its name without the seed."""
    axes: Mapping[str, Any]
    """Its value on each axis besides the seed."""
    settings: RunSettings


@dataclass(frozen=True)
class Experiment:
    """A matrix of runs."""

    file: Path
    specs: tuple[RunSpec, ...]
    """Its runs in their order: all of the first seed, then all of the next."""


def read_experiment(file: Path | str, model: str | None = None, base_url: str | None = None) -> Experiment:
    """Read an experiment.

    Args:
        file: The experiment file.
        model: A model that replaces the one of the file, with its address.
        base_url: The address of that model's server, or another address of the file's model.

    Raises:
        ConfigurationError: the file cannot be read, or something in it is wrong. The message names the file, and
            tables and keys.
    """
    file = Path(file)
    content = read_toml(file)
    try:
        read = validated(_File, content, "key")
        if model is not None or base_url is not None:
            _replace_model(read, model, base_url)
        return Experiment(file, _specs(read))
    except ConfigurationError as error:
        raise ConfigurationError(f"{file}: {error}") from error


def _replace_model(read: _File, model: str | None, base_url: str | None) -> None:
    """Let every run use another model, or the same one at another address.

    Raises:
        ConfigurationError: the file compares models.
    """
    tables = [read.common, *read.environments.values()]
    listed = [axes for axes in (read.matrix.models, *(table.get("models") for table in tables)) if axes]
    ablated = [table for table in read.ablations.values() if "model" in table or "base_url" in table]
    if read.models or listed or ablated:
        raise ConfigurationError("--model and --base-url are for files with one model, and this one has several")
    for table in tables:
        if model is not None:
            table.pop("model", None)
        table.pop("base_url", None)
    if model is not None:
        read.common["model"] = model
    if base_url is not None:
        read.common["base_url"] = base_url


def _check_tables(read: _File) -> None:
    """Check the settings in each table alone, so that merging finds the types that it expects."""
    tables = {"common": read.common}
    own: dict[str, set[str]] = {"environments": {"environment", *AXES}, "models": {"price"}, "ablations": set()}
    for group, apart in own.items():
        for name, table in getattr(read, group).items():
            tables[f"{group}.{name}"] = {key: value for key, value in table.items() if key not in apart}
    problems = []
    for name, table in tables.items():
        try:
            if given := {"environment", "seed"} & {*table}:
                raise ConfigurationError(f"[{name}]: {min(given)} is an axis, not a setting")
            RunSettings.read({"environment": "any", **table}, f"key {{}} of [{name}]")
        except ConfigurationError as error:
            problems.append(str(error))
    if problems:
        raise ConfigurationError("; ".join(problems))


def _specs(read: _File) -> tuple[RunSpec, ...]:
    _check_tables(read)
    environments = read.matrix.environments or list(read.environments)
    if not environments:
        raise ConfigurationError("[matrix], environments: name at least one, or give it a table [environments.NAME]")
    found: list[RunSpec] = []
    used: dict[str, set[str]] = {"environments": set(environments), "models": set(), "ablations": set()}
    rules = [{axis: _several(values) for axis, values in rule.items()} for rule in read.exclude]
    for rule in rules:
        if unknown := {*rule} - {"environment", *AXES.values()}:
            raise ConfigurationError(f"[[exclude]]: unknown key {min(unknown)!r}")
    effective = [False] * len(rules)
    for environment in environments:
        axes = _axes(read, environment)
        used["models"] |= {*axes["models"]}
        used["ablations"] |= {*axes["ablations"]}
        for values in product(*axes.values()):
            at = {"environment": environment, **dict(zip((AXES[name] for name in axes), values, strict=True))}
            excluding = [all(at[axis] in among for axis, among in rule.items()) for rule in rules]
            effective = [before or now for before, now in zip(effective, excluding, strict=True)]
            if not any(excluding):
                found.append(_spec(read, at))
    if False in effective:
        raise ConfigurationError(f"[[exclude]] number {effective.index(False) + 1} excludes nothing")
    for table, names in used.items():
        if idle := [name for name in getattr(read, table) if name not in names]:
            raise ConfigurationError(f"[{table}.{idle[0]}]: no run uses it; name it in {table}, or leave it out")
    if not found:
        raise ConfigurationError("every combination is excluded")
    name, times = Counter(spec.name.casefold() for spec in found).most_common(1)[0]
    if times > 1:
        raise ConfigurationError(f"{times} runs would be called {name}: rename the labels")
    # A whole comparison under the first seed comes before a second seed of anything.
    seeds = list(dict.fromkeys(spec.settings.seed for spec in found))
    return tuple(sorted(found, key=lambda spec: seeds.index(spec.settings.seed)))


def _several(values: Any) -> list[Any]:
    return values if isinstance(values, list) else [values]


def _axes(read: _File, environment: str) -> dict[str, list[Any]]:
    table = read.environments.get(environment, {})
    own = {axis: table[axis] for axis in AXES if axis in table}
    own = validated(_Axes, own, f"key {{}} of [environments.{environment}]").model_dump(exclude_unset=True)
    usual: dict[str, list[Any]] = {
        "actors": [None],
        "strategies": [None],
        "ablations": [NONE],
        "models": list(read.models) or [{**read.common, **table}.get("model", DEMO)],
        "seeds": [0],
    }
    given = {axis: values for axis, values in read.matrix.model_dump().items() if values}
    return {axis: own.get(axis, given.get(axis, values)) for axis, values in usual.items()}


def _spec(read: _File, at: dict[str, Any]) -> RunSpec:
    label, model, ablation = at["environment"], at["model"], at["ablation"]
    if ablation != NONE and ablation not in read.ablations:
        raise ConfigurationError(f"ablations: there is no table [ablations.{ablation}]")
    own = {key: value for key, value in read.environments.get(label, {}).items() if key not in AXES}
    environment = own.pop("environment", label)
    of_model = dict(read.models.get(model, {}))
    name = of_model.setdefault("model", model)
    if price := of_model.pop("price", None):
        of_model["prices"] = {name: price, **of_model.get("prices", {})}
    of_axes = {axis: at[axis] for axis in ("actor", "strategy") if at[axis] is not None}
    settings: dict[str, Any] = {}
    for table in (read.common, own, of_model, of_axes):
        settings = _merge(settings, table)
    axes = {name: value for name, value in at.items() if name != "seed"}
    axes |= {name: settings.get(name) for name in ("actor", "strategy")}
    parts = [label, axes["actor"], axes["strategy"], None if ablation == NONE else ablation, model]
    series = "-".join(re.sub(r"[^\w.]+", "-", part).strip("-") for part in parts if part)
    settings = _merge(settings, read.ablations.get(ablation, {}))
    made = RunSettings.read({"environment": environment, "seed": at["seed"], **settings}, f"key {{}} of {series}")
    return RunSpec(f"{series}-s{at['seed']}", series, axes, made)


def _merge(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Merge settings. Options and prices are merged by name, budgets by the amount that they limit."""
    merged = {**below, **above}
    for name in ("options", "prices"):
        if name in below and name in above:
            merged[name] = {**below[name], **above[name]}
    if "budgets" in below and "budgets" in above:
        merged["budgets"] = merge_budgets(below["budgets"], above["budgets"])
    return merged
