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
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import product
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, create_model

from langgraph_reflexion.budgets import Budget
from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.models.load import DEMO
from langgraph_reflexion.settings import BudgetSettings, RunSettings, merge_budgets

AXES = {
    "actors": "actor",
    "strategies": "strategy",
    "ablations": "ablation",
    "models": "model",
    "seeds": "seed",
}
"""The axes besides the environments, and the name of one value of each."""

_NAMED = ("environment", "actor", "strategy", "ablation", "model")

NONE = "none"
"""The ablation that removes nothing."""

MOST_SEEDS = 1000
"""A larger number of seeds is probably meant as a seed, which is written as a list."""


def _once(values: Any) -> Any:
    if isinstance(values, list) and (again := [each for each in values if values.count(each) > 1]):
        raise ValueError(f"{again[0]!r} is listed twice")
    return values


def _seeds(seeds: Any) -> Any:
    """Return a list of seeds; a number N is the seeds from 0 to N - 1."""
    if isinstance(seeds, int) and not isinstance(seeds, bool):
        if seeds < 1:
            raise ValueError("at least one seed is needed")
        if seeds > MOST_SEEDS:
            raise ValueError(f"{seeds} is the number of seeds: write [{seeds}] for that one seed")
        return list(range(seeds))
    return seeds


def _several(values: Any) -> Any:
    return values if isinstance(values, list) else [values]


_STRICT = ConfigDict(extra="forbid", strict=True)
_Names = Annotated[list[Annotated[str, Field(min_length=1)]], Field(min_length=1), BeforeValidator(_once)]
_Seeds = Annotated[list[int], Field(min_length=1), BeforeValidator(_once), BeforeValidator(_seeds)]
_AXES: dict[str, Any] = {axis: (_Seeds if axis == "seeds" else _Names, None) for axis in AXES}
_SETTINGS: dict[str, Any] = {
    name: (Annotated[field.annotation, Field(), *field.metadata], None)
    for name, field in RunSettings.model_fields.items()
    if name not in ("environment", "seed")
}


def _table(name: str, **fields: Any) -> Any:
    return create_model(name, __config__=_STRICT, **fields)


Settings = _table("Settings", **_SETTINGS)
Model = _table("Model", **_SETTINGS, price=(str, None))
Environment = _table("Environment", **_SETTINGS, environment=(str, None), **_AXES)
Matrix = _table("Matrix", environments=(_Names, None), **_AXES)
Exclude = _table(
    "Exclude",
    **{axis: (Annotated[list[str], BeforeValidator(_several)], None) for axis in _NAMED},
    seed=(Annotated[list[int], BeforeValidator(_several)], None),
)


class _Tables(BaseModel):
    model_config = _STRICT

    common: Settings = Field(default_factory=Settings)  # type: ignore[valid-type]
    matrix: Matrix = Field(default_factory=Matrix)  # type: ignore[valid-type]
    environments: dict[str, Environment] = {}  # type: ignore[valid-type]
    models: dict[str, Model] = {}  # type: ignore[valid-type]
    ablations: dict[str, Settings] = {}  # type: ignore[valid-type]
    exclude: list[Exclude] = []  # type: ignore[valid-type]
    budget: BudgetSettings = BudgetSettings()


class ExperimentFile(BaseModel):
    """The tables of an experiment's file with the keys that were given."""

    common: dict[str, Any] = {}
    matrix: dict[str, Any] = {}
    environments: dict[str, dict[str, Any]] = {}
    models: dict[str, dict[str, Any]] = {}
    ablations: dict[str, dict[str, Any]] = {}
    exclude: list[dict[str, list[Any]]] = []
    budget: dict[str, Any] = {}


def read_schema(tables: dict[str, Any]) -> ExperimentFile:
    """Check the tables of a file.

    Raises:
        ConfigurationError: a table or a key is unknown, or a value is of another kind. Each is named.
    """
    try:
        read = ExperimentFile(**_Tables.model_validate(tables).model_dump(exclude_unset=True))
    except ValidationError as error:
        raise ConfigurationError("; ".join(_described(each) for each in error.errors())) from error
    if NONE in read.ablations:
        raise ConfigurationError(f"[ablations.{NONE}]: {NONE} is the name of no ablation")
    return read


