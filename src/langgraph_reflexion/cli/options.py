"""What the commands share: options of the same name, how those of an environment are read, how an error is said."""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

import typer

from langgraph_reflexion.errors import ConfigurationError, OptionsRefused

OPEN = {"allow_extra_args": True, "ignore_unknown_options": True}
"""How a command is declared whose other options, `--name value`, are the environment's."""

Env = Annotated[
    str,
    typer.Argument(
        metavar="ENV",
        help="alfworld, hotpotqa, programming, webshop, workspace, or the path of your own: package.module:Class.",
    ),
]
Split = Annotated[str | None, typer.Option(help="Set of tasks.  [default: the environment's first]")]
Seed = Annotated[int, typer.Option(help="Seeds the run, and the tasks where they are generated.")]
Options = Annotated[
    list[str],
    typer.Option(
        "--option",
        metavar="KEY=VALUE",
        help="Option of the environment; may be repeated. So is any other --KEY VALUE.",
    ),
]
Database = Annotated[
    str | None,
    typer.Option(metavar="URL", help="Postgres instead of the run folder: postgresql://user:password@host/name."),
]
LessonsIn = Annotated[
    str | None,
    typer.Option(
        "--lessons",
        metavar="FILE|URL",
        help="Keep lessons from task to task in a SQLite file, or in Postgres: postgresql://user:password@host/name.",
    ),
]
Budgets = Annotated[
    list[str],
    typer.Option(
        "--budget",
        metavar="SCOPE.WHAT=N",
        help="Limit of a trial, task or run on actions, llm_calls, tokens, cost or seconds; may be repeated.",
    ),
]
CacheFile = Annotated[
    Path | None, typer.Option("--cache", help="A file that keeps model answers, for when the same run is run again.")
]
Workers = Annotated[
    int | None, typer.Option(min=1, help="So many processes share the work.  [default: this one alone]")
]
Engine = Annotated[
    str | None,
    typer.Option(
        help="Where they are: process (this machine) or ray (a cluster; needs --database).  [default: process]"
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def read_options(pairs: list[str], context: typer.Context) -> dict[str, Any]:
    """The environment's options. A value is read as JSON where it is some (`3`, `true`), else as text.

    Args:
        pairs: Those that were given as KEY=VALUE.
        context: The command's. What is left of its line are those that were given as `--key value` or `--key=value`.

    Raises:
        ConfigurationError: a word is no option, or an option has no value.
    """
    given = [("--option", each) for each in pairs]
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
                "and as one of the environment wants a value"
            )
        given.append((name, f"{name[2:].replace('-', '_')}={value}"))
    options: dict[str, Any] = {}
    for option, text in given:
        key, value = pair(option, text)
        if not key.isidentifier():
            raise ConfigurationError(f"{option} {text!r}: write it as KEY=VALUE")
        try:
            options[key] = json.loads(value)
        except ValueError:
            options[key] = value
    return options


@contextmanager
def naming_options(context: typer.Context, env: str) -> Iterator[None]:
    """Say of an option that neither the command nor the environment has which one may be meant.

    Args:
        context: The command's.
        env: The environment's name.

    Raises:
        ConfigurationError: instead of what the environment says.
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


def pair(option: str, text: str) -> tuple[str, str]:
    """The two sides of KEY=VALUE.

    Args:
        option: Where it was given; a model's name, which `--price` begins with, may hold an equals sign itself.
        text: As it was given.

    Raises:
        ConfigurationError: it is none.
    """
    key, equals, value = text.rpartition("=") if option == "--price" else text.partition("=")
    if not equals or not key:
        raise ConfigurationError(f"{option} {text!r}: write it as KEY=VALUE")
    return key, value


def fail(message: str, status: int = 2) -> int:
    """Say in one line what went wrong. Returns the exit status."""
    typer.echo(f"langgraph-reflexion: {' '.join(message.split())}", err=True)
    return status
