"""The commands `import-upstream` and `replay`: the original repository's logs."""

import json
from itertools import groupby
from pathlib import Path, PurePosixPath
from typing import Annotated

import typer

from langgraph_reflexion.lab.cli.basics import AsJson, suggest


def import_upstream(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A clone of the original repository, or part of it.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="A new folder.")],
) -> None:
    """Import the original's logs, a run folder for each.

    Irregularities are listed on standard error.
    """
    from langgraph_reflexion.replication.imports import import_logs, solved
    from langgraph_reflexion.support.text import count, printable

    done = import_logs(path, out)
    for name, run in done.runs.items():
        typer.echo(f"{name}: {' '.join(map(str, solved(run)))} of {len(run.tasks)}")
    typer.echo(f"{count(len(done.runs), 'log')} imported into {out}")
    suggest("report", "--paper", out)
    notes = [f"{name}: {note}" for name, run in done.runs.items() for note in run.notes]
    for (folder, why), left in groupby(done.left_out, lambda each: (PurePosixPath(each[0]).parent, each[1])):
        first, *others = (source for source, _ in left)
        more = f" and {len(others)} more in {folder}" if others else ""
        notes.append(f"{first}{more}: left out: {why}")
    notes += [f"no {part} log was found" for part in done.missing]
    for note in notes:
        typer.echo(printable(note).replace("\n", " "), err=True)


def replay(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A log, or its folder.")], as_json: AsJson = False
) -> None:
    """Run the graph over a recorded log.

    Prints how many questions were right, wrong and halted in each trial, as logged and as replayed.
    """
    from langgraph_reflexion.replication.replay import replay

    replayed = replay(path)
    if as_json:
        typer.echo(json.dumps(replayed.as_json(), indent=2))
    else:
        replayed.print()
        suggest("import-upstream", path, "--out", "runs/original")
