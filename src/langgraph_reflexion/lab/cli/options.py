"""Options of the commands, made from the fields of a settings class."""

import contextlib
import inspect
import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import typer
import typer.core
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from langgraph_reflexion.errors import ConfigurationError, ReflexionError, did_you_mean, validated
from langgraph_reflexion.lab.cli.examples import EXAMPLES
from langgraph_reflexion.lab.declared import extra
from langgraph_reflexion.support.choices import ENVIRONMENTS

GROUPS = {
    "Task": ("split", "limit", "seed", "task"),
    "Model": (
        *("model", "reflection_model", "base_url", "temperature", "max_tokens"),
        *("timeout", "retries", "cache", "prices"),
    ),
    "Reflexion": ("profile", "actor", "strategy", "evaluator", "feedback"),
    "Memory": ("memory", "memory_size", "memory_map", "lessons", "user", "recall", "frozen"),
    "Limits": ("max_trials", "max_actions", "max_cycles", "until_no_improvement", "first_trial_of", "budgets"),
    "Scale": ("concurrency", "workers", "ray_address", "checkpoints", "database"),
}
"""The options of a command by group, both in the order of its help; others are in the last group, `Output`."""

OPEN = {"allow_extra_args": True, "ignore_unknown_options": True}
"""The declaration of a command whose other options, `--name value`, are the environment's."""


class ExampledCommand(typer.core.TyperCommand):
    """A command whose help ends with examples."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        records: dict[str, list[Any]] = {"Arguments": [], "Options": []}
        for param in self.get_params(ctx):
            if record := _help_record(param, ctx):
                records["Arguments" if param.param_type_name == "argument" else "Options"].append(record)
        for group, rows in records.items():
            if rows:
                with formatter.section(group):
                    formatter.write_dl(rows)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        super().format_epilog(ctx, formatter)
        if examples := EXAMPLES.get(str(self.name)):
            with formatter.section("Examples"):
                # Line by line, as a terminal may be narrower and a command has to stay whole.
                for line in examples:
                    formatter.write(f"  {line}\n")


def _help_record(param: Any, ctx: Any) -> tuple[str, str] | None:
    """Return the name of a parameter and its help; none if it is hidden."""
    record: tuple[str, str] | None = param.get_help_record(ctx)
    if record is None:
        return None
    # typer adds the Python type of an argument to its name.
    return re.sub(r" <[^>]*>$", "", record[0]), record[1]


class GroupedCommand(ExampledCommand):
    """A command whose help shows its options in groups, and after an environment's name also that one's."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        first = [each for each in args[:1] if not each.startswith("-")]
        ctx.meta[ENVIRONMENTS_OPTIONS] = [each for each in args if each in ENVIRONMENTS][:1] or first
        return super().parse_args(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        records: dict[str, list[Any]] = {"Arguments": [], **{group: [] for group in GROUPS}, "Output": []}
        order = [name for names in GROUPS.values() for name in names]
        order += [str(param.name) for param in self.get_params(ctx) if param.name not in order]
        for param in sorted(self.get_params(ctx), key=lambda param: order.index(str(param.name))):
            group = next((group for group, names in GROUPS.items() if param.name in names), "Output")
            if record := _help_record(param, ctx):
                records["Arguments" if param.param_type_name == "argument" else group].append(record)
        if ctx.command.context_settings.get("ignore_unknown_options"):
            records["Task"].append(("--KEY VALUE", ENVIRONMENTS_OWN))
        for name in ctx.meta.get(ENVIRONMENTS_OPTIONS, []):
            records = {**records, f"Options of {name}": environment_options(name)}
        for group, rows in records.items():
            if rows:
                with formatter.section(group):
                    formatter.write_dl(rows)


ENVIRONMENTS_OWN = "An option of the environment; its name before --help lists them all."
"""The help of the options that are the environment's own."""
ENVIRONMENTS_OPTIONS = f"{__name__}.environment"
"""The key of the environment's name in a context, whose options the help shows."""


def environment_options(name: str) -> list[tuple[str, str]]:
    """Return the options of an environment as rows of a help text; none if there is no such environment."""
    from langgraph_reflexion.envs import environment_class

    try:
        cls = environment_class(name)
    except ReflexionError:
        return []
    init = next(base for base in cls.__mro__ if "__init__" in vars(base))
    said = re.split(r"^Args:$|^\w+:$", inspect.getdoc(init) or "", flags=re.MULTILINE)[1:2]
    about = {each: " ".join(text.split()) for each, text in _ARGUMENT.findall(f"{said[0]}\n" if said else "")}
    rows = []
    for each in inspect.signature(cls).parameters.values():
        if each.name not in ("seed", "options") and each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY):
            default = "" if each.default in (None, each.empty) else f"  [default: {each.default}]"
            rows.append((f"--{each.name.replace('_', '-')} VALUE", f"{about.get(each.name, '')}{default}"))
    return rows


