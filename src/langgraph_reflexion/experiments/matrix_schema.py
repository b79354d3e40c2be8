"""The tables and keys of an experiment's file, checked before anything is made of them."""

from difflib import get_close_matches
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, create_model

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.settings import BudgetSettings, RunSettings

AXES = {
    "actors": "actor",
    "strategies": "strategy",
    "ablations": "ablation",
    "models": "model",
    "seeds": "seed",
}
"""The axes besides the environments, and what one value of each is called."""

_NAMED = ("environment", "actor", "strategy", "ablation", "model")

NONE = "none"
"""The ablation that takes nothing away."""

MOST_SEEDS = 1000
"""A larger number of seeds is taken for a seed, which is written as a list."""


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
    """The tables of an experiment's file, with nothing in them but what was given."""

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
    """Return one mistake in words, by table and key."""
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
