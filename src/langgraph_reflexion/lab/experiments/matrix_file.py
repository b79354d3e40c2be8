"""Experiment files: TOML, read into the runs of a matrix.

    [common]                          # settings of every run, by the names of `RunSettings`
    max_trials = 4

    [matrix]                          # the axes: every combination is a run
    environments = ["alfworld", "hotpotqa"]
    strategies = ["retry", "reflexion"]
    seeds = 3

    [environments.hotpotqa]           # settings of one environment, and axes of its own
    actors = ["react", "cot"]

    [strategies.retry]                # settings of one strategy, such as more trials for the same cost
    max_trials = 8

An environment, a model, a strategy and an ablation may have a table with settings. Of two tables that say the same
thing the later one counts: `common`, the environment's, the model's, the axis `actors`, the strategy's, the
ablation's.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from langgraph_reflexion.errors import ConfigurationError, validated
from langgraph_reflexion.lab.in_turn import model_names
from langgraph_reflexion.lab.run_settings import RunSettings, merge_budgets
from langgraph_reflexion.models.load import DEMO
from langgraph_reflexion.support.files import read_toml

AXES = {"actors": "actor", "strategies": "strategy", "ablations": "ablation", "models": "model", "seeds": "seed"}
"""The axes besides the environments, and the name of one value of each."""

OF_ENVIRONMENTS = frozenset(AXES) | {"environment"}
"""The keys of an environment's table that are not settings: its axes, and what environment its label stands for."""

OF_MODELS = frozenset({"price"})
"""The key of a model's table that is not a setting."""

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


_Rule = Mapping[str, list[Any]]
"""A rule that excludes runs: for some axes, the values of the runs that it excludes."""


class _File(_Table):
    common: dict[str, Any] = {}
    matrix: _Matrix = _Matrix()
    environments: dict[str, dict[str, Any]] = {}
    models: dict[str, dict[str, Any]] = {}
    strategies: dict[str, dict[str, Any]] = {}
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
    # The types of what is moved.
    _check_tables(read)
    labels = _labels_of_models(read)
    if len(labels) > 1 or _ablates_models(read):
        raise ConfigurationError("--model and --base-url are for files with one model, and this one has several")
    for label in labels:
        _move_to_common(read, label)
    for table in _shared_tables(read):
        if model is not None:
            table.pop("model", None)
        # An address belongs to the model that it was given for.
        table.pop("base_url", None)
    if model is not None:
        read.common["model"] = model
    if base_url is not None:
        read.common["base_url"] = base_url


def _labels_of_models(read: _File) -> set[str]:
    """Return the labels on the axis of models."""
    labels = {*read.models, *read.matrix.models}
    for table in read.environments.values():
        own = _several(table.get("models", []))
        labels.update(filter(lambda label: isinstance(label, str), own))
    return labels


def _move_to_common(read: _File, label: str) -> None:
    """Make the only model on the axis of models the model of all runs, with its settings."""
    settings = _settings_of_model(read, label)
    read.common = _merge(read.common, settings)
    read.models = {}
    read.matrix.models = []
    for table in read.environments.values():
        table.pop("models", None)


def _shared_tables(read: _File) -> list[dict[str, Any]]:
    """Return the tables whose settings may hold for the runs of several axes."""
    tables = [read.common]
    tables += read.environments.values()
    return tables


def _ablates_models(read: _File) -> bool:
    """Return whether an ablation has another model, or a strategy another address."""
    tables = [*read.strategies.values(), *read.ablations.values()]
    return any("model" in table or "base_url" in table for table in tables)


def _check_tables(read: _File) -> None:
    """Check the settings in each table alone, so that merging finds the types that it expects."""
    problems = _problems("common", read.common)
    for name, table in read.environments.items():
        problems += _problems(f"environments.{name}", _without(table, OF_ENVIRONMENTS))
    for name, table in read.models.items():
        problems += _problems(f"models.{name}", _without(table, OF_MODELS))
    for name, table in read.strategies.items():
        problems += _problems(f"strategies.{name}", table)
        for axis in ("strategy", "model"):
            if axis in table:
                problems.append(f"[strategies.{name}]: {axis} is an axis, not a setting")
    for name, table in read.ablations.items():
        problems += _problems(f"ablations.{name}", table)
    if NONE in read.ablations:
        problems.append(f"[ablations.{NONE}]: this name stands for no ablation: choose another one")
    if problems:
        raise ConfigurationError("; ".join(problems))