_ARGUMENT = re.compile(r"^ {4}(\w+): (.+?)$(?=\n {4}\w|\n*\Z)", re.MULTILINE | re.DOTALL)


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
        named = "settings" if "settings" in own else "given"
        ours = [_parameter(name, field, defaults=named == "settings") for name, field in fields.items()]
        rest = [each.replace(kind=each.KEYWORD_ONLY) for name, each in own.items() if name != named]
        context = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
        parameters = [context, *sorted([*ours, *rest], key=lambda each: not _is_argument(each))]

        def command(context: typer.Context, **values: Any) -> None:
            given = {name: values.pop(name) for name in fields}
            given = {name: value for name, value in given.items() if value not in (None, [])}
            given = {name: _read(fields[name], flag(name, fields[name]), value) for name, value in given.items()}
            if context.args:
                others = _environment_options(context.args)
                _expect_no_misspelt(others, given.get("environment", ""), map(flag, fields, fields.values()))
                given["options"] = {**given.get("options", {}), **others}
            body(**{named: _settings(settings, given) if named == "settings" else given}, **values)

        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {each.name: each.annotation for each in parameters}
        command.__doc__, command.__name__ = body.__doc__, body.__name__
        return command

    return decorate


def flag(name: str, field: FieldInfo) -> str:
    """Return the option of a field. A repeatable one is named after one of its values, as `--price` for `prices`."""
    singular = name.removesuffix("s") if _is_mapping(field) else name
    return f"--{singular.replace('_', '-')}"


def _settings(settings: type[BaseModel], given: Mapping[str, Any]) -> BaseModel:
    def place(path: list[str]) -> str:
        return f"{flag(path[0], settings.model_fields[path[0]])} {'.'.join(path[1:])}".strip()

    return validated(settings, given, "option", place)


def _parameter(name: str, field: FieldInfo, *, defaults: bool) -> inspect.Parameter:
    """Return the parameter that makes typer read a field. Its default is None: the settings have their own."""
    kind, spelt = _kind(field), flag(name, field)
    if field.is_required():
        argument = typer.Argument(metavar="ENV", help=field.description, autocompletion=lambda: list(ENVIRONMENTS))
        return _keyword(name, inspect.Parameter.empty, kind, argument)
    help, bracket, default = (field.description or "").partition("  [")
    if defaults and bracket:
        help = f"{help}  [{default}"
    elif defaults and field.default is not False and field.default not in (None, "", {}):
        help = f"{help}  [default: {str(field.default).lower() if field.default is True else field.default}]"
    elif not defaults and extra(field, "resume") == "raise":
        help = f"{help}  Can only be raised{'; none lifts a limit' * (name == 'budgets')}."
    if _is_mapping(field):
        # Options of an environment are written as `--KEY VALUE`; `--option` is the older form.
        option = typer.Option(spelt, metavar=_metavar(field), help=f"{help} Repeatable.", hidden=spelt == "--option")
        return _keyword(name, [], list[str], option)
    if kind is bool:
        # A switch that is off unless given needs no second name.
        both = spelt if field.default is False else f"{spelt}/--no-{spelt[2:]}"
        return _keyword(name, None, bool | None, typer.Option(both, help=help))
    if get_origin(kind) is Literal:
        choices = get_args(kind)
        option = typer.Option(spelt, metavar="|".join(choices), help=help, autocompletion=lambda: list(choices))
        return _keyword(name, None, str | None, option)
    least = next((each.ge for each in field.metadata if hasattr(each, "ge")), None)
    metavar = extra(field, "metavar") or ("N" if kind in (int, float) else "TEXT")
    return _keyword(name, None, kind | None, typer.Option(spelt, min=least, metavar=metavar, help=help))


def _keyword(name: str, default: Any, kind: Any, option: Any) -> inspect.Parameter:
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, option]
    )


def _is_argument(parameter: inspect.Parameter) -> bool:
    return any(type(each).__name__ == "ArgumentInfo" for each in getattr(parameter.annotation, "__metadata__", ()))


