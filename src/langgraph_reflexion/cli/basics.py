"""What all commands share: an option, and how they report an error."""

from typing import Annotated

import typer

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def fail(message: str, status: int = 2) -> int:
    """Print in one line what went wrong. Returns the exit status."""
    typer.echo(f"langgraph-reflexion: {' '.join(message.split())}", err=True)
    return status