def _problems(name: str, table: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with the settings in a table, as a list of one message or none."""
    for axis in ("environment", "seed"):
        if axis in table:
            return [f"[{name}]: {axis} is an axis, not a setting"]
    settings = dict(table)
    settings["environment"] = "any"
    try:
        RunSettings.read(settings, f"key {{}} of [{name}]")
    except ConfigurationError as error:
        return [str(error)]
    return []


def _without(table: Mapping[str, Any], keys: Collection[str]) -> dict[str, Any]:
    """Return a table without some of its keys."""
    return {key: value for key, value in table.items() if key not in keys}


def _specs(read: _File) -> tuple[RunSpec, ...]:
    """Return the runs of an experiment file in their order."""
    _check_tables(read)
    environments = read.matrix.environments or list(read.environments)
    if not environments:
        raise ConfigurationError("[matrix], environments: name at least one, or give it a table [environments.NAME]")
    rules = _exclusions(read)
    axes_of = {environment: _axes(read, environment) for environment in environments}
    combinations = _combinations(axes_of)
    specs: list[RunSpec] = []
    for values in combinations:
        if not any(_excludes(rule, values) for rule in rules):
            specs.append(_spec(read, values))
    _check_exclusions(rules, combinations)
    _check_use(read, axes_of)
    if not specs:
        raise ConfigurationError("every combination is excluded")
    _check_names(specs)
    return tuple(_in_order(specs))


def _check_exclusions(rules: Iterable[_Rule], combinations: Iterable[Mapping[str, Any]]) -> None:
    """Raise ConfigurationError if a rule excludes no run, as it is mistyped then."""
    for number, rule in enumerate(rules, 1):
        if not any(_excludes(rule, values) for values in combinations):
            raise ConfigurationError(f"[[exclude]] number {number} excludes nothing")


def _check_names(specs: Iterable[RunSpec]) -> None:
    """Raise ConfigurationError if several runs would have the same folder, on disks that ignore case, too."""
    names = Counter(spec.name.casefold() for spec in specs)
    name, times = names.most_common(1)[0]
    if times > 1:
        raise ConfigurationError(f"{times} runs would be called {name}: rename the labels")


def _in_order(specs: Iterable[RunSpec]) -> list[RunSpec]:
    """Return the runs by seed: a whole comparison under the first one comes before a second seed of anything."""
    by_seed: dict[int, list[RunSpec]] = {}
    for spec in specs:
        by_seed.setdefault(spec.settings.seed, []).append(spec)
    in_order: list[RunSpec] = []
    for of_seed in by_seed.values():
        in_order += of_seed
    return in_order


def _combinations(axes_of: Mapping[str, Mapping[str, list[Any]]]) -> list[dict[str, Any]]:
    """Return the values of every run on the environments and on their axes, in the order of the file."""
    found: list[dict[str, Any]] = []
    for environment, axes in axes_of.items():
        names = [AXES[axis] for axis in axes]
        for row in product(*axes.values()):
            values: dict[str, Any] = {"environment": environment}
            values.update(zip(names, row, strict=True))
            found.append(values)
    return found


def _exclusions(read: _File) -> list[_Rule]:
    """Return the rules that exclude runs.

    Raises:
        ConfigurationError: a rule names something else than an axis.
    """
    known = {"environment"}.union(AXES.values())
    rules: list[_Rule] = []
    for table in read.exclude:
        unknown = set(table) - known
        if unknown:
            raise ConfigurationError(f"[[exclude]]: unknown key {min(unknown)!r}")
        rules.append({axis: _several(values) for axis, values in table.items()})
    return rules


def _excludes(rule: _Rule, values: Mapping[str, Any]) -> bool:
    """Return whether a rule excludes the run with these values."""
    return all(values[axis] in among for axis, among in rule.items())


def _check_use(read: _File, axes_of: Mapping[str, Mapping[str, list[Any]]]) -> None:
    """Check that some run uses each table of an environment, a model, a strategy or an ablation.

    Raises:
        ConfigurationError: there is a table that none uses.
    """
    models: set[str] = set()
    strategies: set[str] = set()
    ablations: set[str] = set()
    for axes in axes_of.values():
        models.update(axes["models"])
        strategies.update(axes["strategies"])
        ablations.update(axes["ablations"])
    _check_used("environments", read.environments, axes_of)
    _check_used("models", read.models, models)
    _check_used("strategies", read.strategies, strategies)
    _check_used("ablations", read.ablations, ablations)


def _check_used(group: str, tables: Iterable[str], used: Collection[str]) -> None:
    """Raise ConfigurationError if there is a table, by its name, that is not used."""
    for name in tables:
        if name not in used:
            raise ConfigurationError(f"[{group}.{name}]: no run uses it; name it in {group}, or leave it out")


def _several(values: Any) -> list[Any]:
    """Return a list as it is, and a single value as a list."""
    if isinstance(values, list):
        return values
    return [values]


def _axes(read: _File, environment: str) -> dict[str, list[Any]]:
    """Return the values of an environment on each axis: its own, those of the matrix, or the usual one."""
    table = read.environments.get(environment, {})
    model = _model_of(read, table)
    found: dict[str, list[Any]] = {
        "actors": [None],
        "strategies": [None],
        "ablations": [NONE],
        "models": list(read.models) or [model],
        "seeds": [0],
    }
    listed = {axis: table[axis] for axis in AXES if axis in table}
    own = validated(_Axes, listed, f"key {{}} of [environments.{environment}]")
    for axis in found:
        of_matrix = getattr(read.matrix, axis)
        if axis in listed:
            found[axis] = getattr(own, axis)
        elif of_matrix:
            found[axis] = of_matrix
    return found


def _model_of(read: _File, table: Mapping[str, Any]) -> str | None:
    """Return the model of an environment that is on no axis: the demo model, unless one is named.

    An agent of the user's own, which has a file of tasks, has a model of its own, and no name for it: None.
    """
    named: str | None = table.get("model", read.common.get("model"))
    if named is not None:
        return named
    options = read.common.get("options", {}) | table.get("options", {})
    if "tasks" in options:
        return None
    return DEMO


def _spec(read: _File, at: dict[str, Any]) -> RunSpec:
    """Return the run with these values on the axes.

    Raises:
        ConfigurationError: its settings are wrong, or its ablation has no table.
    """
    ablation = at["ablation"]
    if ablation != NONE and ablation not in read.ablations:
        raise ConfigurationError(f"ablations: there is no table [ablations.{ablation}]")
    label = at["environment"]
    own = _without(read.environments.get(label, {}), AXES)
    environment = own.pop("environment", label)
    settings = _merge(read.common, own)
    if at["model"] is not None:
        settings = _merge(settings, _settings_of_model(read, at["model"]))
    for axis in ("actor", "strategy"):
        if at[axis] is not None:
            settings[axis] = at[axis]
    settings = _merge(settings, read.strategies.get(at["strategy"], {}))
    axes = _without(at, ["seed"])
    # A table may decide them as well as an axis.
    axes["actor"] = settings.get("actor")
    axes["strategy"] = settings.get("strategy")
    series = _series(axes)
    settings = _merge(settings, read.ablations.get(ablation, {}))
    settings.setdefault("environment", environment)
    settings.setdefault("seed", at["seed"])
    made = RunSettings.read(settings, f"key {{}} of {series}")
    return RunSpec(f"{series}-s{at['seed']}", series, axes, made)


def _settings_of_model(read: _File, label: str) -> dict[str, Any]:
    """Return the settings in the table of a model, which may name the model itself and its price.

    Raises:
        ConfigurationError: there is one price, and several models play the trials.
    """
    settings = dict(read.models.get(label, {}))
    name = settings.setdefault("model", label)
    price = settings.pop("price", None)
    if price:
        if len(model_names(name)) > 1:
            raise ConfigurationError(
                f"[models.{label}]: price is that of one model, and {name} are several: give "
                'prices = { NAME = "IN,OUT" } with each of them'
            )
        prices = {name: price}
        # A table of prices counts more.
        prices.update(settings.get("prices", {}))
        settings["prices"] = prices
    return settings


def _series(axes: Mapping[str, Any]) -> str:
    """Return the name of a run without its seed: its values on the axes, fit for a folder."""
    parts = [axes["environment"], axes["actor"], axes["strategy"]]
    if axes["ablation"] != NONE:
        parts.append(axes["ablation"])
    parts.append(axes["model"])
    names: list[str] = []
    for part in parts:
        if part:
            name = re.sub(r"[^\w.]+", "-", part)
            names.append(name.strip("-"))
    return "-".join(names)


def _merge(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Merge settings. Options and prices are merged by name, budgets by the amount that they limit."""
    merged = dict(below)
    merged.update(above)
    for name in ("options", "prices"):
        if name in below and name in above:
            merged[name] = below[name] | above[name]
    if "budgets" in below and "budgets" in above:
        merged["budgets"] = merge_budgets(below["budgets"], above["budgets"])
    return merged
