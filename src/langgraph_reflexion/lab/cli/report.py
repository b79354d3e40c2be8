"""The commands `report` and `show`: comparisons of runs, and a task's trials."""

import json
import tempfile
from pathlib import Path
from typing import Annotated, Literal

import typer

from langgraph_reflexion.errors import ConfigurationError, the_extra
from langgraph_reflexion.lab.cli.basics import AsJson, suggest


def report(
    folders: Annotated[list[Path], typer.Argument(metavar="DIR", help="Run folders, or an experiment's folder.")],
    figures: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Draw the papers' figures into this folder, as SVG, and as PNG with the extra bench.",
        ),
    ] = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a page with figures, tables and every trial.")
    ] = None,
    open_page: Annotated[
        bool, typer.Option("--open", help="Open the page in the browser; without --html, a temporary one.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Report one run, or compare several.

    Prints the tasks solved by trial, the failures by reason, and the cost.
    """
    import webbrowser

    from langgraph_reflexion.lab.experiments.comparison import compare

    comparison = compare(folders)
    if open_page and html is None:
        # Not in the run's folder, which may be somebody else's.
        html = Path(tempfile.mkdtemp(prefix="langgraph-reflexion-")) / "report.html"
    if figures:
        from langgraph_reflexion.lab.experiments.figures import have_matplotlib, write_figures

        write_figures(comparison.groups, figures)
        if not have_matplotlib():
            typer.echo(f"Figures are drawn as SVG alone: PNG needs matplotlib, {the_extra('bench')}", err=True)
    if html:
        from langgraph_reflexion.lab.experiments.page import write_page

        write_page(comparison, html)
    if open_page and html and not webbrowser.open(html.resolve().as_uri()):
        typer.echo(f"No browser could be started: open {html}", err=True)
    if as_json:
        typer.echo(json.dumps(comparison.as_json(), indent=2))
        return
    comparison.print()
    if written := [str(path) for path in (figures, html) if path]:
        typer.echo(f"Written: {', '.join(written)}")
    if comparison.brief:
        suggest("report", comparison.runs[0].folder)
    else:
        suggest("show", comparison.runs[-1].folder)


def show(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A run folder.")],
    task: Annotated[
        str | None, typer.Argument(metavar="TASK", help="The task's id, or its number from 1.  [default: list all]")
    ] = None,
    trial: Annotated[int | None, typer.Option(min=1, metavar="N", help="Show this trial only.")] = None,
    prompt: Annotated[
        str | None,
        typer.Option(
            metavar="TRIAL[:STEP]",
            help="Show the model's prompt for a step (2:5), for the reflection on a trial (2), or for its judge "
            "(2:judge).",
        ),
    ] = None,
) -> None:
    """List a run's tasks, or show a task step by step.

    Each trial ends with its verdict, the truth, and the reflection.
    """
    if task is None:
        if trial is not None or prompt is not None:
            raise ConfigurationError("--trial and --prompt need a task: give its id, or its number from 1")
        _list(folder)
        return
    from langgraph_reflexion.lab.experiments.trials import trials_of_run

    trials = trials_of_run(folder, task)
    if prompt is not None:
        trials.prompt(*_place(prompt)).print()
        return
    (trials if trial is None else trials[trial]).print()
    suggest("show", folder, task, "--prompt", trial or trials.views[0].row["trial"])


def _list(folder: Path) -> None:
    from rich.console import Console

    from langgraph_reflexion.lab.experiments.comparison import task_lines
    from langgraph_reflexion.lab.experiments.record import read_run

    console, run = Console(highlight=False), read_run(folder)
    width = console.width if console.is_terminal else 120
    for line in task_lines(run, width):
        console.print(line, soft_wrap=True)
    suggest("show", folder, 1)


def _place(text: str) -> tuple[int, int | Literal["judge"] | None]:
    trial, colon, step = text.partition(":")
    if not trial.isdecimal() or (colon and step != "judge" and not step.isdecimal()):
        raise ConfigurationError(f"--prompt {text!r}: give a trial, as in 2, or a trial and a step, as in 2:5")
    return int(trial), "judge" if step == "judge" else int(step) if step else None
