"""Options of the commands, made from the fields of a settings class."""

import inspect
import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import typer
import typer.core
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from langgraph_reflexion.errors import ConfigurationError, ReflexionError, did_you_mean, validated
from langgraph_reflexion.lab.cli.help import OPTION, environment_options, spelt
from langgraph_reflexion.lab.declared import extra
from langgraph_reflexion.support.choices import ENVIRONMENTS


def takes(
    settings: type[BaseModel], only: Collection[str] | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command one option for each field of a settings class.

    A required field is an argument. The command's own parameters stay. It is called with the settings as `settings`,
    or with nothing but the values that were given, by field, as `given`. `only` limits the fields.
    """
    fields = {name: field for name, field in settings.model_fields.items() if only is None or name in only}

    def decorate(body: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(body, eval_str=True).parameters
        whole = "settings" in own
        receives = "settings" if whole else "given"
        parameters = [_parameter(name, field, defaults=whole) for name, field in fields.items()]
        for name, parameter in own.items():
            if name != receives:
                parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
        # Arguments come before options.
        parameters.sort(key=_is_option)
        context = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
        parameters.insert(0, context)

        def command(context: typer.Context, **values: Any) -> None:
            typed = {name: values.pop(name) for name in fields}
            given = _read_all(fields, typed)
            if context.args:
                others = _environment_options(context.args)
                own_options = [flag(name, field) for name, field in fields.items()]
                _expect_no_misspelt(others, given.get("environment", ""), own_options)
                given["options"] = given.get("options", {}) | others
            if whole:
                values["settings"] = _settings(settings, given)
            else:
                values["given"] = given
            body(**values)

        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {each.name: each.annotation for each in parameters}
        command.__doc__ = body.__doc__
        command.__name__ = body.__name__
        return command

    return decorate


def _read_all(fields: Mapping[str, FieldInfo], typed: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the options that were typed, by field."""
    given = {}
    for name, value in typed.items():
        if value not in (None, []):
            field = fields[name]
            given[name] = _read(field, flag(name, field), value)
    return given


def flag(name: str, field: FieldInfo) -> str:
    """Return the option of a field. A repeatable one is named after one of its values, as `--price` for `prices`."""
    if _is_mapping(field):
        name = name.removesuffix("s")
    return spelt(name)


def _settings(settings: type[BaseModel], given: Mapping[str, Any]) -> BaseModel:
    """Return the settings with these values; errors name the options."""

    def place(path: list[str]) -> str:
        first, *rest = path
        option = flag(first, settings.model_fields[first])
        return f"{option} {'.'.join(rest)}".strip()

    return validated(settings, given, "option", place)


def _parameter(name: str, field: FieldInfo, *, defaults: bool) -> inspect.Parameter:
    """Return the parameter that makes typer read a field. Its default is None: the settings have their own."""
    kind = _kind(field)
    spelt = flag(name, field)
    if field.is_required():
        argument = typer.Argument(metavar="ENV", help=field.description, autocompletion=lambda: list(ENVIRONMENTS))
        return _keyword(name, inspect.Parameter.empty, kind, argument)
    help = _help_with_default(field) if defaults else _help_without_default(name, field)
    if _is_mapping(field):
        # Options of an environment are written as `--KEY VALUE`; `--option` is the older form.
        older = spelt == "--option"
        option = typer.Option(spelt, metavar=_metavar(field), help=f"{help} Repeatable.", hidden=older)
        return _keyword(name, [], list[str], option)
    if kind is bool:
        both = f"{spelt}/--no-{spelt[2:]}"
        if field.default is False:
            # A switch that is off unless given needs no second name.
            both = spelt
        return _keyword(name, None, bool | None, typer.Option(both, help=help))
    if get_origin(kind) is Literal:
        choices = get_args(kind)
        metavar = _metavar_of(field)
        option = typer.Option(spelt, metavar=metavar, help=help, autocompletion=lambda: list(choices))
        return _keyword(name, None, str | None, option)
    limits = [each.ge for each in field.metadata if hasattr(each, "ge")]
    least = next(iter(limits), None)
    return _keyword(name, None, kind | None, typer.Option(spelt, min=least, metavar=_metavar_of(field), help=help))


def _help_with_default(field: FieldInfo) -> str:
    """Return the help of an option with its default, unless that goes without saying."""
    help = field.description or ""
    if "  [" in help or field.default is False or field.default in (None, "", {}):
        return help
    default = str(field.default)
    if field.default is True:
        default = "true"
    return f"{help}  [default: {default}]"


def _help_without_default(name: str, field: FieldInfo) -> str:
    """Return the help of an option of a command that keeps the recorded value unless another one is given."""
    help, _, _ = (field.description or "").partition("  [")
    if extra(field, "resume") != "raise":
        return help
    help += "  Can only be raised"
    if name == "budgets":
        help += "; none lifts a limit"
    return f"{help}."


def _keyword(name: str, default: Any, kind: Any, option: Any) -> inspect.Parameter:
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, option]
    )


def _is_option(parameter: inspect.Parameter) -> bool:
    """Return whether typer reads a parameter as an option, and not as an argument."""
    metadata = getattr(parameter.annotation, "__metadata__", ())
    return all(type(each).__name__ != "ArgumentInfo" for each in metadata)


def _kind(field: FieldInfo) -> Any:
    """Return the type of a field's values other than None."""
    kind: Any = field.annotation
    if get_origin(kind) in (Union, UnionType):
        kinds = [each for each in get_args(kind) if each is not NoneType]
        if len(kinds) > 1:
            # The settings read what is typed.
            return str
        kind = kinds[0]
    return kind


