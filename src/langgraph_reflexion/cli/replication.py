"""The command line's `import-upstream` and `replay`: the original repository's logs."""

import json
from itertools import groupby
from pathlib import Path, PurePosixPath
from typing import Annotated

import typer

from langgraph_reflexion.cli.options import AsJson


def register(app: typer.Typer) -> None:
    """Add the commands to an application."""
    app.command("import-upstream")(import_upstream)
    app.command()(replay)


def import_upstream(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A clone of the original repository, or part of it.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="A new folder, or an earlier import to replace.")],
    as_json: AsJson = False,
) -> None:
    """Import the original's logs, a run folder for each; what is irregular is named on standard error."""
    from langgraph_reflexion.replication.imports import import_logs, solved

    done = import_logs(path, out)
    if as_json:
        typer.echo(json.dumps(done.as_json(), indent=2))
    else:
        for name, run in done.runs.items():
            typer.echo(f"{name}: {' '.join(map(str, solved(run)))} of {len(run.tasks)}")
        runs = f"{len(done.runs)} log{'s' * (len(done.runs) != 1)}"
        typer.echo(f"{runs} imported. Beside the papers: langgraph-reflexion report --paper {out}")
    for name, run in done.runs.items():
        for note in run.notes:
            _name_it(f"{name}: {note}")
    for (folder, why), left in groupby(done.left_out, lambda each: (PurePosixPath(each[0]).parent, each[1])):
        first, *others = (source for source, _ in left)
        more = f" and {len(others)} more in {folder}" if others else ""
        _name_it(f"{first}{more}: left out: {why}")
    for part in done.missing:
        _name_it(f"no {part} log was found")


def _name_it(text: str) -> None:
    """Say what is irregular, on a line of its own: names out of a log may hold anything."""
    typer.echo("".join(each if each.isprintable() else "?" for each in text), err=True)


def replay(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A log, or its folder.")], as_json: AsJson = False
) -> None:
    """Run the graph over a recorded log: right, wrong and halted by trial, logged beside replayed."""
    from langgraph_reflexion.replication.replay import replay
    from langgraph_reflexion.replication.tables import show_replay

    show_replay(replay(path), as_json=as_json)
