"""Options of the commands: made from the fields of a settings class, or of an environment."""

import inspect
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from difflib import get_close_matches
from types import MappingProxyType, NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import typer
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from langgraph_reflexion.errors import ConfigurationError, OptionsRefused
from langgraph_reflexion.settings import describe

OPEN = {"allow_extra_args": True, "ignore_unknown_options": True}
"""The declaration of a command whose other options, `--name value`, are the environment's."""

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def takes(
    settings: type[BaseModel],
    only: Collection[str] | None = None,
    helps: Mapping[str, str] = MappingProxyType({}),
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command one option for each field of a settings class.

    A required field is an argument. The command's own parameters stay. It is called with the settings as `settings`,
    or with nothing but the values that were given, by field, as `given`.

    Args:
        settings: The class.
        only: The names of the fields that are options; all unless given.
        helps: The help texts that differ from those of the fields.
    """
    fields = {name: field for name, field in settings.model_fields.items() if only is None or name in only}
    for name, help in helps.items():
        fields[name] = copy(fields[name])
        fields[name].description = help

    def decorate(body: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(body, eval_str=True).parameters
        named = "settings" if "settings" in own else "given"
        rest = [each for name, each in own.items() if name not in (named, "context")]
        ours = [_parameter(name, field, defaults=named == "settings") for name, field in fields.items()]
        arguments = [each for each in (*rest, *ours) if _is_argument(each)]
        parameters = [
            inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context),
            *(each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in arguments),
            *(each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in (*ours, *rest) if each not in arguments),
        ]

        def command(context: typer.Context, **values: Any) -> None:
            given = {name: values.pop(name) for name in fields}
            given = {name: value for name, value in given.items() if value not in (None, [])}
            given = {name: _read(fields[name], flag(name, fields[name]), value) for name, value in given.items()}
            if context.args or "options" in given:
                given["options"] = {**given.get("options", {}), **_rest_of(context)}
            more = {"context": context} if "context" in own else {}
            body(**{named: _made(settings, given) if named == "settings" else given}, **values, **more)

        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {each.name: each.annotation for each in parameters}
        command.__doc__, command.__name__ = body.__doc__, body.__name__
        return command

    return decorate


def flag(name: str, field: FieldInfo) -> str:
    """Return the option of a field. A repeatable one is named after one of its values, as `--price` for `prices`."""
    singular = name.removesuffix("s") if _is_mapping(field) else name
    return f"--{singular.replace('_', '-')}"


def _made(settings: type[BaseModel], given: Mapping[str, Any]) -> BaseModel:
    try:
        return settings.model_validate(given)
    except ValidationError as error:
        told = []
        for each in error.errors():
            name, *path = (str(part) for part in each["loc"] if part != "[key]")
            option = flag(name, settings.model_fields[name])
            told.append(describe({**each, "loc": (f"{option} {'.'.join(path)}".strip(),)}, "option"))
        raise ConfigurationError("; ".join(told)) from error


def _parameter(name: str, field: FieldInfo, *, defaults: bool) -> inspect.Parameter:
    """Return the parameter that makes typer read a field. Its default is None: the settings have their own."""
    kind, described = _kind(field), (field.description or "").partition("  [")
    if field.is_required():
        argument = typer.Argument(metavar="ENV", help=field.description)
        return _keyword(name, inspect.Parameter.empty, kind, argument)
    told = f"{described[1]}{described[2]}".strip() if defaults else ""
    if defaults and not told and field.default is not False and field.default not in (None, "", {}):
        told = f"[default: {str(field.default).lower() if field.default is True else field.default}]"
    nested = _is_mapping(field) and isinstance(of := get_args(kind)[1], type) and issubclass(of, BaseModel)
    if not defaults and _extra(field, "resume") == "raise":
        told = "Can only be raised; none lifts a limit." if nested else "Can only be raised."
    help = f"{described[0]}  {told}".strip()
    spelt = flag(name, field)
    if _is_mapping(field):
        option = typer.Option(
            spelt, metavar="SCOPE.WHAT=N" if nested else _written(field), help=f"{help} Repeatable."
        )
        return _keyword(name, [], list[str], option)
    if kind is bool:
        # A switch that is off unless given needs no second name.
        both = spelt if field.default is False else f"{spelt}/--no-{spelt[2:]}"
        return _keyword(name, None, bool | None, typer.Option(both, help=help))
    if get_origin(kind) is Literal:
        option = typer.Option(spelt, metavar="|".join(get_args(kind)), help=help)
        return _keyword(name, None, str | None, option)
    least = next((each.ge for each in field.metadata if hasattr(each, "ge")), None)
    return _keyword(name, None, kind | None, typer.Option(spelt, min=least, help=help))


def _keyword(name: str, default: Any, kind: Any, option: Any) -> inspect.Parameter:
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, option]
    )


def _is_argument(parameter: inspect.Parameter) -> bool:
    return any(type(each).__name__ == "ArgumentInfo" for each in getattr(parameter.annotation, "__metadata__", ()))


def _kind(field: FieldInfo) -> Any:
    """Return the type of a field's values, None apart."""
    kind: Any = field.annotation
    if get_origin(kind) in (Union, UnionType):
        (kind,) = (each for each in get_args(kind) if each is not NoneType)
    return kind


def _is_mapping(field: FieldInfo) -> bool:
    return get_origin(_kind(field)) is dict


def _extra(field: FieldInfo, name: str) -> str:
    extra = field.json_schema_extra
    return str(extra.get(name, "")) if isinstance(extra, dict) else ""


def _written(field: FieldInfo) -> str:
    """Return how one value of a mapping is written."""
    return _extra(field, "metavar") or "KEY=VALUE"


def _read(field: FieldInfo, option: str, given: Any) -> Any:
    """Return what was given as the value of a field: for one that is repeated, by key."""
    if not isinstance(given, list):
        return given
    values: dict[str, Any] = {}
    _, of = get_args(_kind(field))
    for text in given:
        # A model's name may hold an equals sign, and its price holds none.
        key, equals, value = text.rpartition("=") if of is str else text.partition("=")
        if of not in (str, Any):
            scope, _, what = key.partition(".")
            if not equals or what not in of.model_fields:
                raise ConfigurationError(
                    f"{option} {text!r}: write it as SCOPE.WHAT=NUMBER, with one of {', '.join(of.model_fields)}"
                )
            values.setdefault(scope, {})[what] = None if value.lower() == "none" else _json(value)
        elif not equals or not key:
            raise ConfigurationError(f"{option} {text!r}: write it as {_written(field)}")
        elif of is str:
            values[key] = value
        else:
            values[_identifier(option, text, key)] = _json(value)
    return values


def _rest_of(context: typer.Context) -> dict[str, Any]:
    """Return the environment's options in the rest of a command's line: `--key value` or `--key=value`."""
    options: dict[str, Any] = {}
    left = iter(context.args)
    for word in left:
        name, equals, value = word.partition("=")
        if not re.fullmatch(r"--[a-z][a-z0-9-]*", name):
            raise ConfigurationError(f"{word!r} is neither an option nor the value of one")
        value = value if equals else next(left, "--")
        if value.startswith("--"):
            meant = _meant(name, _options_of(context))
            raise ConfigurationError(
                f"{name} is no option of the command{meant and f' ({meant})'}, "
                "and as one of the environment needs a value"
            )
        options[_identifier(name, word, name[2:].replace("-", "_"))] = _json(value)
    return options


def _identifier(option: str, text: str, key: str) -> str:
    if not key.isidentifier():
        raise ConfigurationError(f"{option} {text!r}: write it as KEY=VALUE")
    return key


def _json(text: str) -> Any:
    """Return a value that is JSON (`3`, `true`) as that, and any other as text."""
    try:
        return json.loads(text)
    except ValueError:
        return text


@contextmanager
def naming_options(context: typer.Context, env: str) -> Iterator[None]:
    """Suggest an option for one that neither the command nor the environment has.

    Args:
        context: The command's.
        env: The environment's name.

    Raises:
        ConfigurationError: instead of the environment's own error.
    """
    try:
        yield
    except OptionsRefused as error:
        if not error.unknown:
            raise
        ours = _options_of(context)
        own = [name for name in map(_as_option, error.taken) if name not in ours]
        name = _as_option(error.unknown[0])
        meant = _meant(name, [*ours, *own])
        said = f"{name} is no option of {env}" if name in ours else f"no option {name}{meant and f': {meant}'}"
        raise ConfigurationError(f"{said} ({env}'s own options: {', '.join(own) or 'none'})") from error


def _options_of(context: typer.Context) -> list[str]:
    named = [name for each in context.command.get_params(context) for name in (*each.opts, *each.secondary_opts)]
    return [name for name in named if name.startswith("--")]


def _as_option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _meant(name: str, names: Sequence[str]) -> str:
    close = get_close_matches(name[2:], [each[2:] for each in names], n=1)
    return f"did you mean --{close[0]}?" if close else ""


def fail(message: str, status: int = 2) -> int:
    """Print in one line what went wrong. Returns the exit status."""
    typer.echo(f"langgraph-reflexion: {' '.join(message.split())}", err=True)
    return status
