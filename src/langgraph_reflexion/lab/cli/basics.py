"""What all commands share: an option, how they report an error, and how they print JSON."""

import json
import shlex
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from langgraph_reflexion.support.text import printable

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def fail(message: str, status: int = 2) -> int:
    """Print in one line what went wrong. Returns the exit status."""
    typer.echo(f"langgraph-reflexion: {printable(' '.join(message.split()))}", err=True)
    return status


def print_json(value: Any) -> None:
    """Print plain data as JSON, which has no NaN and no infinity: they become null."""
    written = json.dumps(value)
    allowed = json.loads(written, parse_constant=lambda _: None)
    typer.echo(json.dumps(allowed, indent=2))


@contextmanager
def sigterm_as_ctrl_c() -> Iterator[None]:
    """Let SIGTERM, which schedulers and containers send, stop what is inside as Ctrl-C does.

    What a script starts in the background ignores Ctrl-C, and continues to: SIGTERM alone stops it.
    """
    ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN

    def stop(*_: object) -> None:
        if ignored:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
        if ignored:
            signal.signal(signal.SIGINT, signal.SIG_IGN)


def say_starting() -> None:
    """Say in a terminal that the command has begun: its imports take seconds. Any later line replaces it."""
    if sys.stderr.isatty():
        typer.echo("starting ...\r", nl=False, err=True)


def suggest(*words: object) -> None:
    """Say in a terminal which command comes next."""
    if sys.stderr.isatty():
        command = " ".join(shlex.quote(str(word)) for word in words)
        typer.secho(f"Next: langgraph-reflexion {command}", dim=True, err=True)
