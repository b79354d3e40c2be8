"""The command `demo`: the same tasks with reflections and without, and a page that compares both runs."""

from pathlib import Path
from typing import Annotated

import typer

from langgraph_reflexion.lab.cli.basics import fail, say_starting, sigterm_as_ctrl_c, suggest
from langgraph_reflexion.support.choices import StrategyName

STRATEGIES: tuple[StrategyName, ...] = ("retry", "reflexion")
SPLIT = "generated-134"
MOST_GAMES = 134
TRIALS = 12

IN_WORDS = {"retry": "starting over", "reflexion": "starting over with reflections"}


def demo(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder of both runs and the page.")] = Path("runs/demo"),
    games: Annotated[int, typer.Option(metavar="N", help="Household games to play.", min=1, max=MOST_GAMES)] = 40,
) -> None:
    """Play household games with reflections and without; needs no key.

    The player is the demo model, which follows rules and is not an LLM. The same command resumes what was stopped.
    """
    say_starting()
    from rich.console import Console

    from langgraph_reflexion.lab.experiments.comparison import compare
    from langgraph_reflexion.lab.experiments.page import write_page
    from langgraph_reflexion.lab.experiments.progress import LiveProgress
    from langgraph_reflexion.lab.experiments.runner import run
    from langgraph_reflexion.lab.run_settings import RunSettings

    folders = [out / strategy for strategy in STRATEGIES]
    for strategy, folder in zip(STRATEGIES, folders, strict=True):
        typer.echo(f"Up to {TRIALS} trials of each of {games} games, {IN_WORDS[strategy]}:", err=True)
        settings = RunSettings(environment="alfworld", split=SPLIT, limit=games, max_trials=TRIALS, strategy=strategy)
        try:
            with sigterm_as_ctrl_c(), LiveProgress(Console(stderr=True), hidden=False) as progress:
                run(settings, folder, progress)
        except KeyboardInterrupt:
            raise typer.Exit(fail("stopped; the same command continues", 130)) from None
    comparison = compare(folders)
    page = out / "report.html"
    write_page(comparison, page)
    comparison.print()
    typer.echo("The demo model follows rules and is not an LLM: these numbers say nothing about real models.")
    typer.echo(f"A page with curves and every trial: {page}")
    suggest("show", folders[-1], 1)
