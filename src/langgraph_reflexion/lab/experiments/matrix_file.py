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
    for each in values:
        if values.count(each) > 1:
            raise ValueError(f"{each!r} is listed twice")
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
    listed = read.matrix.models or any(table.get("models") for table in tables)
    ablated = any("model" in table or "base_url" in table for table in read.ablations.values())
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
            for axis in ("environment", "seed"):
                if axis in table:
                    raise ConfigurationError(f"[{name}]: {axis} is an axis, not a setting")
            RunSettings.read({"environment": "any", **table}, f"key {{}} of [{name}]")
        except ConfigurationError as error:
            problems.append(str(error))
    if problems:
        raise ConfigurationError("; ".join(problems))


def _specs(read: _File) -> tuple[RunSpec, ...]:
    """Return the runs of an experiment file in their order."""
    _check_tables(read)
    environments = read.matrix.environments or list(read.environments)
    if not environments:
        raise ConfigurationError("[matrix], environments: name at least one, or give it a table [environments.NAME]")
    rules = _exclusions(read)
    axes_of = {environment: _axes(read, environment) for environment in environments}
    combinations = _combinations(axes_of)
    found = []
    for values in combinations:
        excluding = [rule for rule in rules if _excludes(rule, values)]
        if not excluding:
            found.append(_spec(read, values))
    for number, rule in enumerate(rules, 1):
        if not any(_excludes(rule, values) for values in combinations):
            raise ConfigurationError(f"[[exclude]] number {number} excludes nothing")
    _check_use(read, axes_of)
    if not found:
        raise ConfigurationError("every combination is excluded")
    name, times = Counter(spec.name.casefold() for spec in found).most_common(1)[0]
    if times > 1:
        raise ConfigurationError(f"{times} runs would be called {name}: rename the labels")
    # A whole comparison under the first seed comes before a second seed of anything.
    seeds = list(dict.fromkeys(spec.settings.seed for spec in found))
    found.sort(key=lambda spec: seeds.index(spec.settings.seed))
    return tuple(found)


def _combinations(axes_of: Mapping[str, Mapping[str, list[Any]]]) -> list[dict[str, Any]]:
    """Return the values of every run on the environments and on their axes, in the order of the file."""
    found: list[dict[str, Any]] = []
    for environment, axes in axes_of.items():
        names = ["environment", *(AXES[axis] for axis in axes)]
        rows = product([environment], *axes.values())
        found += [dict(zip(names, row, strict=True)) for row in rows]
    return found


def _exclusions(read: _File) -> list[dict[str, list[Any]]]:
    """Return the rules that exclude runs: the values of some axes.

    Raises:
        ConfigurationError: a rule names something else than an axis.
    """
    known = {"environment", *AXES.values()}
    rules = []
    for table in read.exclude:
        unknown = set(table) - known
        if unknown:
            raise ConfigurationError(f"[[exclude]]: unknown key {min(unknown)!r}")
        rules.append({axis: _several(values) for axis, values in table.items()})
    return rules


def _excludes(rule: Mapping[str, list[Any]], values: Mapping[str, Any]) -> bool:
    """Return whether a rule excludes the run with these values."""
    return all(values[axis] in among for axis, among in rule.items())


def _check_use(read: _File, axes_of: Mapping[str, Mapping[str, list[Any]]]) -> None:
    """Check that some run uses each table of an environment, a model or an ablation.

    Raises:
        ConfigurationError: there is a table that none uses.
    """
    used: dict[str, set[str]] = {"environments": set(axes_of), "models": set(), "ablations": set()}
    for axes in axes_of.values():
        used["models"].update(axes["models"])
        used["ablations"].update(axes["ablations"])
    for table, names in used.items():
        for name in getattr(read, table):
            if name not in names:
                raise ConfigurationError(f"[{table}.{name}]: no run uses it; name it in {table}, or leave it out")


def _several(values: Any) -> list[Any]:
    """Return a list as it is, and a single value as a list."""
    if isinstance(values, list):
        return values
    return [values]


def _axes(read: _File, environment: str) -> dict[str, list[Any]]:
    """Return the values of an environment on each axis: its own, those of the matrix, or the usual one."""
    table = read.environments.get(environment, {})
    listed = {axis: table[axis] for axis in AXES if axis in table}
    own = validated(_Axes, listed, f"key {{}} of [environments.{environment}]").model_dump(exclude_unset=True)
    model = table.get("model", read.common.get("model", DEMO))
    usual: dict[str, list[Any]] = {
        "actors": [None],
        "strategies": [None],
        "ablations": [NONE],
        "models": list(read.models) or [model],
        "seeds": [0],
    }
    matrix = {axis: values for axis, values in read.matrix.model_dump().items() if values}
    return {axis: own.get(axis, matrix.get(axis, values)) for axis, values in usual.items()}


def _spec(read: _File, at: dict[str, Any]) -> RunSpec:
    """Return the run with these values on the axes.

    Raises:
        ConfigurationError: its settings are wrong, or its ablation has no table.
    """
    ablation = at["ablation"]
    if ablation != NONE and ablation not in read.ablations:
        raise ConfigurationError(f"ablations: there is no table [ablations.{ablation}]")
    label = at["environment"]
    own = {key: value for key, value in read.environments.get(label, {}).items() if key not in AXES}
    environment = own.pop("environment", label)
    of_axes = {axis: at[axis] for axis in ("actor", "strategy") if at[axis] is not None}
    settings: dict[str, Any] = {}
    for table in (read.common, own, _settings_of_model(read, at["model"]), of_axes):
        settings = _merge(settings, table)
    axes = {name: value for name, value in at.items() if name != "seed"}
    # A table may decide them as well as an axis.
    axes["actor"] = settings.get("actor")
    axes["strategy"] = settings.get("strategy")
    series = _series(axes)
    settings = _merge(settings, read.ablations.get(ablation, {}))
    made = RunSettings.read({"environment": environment, "seed": at["seed"], **settings}, f"key {{}} of {series}")
    return RunSpec(f"{series}-s{at['seed']}", series, axes, made)


def _settings_of_model(read: _File, label: str) -> dict[str, Any]:
    """Return the settings in the table of a model, which may name the model itself and its price."""
    settings = dict(read.models.get(label, {}))
    name = settings.setdefault("model", label)
    price = settings.pop("price", None)
    if price:
        settings["prices"] = {name: price, **settings.get("prices", {})}
    return settings


def _series(axes: Mapping[str, Any]) -> str:
    """Return the name of a run without its seed: its values on the axes, fit for a folder."""
    parts = [axes["environment"], axes["actor"], axes["strategy"]]
    if axes["ablation"] != NONE:
        parts.append(axes["ablation"])
    parts.append(axes["model"])
    return "-".join(re.sub(r"[^\w.]+", "-", part).strip("-") for part in parts if part)


def _merge(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Merge settings. Options and prices are merged by name, budgets by the amount that they limit."""
    merged = {**below, **above}
    for name in ("options", "prices"):
        if name in below and name in above:
            merged[name] = {**below[name], **above[name]}
    if "budgets" in below and "budgets" in above:
        merged["budgets"] = merge_budgets(below["budgets"], above["budgets"])
    return merged