def _kind(field: FieldInfo) -> Any:
    """Return the type of a field's values other than None."""
    kind: Any = field.annotation
    if get_origin(kind) in (Union, UnionType):
        (kind,) = (each for each in get_args(kind) if each is not NoneType)
    return kind


def _is_mapping(field: FieldInfo) -> bool:
    return get_origin(_kind(field)) is dict


def _metavar(field: FieldInfo) -> str:
    return extra(field, "metavar") or "KEY=VALUE"


def _read(field: FieldInfo, option: str, given: Any) -> Any:
    """Parse the value of an option; that of a repeatable one is a mapping."""
    if not isinstance(given, list):
        return given
    values: dict[str, Any] = {}
    _, of = get_args(_kind(field))
    for text in given:
        # A model's name may hold an equals sign, and its price holds none.
        key, equals, value = text.rpartition("=") if of is str else text.partition("=")
        scope, _, what = key.partition(".")
        nested = isinstance(of, type) and issubclass(of, BaseModel)
        if not key or not equals or (nested and not what):
            raise ConfigurationError(f"{option} {text!r}: write it as {_metavar(field)}{_parts(field)}")
        if nested:
            _expect_part(field, f"{option} {text!r}", scope, what)
        if nested:
            values.setdefault(scope, {})[what] = None if value.lower() == "none" else _json(value)
        else:
            values[key] = value if of is str else _json(value)
    return values


def _parts(field: FieldInfo) -> str:
    """Say which names the key of a nested option is made of; empty for other options."""
    scopes, limits = get_args(_kind(field))
    if not (isinstance(limits, type) and issubclass(limits, BaseModel)):
        return ""
    return f", where SCOPE is {_either(get_args(scopes))}, and WHAT is {_either(limits.model_fields)}"


def _expect_part(field: FieldInfo, given: str, scope: str, what: str) -> None:
    """Raise ConfigurationError if the key of a nested option, `SCOPE.WHAT`, has an unknown part."""
    scopes, limits = get_args(_kind(field))
    for name, known in ((scope, list(get_args(scopes))), (what, list(limits.model_fields))):
        if name in known:
            continue
        # Somebody who writes `call` means `llm_calls`.
        longer = [each for each in known if name and name in each]
        hint = f" (did you mean {longer[0]}?)" if len(longer) == 1 else did_you_mean(name, known)
        raise ConfigurationError(f"{given}: there is no {name!r}, but {', '.join(known)}{hint}")


def _either(names: Iterable[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} or {last}"


def _environment_options(words: list[str]) -> dict[str, Any]:
    """Parse the rest of a command line as the environment's options: `--key value`, `--key=value`, or a switch."""
    options: dict[str, Any] = {}
    for number, word in enumerate(words):
        name, equals, value = word.partition("=")
        if re.fullmatch(r"--[a-z][a-z0-9_-]*", name):
            following = words[number + 1 : number + 2]
            if not equals:
                value = "true" if not following or following[0].startswith("--") else following[0]
            options[name[2:].replace("-", "_")] = _json(value)
        elif number == 0 or not re.fullmatch(r"--[a-z][a-z0-9_-]*", words[number - 1]):
            raise ConfigurationError(f"unexpected argument {word!r}: write an option as --KEY VALUE")
    return options


def _expect_no_misspelt(options: Mapping[str, Any], environment: str, own: Iterable[str]) -> None:
    """Raise ConfigurationError for an option that environment or agent lacks and that resembles a command's."""
    from langgraph_reflexion.agents.own import options_of_agent
    from langgraph_reflexion.envs import environment_class

    with contextlib.suppress(ReflexionError):
        taken = inspect.signature(environment_class(environment)).parameters.values()
        if any(each.kind is each.VAR_KEYWORD for each in taken):
            return
    theirs = [row[0].split()[0] for row in environment_options(environment)]
    theirs = theirs or [f"--{name.replace('_', '-')}" for name in options_of_agent(environment, options)]
    ours = [each[2:] for each in own]
    for name in options if theirs else ():
        spelt = name.replace("_", "-")
        if f"--{spelt}" not in theirs and (hint := did_you_mean(spelt, ours)):
            written = f"--{name if spelt in ours else spelt}"
            hint = hint.replace("mean ", "mean --")
            raise ConfigurationError(f"neither the command nor {environment} has an option {written}{hint}")


def _json(text: str) -> Any:
    """Parse a value as JSON (`3`, `true`), or else take it as text."""
    try:
        return json.loads(text)
    except ValueError:
        return text
