"""The command `list`: the runs below a folder."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.lab.cli.basics import AsJson, print_json, suggest

if TYPE_CHECKING:
    from langgraph_reflexion.lab.experiments.runs import Run


def list_runs(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="The folder of the runs, and of experiments.", show_default=True)
    ] = Path("runs"),
    as_json: AsJson = False,
) -> None:
    """List the runs in a folder, the newest first.

    Says of each what was run, and how many of its tasks are solved and finished.
    """
    from rich.console import Console

    from langgraph_reflexion.lab.experiments.runs import read_run
    from langgraph_reflexion.lab.experiments.tables import Table

    if not folder.is_dir():
        raise ConfigurationError(f"there is no folder {folder}: name the one that holds the runs")
    rows = []
    for place in _run_folders(folder):
        try:
            rows.append(_row(read_run(place)))
        except ConfigurationError as error:
            typer.echo(f"Left out: {error}", err=True)
    rows.sort(key=lambda row: row["created"], reverse=True)
    if as_json:
        print_json(rows)
        return
    if not rows:
        typer.echo(f"No runs in {folder}.")
        return
    head = ("run", "environment", "strategy", "model", "solved", "finished")
    cells = [
        [
            str(Path(row["dir"]).relative_to(folder)),
            f"{row['environment']} {row['split']}",
            row["strategy"],
            row["model"],
            str(row["solved"]),
            f"{row['finished']} of {row['tasks']}",
        ]
        for row in rows
    ]
    Table(f"Runs in {folder}", head, cells).print(Console(highlight=False))
    suggest("report", rows[0]["dir"])


def _run_folders(folder: Path) -> Iterator[Path]:
    """Yield the folders of runs in a folder, and in the experiments in it. Links are not followed."""
    from langgraph_reflexion.lab.experiments.runs import holds_run

    for place in sorted(folder.iterdir()):
        if place.is_symlink() or not place.is_dir():
            continue
        if holds_run(place):
            yield place
            continue
        for inner in sorted(place.iterdir()):
            if inner.is_dir() and not inner.is_symlink() and holds_run(inner):
                yield inner


def _row(run: "Run") -> dict[str, Any]:
    from langgraph_reflexion.lab.experiments.report import report_run

    report = report_run(run)
    total = report.tasks + report.ungradable
    return {
        "dir": str(run.folder),
        "created": run.info.get("created", ""),
        "environment": str(run.settings["environment"]),
        "split": str(run.settings["split"]),
        "strategy": str(run.settings["strategy"]),
        "model": str(run.settings["model"]),
        "tasks": total,
        "solved": report.solved[-1] if report.solved else 0,
        "finished": total - report.unfinished,
    }
