"""The command line's `report` and `show`: comparisons of runs, and a task's trials."""

import json
from pathlib import Path
from typing import Annotated

import typer

from langgraph_reflexion.cli.options import AsJson
from langgraph_reflexion.errors import ConfigurationError


def report(
    folders: Annotated[list[Path], typer.Argument(metavar="DIR...", help="Run folders, or that of an experiment.")],
    figures: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Draw the papers' figures, as PNG and SVG, into this folder."),
    ] = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a page with curves, tables and every trial.")
    ] = None,
    csv: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the curves, with spread and intervals, as CSV.")
    ] = None,
    paper: Annotated[
        bool, typer.Option("--paper", help="The papers' tables: from an import, beside your own run folders.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Report runs: tasks solved by trial, failures by reason, cost; several compared with each other."""
    if paper:
        from langgraph_reflexion.replication.paper import compare as beside_the_papers
        from langgraph_reflexion.replication.paper_tables import show_paper

        if figures or html or csv:
            raise ConfigurationError(
                "--paper prints tables: leave --figures, --html and --csv out, or name runs without it"
            )
        show_paper(beside_the_papers(folders), as_json=as_json)
        return
    from rich.console import Console

    from langgraph_reflexion.experiments.comparison import compare
    from langgraph_reflexion.experiments.matrix_folder import holds_experiment
    from langgraph_reflexion.experiments.matrix_tables import compare_experiment, with_folders
    from langgraph_reflexion.experiments.terminal import print_comparison

    if len(folders) == 1 and holds_experiment(folders[0]):
        comparison = compare_experiment(folders[0])
    else:
        comparison = compare(with_folders(folders))
    written = [str(path) for path in (figures, html, csv) if path]
    if figures:
        from langgraph_reflexion.experiments.figures import write_figures

        write_figures(comparison.series, figures)
    if html:
        from langgraph_reflexion.experiments.page import write_page

        write_page(comparison, html)
    if csv:
        from langgraph_reflexion.experiments.curves_csv import write_curves

        write_curves(comparison.series, csv)
    if as_json:
        typer.echo(json.dumps(comparison.as_json(), indent=2))
    else:
        print_comparison(Console(), comparison)
        if written:
            typer.echo(f"Written: {', '.join(written)}")


def show(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A run folder.")],
    task: Annotated[str, typer.Argument(metavar="TASK", help="The task's id, or its number from 1.")],
    trial: Annotated[int | None, typer.Option(min=1, help="This trial only.")] = None,
) -> None:
    """Show a task's trials: every step, the verdict and the truth, and the reflection that followed."""
    from rich.console import Console

    from langgraph_reflexion.experiments.show import show_task

    show_task(Console(highlight=False), folder, task, trial)
