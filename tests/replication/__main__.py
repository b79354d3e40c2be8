"""The commands of `python -m tests.replication`: imports, tables and replays of the original's logs."""

import json
import sys
from itertools import groupby
from pathlib import Path, PurePosixPath
from typing import Annotated

import typer
from rich.console import Console

from langgraph_reflexion.errors import ReflexionError
from langgraph_reflexion.lab.cli.basics import AsJson, fail
from langgraph_reflexion.support.text import count, printable
from tests.replication.imports import Import, import_logs, solved
from tests.replication.paper import compare
from tests.replication.paper_tables import print_paper
from tests.replication.replay import replay

app = typer.Typer(
    help=__doc__,
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.command("import")
def import_command(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A clone of the original repository, or part of it.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="A new folder.")],
) -> None:
    """Import the original's logs, a run folder for each.

    Irregularities are listed on standard error.
    """
    done = import_logs(path, out)
    for name, run in done.runs.items():
        typer.echo(f"{name}: {' '.join(map(str, solved(run)))} of {len(run.tasks)}")
    typer.echo(f"{count(len(done.runs), 'log')} imported into {out}")
    for note in irregularities(done):
        typer.echo(printable(note).replace("\n", " "), err=True)


@app.command()
def tables(
    folders: Annotated[list[Path], typer.Argument(metavar="DIR...", help="Run folders, or the folder of an import.")],
    as_json: AsJson = False,
) -> None:
    """Print the papers' tables beside imported logs and runs of your own."""
    results = compare(folders)
    if as_json:
        typer.echo(json.dumps(results.as_json(), indent=2))
    else:
        print_paper(Console(), results)


@app.command("replay")
def replay_command(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A log, or its folder.")], as_json: AsJson = False
) -> None:
    """Run the graph over a recorded log of HotPotQA.

    Prints how many questions were right, wrong and halted in each trial, as logged and as replayed.
    """
    replayed = replay(path)
    if as_json:
        typer.echo(json.dumps(replayed.as_json(), indent=2))
    else:
        replayed.print()


def irregularities(done: Import) -> list[str]:
    """Return what an import left out, noticed or missed, a line each; files of one folder share a line."""
    notes = [f"{name}: {note}" for name, run in done.runs.items() for note in run.notes]
    for (folder, why), files in groupby(done.left_out, lambda each: (PurePosixPath(each[0]).parent, each[1])):
        first, *others = (source for source, _ in files)
        more = f" and {len(others)} more in {folder}" if others else ""
        notes.append(f"{first}{more}: left out: {why}")
    notes += [f"no {part} log was found" for part in done.missing]
    return notes


if __name__ == "__main__":
    try:
        app(prog_name="python -m tests.replication")
    except ReflexionError as error:
        sys.exit(fail(str(error)))