def _is_mapping(field: FieldInfo) -> bool:
    return get_origin(_kind(field)) is dict


def _metavar_of(field: FieldInfo) -> str:
    """Return what stands for the value of an option in its help."""
    named: str | None = extra(field, "metavar")
    if named:
        return named
    kind = _kind(field)
    if get_origin(kind) is Literal:
        return "|".join(get_args(kind))
    if kind in (int, float):
        return "N"
    return "TEXT"


def _metavar(field: FieldInfo) -> str:
    return extra(field, "metavar") or "KEY=VALUE"


def _read(field: FieldInfo, option: str, given: Any) -> Any:
    """Parse the value of an option; that of a repeatable one is a mapping."""
    if not isinstance(given, list):
        return given
    _, of = get_args(_kind(field))
    if _has_parts(field):
        return _read_nested(field, option, given)
    values: dict[str, Any] = {}
    for text in given:
        if of is str:
            # A model's name may hold an equals sign, and its price holds none.
            key, equals, value = text.rpartition("=")
        else:
            key, equals, value = text.partition("=")
        if not key or not equals:
            raise ConfigurationError(f"{option} {text!r}: write it as {_metavar(field)}")
        values[key] = value
        if of is not str:
            values[key] = _json(value)
    return values


def _read_nested(field: FieldInfo, option: str, given: list[str]) -> dict[str, dict[str, Any]]:
    """Parse the values of a nested option, `SCOPE.WHAT=VALUE`, by scope; the value `none` lifts a limit."""
    scopes, limits = get_args(_kind(field))
    values: dict[str, dict[str, Any]] = {}
    for text in given:
        key, equals, value = text.partition("=")
        scope, _, what = key.partition(".")
        if not equals or not what:
            parts = f"SCOPE is {_either(get_args(scopes))}, and WHAT is {_either(limits.model_fields)}"
            raise ConfigurationError(f"{option} {text!r}: write it as {_metavar(field)}, where {parts}")
        _expect_part(field, f"{option} {text!r}", scope, what)
        limit = None
        if value.lower() != "none":
            limit = _json(value)
        values.setdefault(scope, {})[what] = limit
    return values


def _has_parts(field: FieldInfo) -> bool:
    """Return whether the key of a repeatable option is made of two names, as `trial.actions`."""
    _, of = get_args(_kind(field))
    return isinstance(of, type) and issubclass(of, BaseModel)


def _expect_part(field: FieldInfo, given: str, scope: str, what: str) -> None:
    """Raise ConfigurationError if the key of a nested option, `SCOPE.WHAT`, has an unknown part."""
    scopes, limits = get_args(_kind(field))
    _expect_known(given, scope, list(get_args(scopes)))
    _expect_known(given, what, list(limits.model_fields))


def _expect_known(given: str, name: str, known: Sequence[str]) -> None:
    """Raise ConfigurationError, with the name that may be meant, if a name is unknown."""
    if name in known:
        return
    # Somebody who writes `call` means `llm_calls`.
    longer = [each for each in known if name and name in each]
    hint = did_you_mean(name, known)
    if len(longer) == 1:
        hint = f" (did you mean {longer[0]}?)"
    raise ConfigurationError(f"{given}: there is no {name!r}, but {', '.join(known)}{hint}")


def _either(names: Iterable[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} or {last}"


def _environment_options(words: list[str]) -> dict[str, Any]:
    """Parse the rest of a command line as the environment's options: `--key value`, `--key=value`, or a switch."""
    options: dict[str, Any] = {}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        name, equals, value = word.partition("=")
        if not OPTION.fullmatch(name):
            raise ConfigurationError(f"unexpected argument {word!r}: write an option as --KEY VALUE")
        if not equals:
            value = _value_before_next_option(rest)
        options[name[2:].replace("-", "_")] = _json(value)
    return options


def _value_before_next_option(rest: list[str]) -> str:
    """Take the value of an option off the words that follow it; a switch has none, and is on."""
    if not rest or rest[0].startswith("--"):
        return "true"
    return rest.pop(0)


def _expect_no_misspelt(options: Mapping[str, Any], environment: str, own: Iterable[str]) -> None:
    """Raise ConfigurationError for an option that environment or agent lacks and that resembles a command's."""
    if _takes_any_option(environment):
        return
    theirs = _options_of(environment, options)
    if not theirs:
        return
    ours = [each[2:] for each in own]
    for name in options:
        spelt = name.replace("_", "-")
        if f"--{spelt}" in theirs:
            continue
        hint = did_you_mean(spelt, ours)
        if hint:
            written = f"--{name if spelt in ours else spelt}"
            hint = hint.replace("mean ", "mean --")
            raise ConfigurationError(f"neither the command nor {environment} has an option {written}{hint}")


def _takes_any_option(environment: str) -> bool:
    """Return whether an environment takes options by any name."""
    from langgraph_reflexion.envs import environment_class

    try:
        taken = inspect.signature(environment_class(environment)).parameters.values()
    except ReflexionError:
        return False
    return any(each.kind is each.VAR_KEYWORD for each in taken)


def _options_of(environment: str, given: Mapping[str, Any]) -> list[str]:
    """Return the options of an environment; of an agent, those that it takes with the given ones."""
    from langgraph_reflexion.agents.own import options_of_agent

    rows = environment_options(environment)
    if rows:
        return [option.split()[0] for option, _ in rows]
    return [spelt(name) for name in options_of_agent(environment, given)]


def _json(text: str) -> Any:
    """Parse a value as JSON (`3`, `true`), or else take it as text."""
    try:
        return json.loads(text)
    except ValueError:
        return text