def _described(error: Any) -> str:
    """Describe a mistake by table and key."""
    place = [part for part in error["loc"] if not (isinstance(part, str) and part.startswith(("list[", "function-")))]
    *path, key = [part for part in place if part != "[key]"]
    table = ".".join(str(part + 1) if isinstance(part, int) else part for part in path if not isinstance(part, int))
    where = f"[{table}], " if path else ""
    if "exclude" in path[:1]:
        where = f"[[exclude]] number {path[1] + 1}, " if len(path) > 1 else "[[exclude]], "
    if error["type"] == "extra_forbidden":
        known = _known(path)
        near = get_close_matches(str(key), known, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(sorted(known))}"
        return f"{where}unknown {'key' if path else 'table'} {key!r}: {hint}"
    message = error["msg"].removeprefix("Value error, ")
    shown = error["input"]
    given = f", and is {shown!r}" if isinstance(shown, (str, int, float)) and "should be" in message else ""
    at = f"{where}{key}" if path else f"[{key}]"
    return f"{at}: {message[0].lower()}{message[1:]}{given}"


def _known(path: list[Any]) -> list[str]:
    """Return the keys that a table may have."""
    model: Any = _Tables
    for part in path:
        fields = getattr(model, "model_fields", {})
        if part in fields:
            annotation = fields[part].annotation
            inner = [each for each in getattr(annotation, "__args__", ()) if hasattr(each, "model_fields")]
            model = inner[0] if inner else annotation
    return list(model.model_fields)


@dataclass(frozen=True)
class RunSpec:
    """One run of an experiment.

    Attributes:
        name: The name of its folder, which does not depend on other values of an axis.
        series: The name without the seed.
        axes: Its value on each axis, by the axis in the singular; None leaves it to the profile.
        settings: Its settings, not resolved.
    """

    name: str
    series: str
    axes: Mapping[str, Any]
    settings: RunSettings


@dataclass(frozen=True)
class Experiment:
    """A matrix of runs.

    Attributes:
        file: The file that it was read from.
        specs: Its runs in their order: all of the first seed, then all of the next.
        budget: Limits of all runs together, finished ones included.
    """

    file: Path
    specs: tuple[RunSpec, ...]
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
        return Experiment(file, _specs(read), Budget(**read.budget))
    except ConfigurationError as error:
        raise ConfigurationError(f"{file}: {error}") from error


def _specs(read: ExperimentFile) -> tuple[RunSpec, ...]:
    named = read.matrix.get("environments", list(read.environments))
    if not named:
        raise ConfigurationError("[matrix], environments: name at least one, or give it a table [environments.NAME]")
    needed: set[int] = set()
    found: list[RunSpec] = []
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
                found.append(_spec(read, at))
    for number, rule in enumerate(read.exclude, 1):
        if number not in needed:
            rule_text = ", ".join(f"{axis} = {' or '.join(map(str, among))}" for axis, among in rule.items())
            raise ConfigurationError(f"[[exclude]] number {number} ({rule_text}) excludes nothing")
    for table, names in used.items():
        if idle := [name for name in getattr(read, table) if name not in names]:
            raise ConfigurationError(f"[{table}.{idle[0]}]: no run uses it; name it in {table}, or leave it out")
    if not found:
        raise ConfigurationError("every combination is excluded")
    _reject_duplicates(found)
    # A whole comparison under the first seed comes before a second seed of anything.
    seeds = {seed: number for number, seed in enumerate(dict.fromkeys(spec.axes["seed"] for spec in found))}
    return tuple(sorted(found, key=lambda spec: seeds[spec.axes["seed"]]))


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


def _spec(read: ExperimentFile, at: dict[str, Any]) -> RunSpec:
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
        settings = _merge(settings, table)
    axes = {**at, "actor": settings.get("actor"), "strategy": settings.get("strategy")}
    parts = [label, axes["actor"], axes["strategy"], None if ablation == NONE else ablation, model]
    series = "-".join(re.sub(r"[^\w.]+", "-", part).strip("-") for part in parts if part)
    settings = _merge(settings, read.ablations.get(ablation, {}))
    made = RunSettings.read({"environment": environment, "seed": at["seed"], **settings})
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


def _reject_duplicates(specs: Sequence[RunSpec]) -> None:
    """Refuse runs of the same name, and equal runs of two names."""
    name, times = Counter(spec.name.casefold() for spec in specs).most_common(1)[0]
    if times > 1:
        raise ConfigurationError(f"{times} runs would be called {name}: give the labels names that differ")
    seen: dict[str, str] = {}
    for spec in specs:
        other = seen.setdefault(repr(spec.settings), spec.name)
        if other != spec.name:
            raise ConfigurationError(
                f"{other} and {spec.name} are the same run, as one table sets what an axis sets: [[exclude]] one"
            )
