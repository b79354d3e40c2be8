"""A comparison in the terminal."""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from langgraph_reflexion.experiments.comparison import Comparison
from langgraph_reflexion.experiments.printable import printable
from langgraph_reflexion.experiments.series import Series
from langgraph_reflexion.experiments.statistics import MISSING


def print_comparison(console: Console, comparison: Comparison, *, hint: bool = True) -> None:
    """Print what was run, its tables, and what they come to in words.

    Args:
        console: Where to.
        comparison: What was run.
        hint: Whether to say what is not installed that would tell more.
    """
    _print_headings(console, comparison.series, brief=comparison.brief)
    for grid in comparison.grids():
        grid.print(console)
    for sentence in comparison.sentences():
        if hint or sentence != MISSING:
            # A command to copy stays in one piece.
            console.print(Text(sentence), soft_wrap=sentence == MISSING)


def _print_headings(console: Console, series: Sequence[Series], *, brief: bool) -> None:
    for each in series:
        folders = printable("  ".join(str(run.folder) for run in each.runs))
        tasks = each.report.tasks
        parts = [f"{each.facts['tasks']}, {tasks} task{'s' * (tasks != 1)}"]
        # Of many series the tables tell what they have in common.
        parts += [] if brief else [fact for name, fact in each.facts.items() if name != "tasks"]
        if each.report.ungradable:
            parts.append(f"{each.report.ungradable} not gradable here, and not counted")
        if each.report.unfinished:
            parts.append(f"{each.report.unfinished} unfinished")
        console.print(Text(each.label, "bold").append(f"  {folders}", "dim"), soft_wrap=True)
        console.print(Text("  " + " · ".join(parts)))
