"""The commands `report` and `show`: comparisons of runs, and a task's trials."""

import contextlib
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from langgraph_reflexion.errors import ConfigurationError, the_extra
from langgraph_reflexion.lab.cli.basics import AsJson, print_json, sigterm_as_ctrl_c, suggest

if TYPE_CHECKING:
    from langgraph_reflexion.lab.experiments.comparison import Comparison


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
    watch: Annotated[
        int | None,
        typer.Option(
            metavar="SECONDS",
            min=1,
            help="Write the page again and again, and let the browser reload it.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Report one run, or compare several.

    Prints the tasks solved by trial, the failures by reason, and the cost.
    """
    from langgraph_reflexion.lab.experiments.comparison import compare

    comparison = compare(folders)
    if open_page and html is None:
        # Not in the run's folder, which may be somebody else's.
        html = Path(tempfile.mkdtemp(prefix="langgraph-reflexion-")) / "report.html"
    if watch is not None:
        _expect_page_alone(html, figures, as_json=as_json)
    if figures:
        _draw(comparison, figures)
    if html:
        from langgraph_reflexion.lab.experiments.page import write_page

        write_page(comparison, html, watch)
        if open_page:
            _open(html)
    if html and watch is not None:
        _watch(folders, html, watch)
        return
    if as_json:
        print_json(comparison.as_json())
        return
    comparison.print()
    written = [str(path) for path in (figures, html) if path]
    if written:
        typer.echo(f"Written: {', '.join(written)}")
    if comparison.brief:
        suggest("report", comparison.runs[0].folder)
    else:
        suggest("show", comparison.runs[-1].folder)


def _expect_page_alone(html: Path | None, figures: Path | None, *, as_json: bool) -> None:
    """Check that a page is to be written again and again, and nothing else.

    Raises:
        ConfigurationError: there is no page, or something else.
    """
    if html is None:
        raise ConfigurationError("--watch writes a page again and again: give --html FILE or --open as well")
    if figures or as_json:
        raise ConfigurationError("--watch writes the page alone: leave out --figures and --json")


def _watch(folders: list[Path], page: Path, seconds: int) -> None:
    """Write a page again and again, until Ctrl-C; then once more, so that the browser stops reloading it."""
    import time

    from langgraph_reflexion.lab.experiments.comparison import compare
    from langgraph_reflexion.lab.experiments.page import write_page

    typer.echo(f"Written: {page}, again every {seconds} s until Ctrl-C")
    with contextlib.suppress(KeyboardInterrupt), sigterm_as_ctrl_c():
        while True:
            time.sleep(seconds)
            write_page(compare(folders), page, seconds)
    write_page(compare(folders), page)


def _draw(comparison: "Comparison", folder: Path) -> None:
    """Draw the figures of a comparison, and say if there is no PNG."""
    from langgraph_reflexion.lab.experiments.figures import have_matplotlib, write_figures

    write_figures(comparison.groups, folder)
    if not have_matplotlib():
        typer.echo(f"Figures are drawn as SVG alone: PNG needs matplotlib, {the_extra('bench')}", err=True)


def _open(page: Path) -> None:
    """Open a page in the browser, or say where it is."""
    import webbrowser

    opened = webbrowser.open(page.resolve().as_uri())
    if not opened:
        typer.echo(f"No browser could be started: open {page}", err=True)


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
    if trial is not None and prompt is not None:
        raise ConfigurationError("--prompt names its trial itself, as in 2:5: leave --trial out")
    from langgraph_reflexion.lab.experiments.trials import trials_of_run

    trials = trials_of_run(folder, task)
    if prompt is not None:
        number, step = _place(prompt)
        trials.prompt(number, step).print()
        return
    if trial is not None:
        trials[trial].print()
        suggest("show", folder, task, "--prompt", trial)
        return
    trials.print()
    first = trials.views[0].row["trial"]
    suggest("show", folder, task, "--prompt", first)


def _list(folder: Path) -> None:
    """Print the tasks of a run, in lines that fit the terminal."""
    from rich.console import Console

    from langgraph_reflexion.lab.experiments.comparison import task_lines
    from langgraph_reflexion.lab.experiments.runs import read_run

    console = Console(highlight=False)
    run = read_run(folder)
    if not run.names_of_tasks:
        raise ConfigurationError(f"{folder}: the run has no tasks")
    # Outside a terminal the lines do not depend on its width.
    width = 120
    if console.is_terminal:
        width = console.width
    for line in task_lines(run, width):
        console.print(line, soft_wrap=True)
    first = next(iter(run.names_of_tasks.values()))
    suggest("show", folder, first)


def _place(text: str) -> tuple[int, int | Literal["judge"] | None]:
    """Return the trial and the step, the judge, or None for the reflection, whose prompt `--prompt` names."""
    number, colon, step = text.partition(":")
    wrong = ConfigurationError(f"--prompt {text!r}: give a trial, as in 2, or a trial and a step, as in 2:5")
    if not number.isdecimal():
        raise wrong
    trial = int(number)
    if not colon:
        return trial, None
    if step == "judge":
        return trial, "judge"
    if not step.isdecimal():
        raise wrong
    return trial, int(step)
