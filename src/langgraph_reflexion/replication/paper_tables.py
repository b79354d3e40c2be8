"""The papers' results beside those of run folders, in the terminal or as JSON."""

import json
from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from langgraph_reflexion.experiments.facts import described, model_name
from langgraph_reflexion.experiments.grid import Grid
from langgraph_reflexion.replication.paper import Line, Paper, PaperRun
from langgraph_reflexion.replication.published import published_tables

_ENVIRONMENTS = {"programming": "Programming", "alfworld": "ALFWorld", "hotpotqa": "HotPotQA", "webshop": "WebShop"}


def show_paper(paper: Paper, *, as_json: bool) -> None:
    """Show it on standard output."""
    if as_json:
        print(json.dumps(paper.as_json(), indent=2))
    else:
        print_paper(Console(), paper)


def print_paper(console: Console, paper: Paper) -> None:
    """Print for each environment its curves, the published numbers, and where paper, code and log disagree."""
    for environment, label in _ENVIRONMENTS.items():
        console.rule(Text(label, "bold"), align="left")
        runs = [run for run in paper.runs if run.about["environment"] == environment]
        if runs:
            console.print(_curves(runs))
        for run in runs:
            if not run.imported:
                console.print(_name(run).append(f"  {described(run.report.settings)}", "dim"), soft_wrap=True)
        for table in published_tables():
            if table.environment == environment:
                console.print(_numbers(table.title, paper.tables[table.title]))
        for mismatch in paper.mismatches:
            if mismatch.environment == environment:
                console.print(Text(f"  {mismatch.between}: ", "bold").append(mismatch.text, "default"))
        for run in runs:
            for note in run.imported["notes"] if run.imported else []:
                console.print(Text(f"  {run.name}: {note}", "dim"), soft_wrap=True)
        console.print()
    others = [run for run in paper.runs if run.about["environment"] not in _ENVIRONMENTS]
    for run in others:
        console.print(Text(f"{run.name}: the papers have nothing on {run.about['environment']}"), soft_wrap=True)
    for note in paper.notes:
        console.print(Text(note, "dim"), soft_wrap=True)


def beside_published(paper: Paper, title: str) -> Grid:
    """One of the papers' tables with the runs that fit its numbers, for a notebook.

    Args:
        paper: The papers' results beside those of runs.
        title: The table's.
    """
    rows = []
    for line in paper.tables[title]:
        if line.value is not None:
            number = line.number
            names = " - ".join(run.name for run in line.runs)
            digits = 0 if number.unit == "tasks" else number.digits + 1
            rows.append((f"{number.row}, {number.column}", number.published, f"{line.value:.{digits}f}", names))
    models = sorted({model_name(run.report.settings["model"]) for run in paper.runs})
    return Grid(title, ("", "published", "counted", "run"), rows, f"The runs' models: {', '.join(models)}")


def _curves(runs: Sequence[PaperRun]) -> Table:
    table = _table("Tasks solved by trial")
    table.add_column("run", overflow="fold")
    table.add_column("tasks", justify="right")
    trials = sorted({trial for run in runs for trial in run.trials})
    for trial in trials:
        table.add_column(str(trial), justify="right")
    for run in runs:
        solved = dict(zip(run.trials, run.report.solved, strict=True))
        counts = [str(solved[trial]) if trial in solved else "" for trial in trials]
        table.add_row(_name(run), str(run.report.tasks), *counts)
    return table


def _numbers(title: str, lines: Sequence[Line]) -> Table:
    table = _table(title)
    for column, right in (("", False), ("", False), ("paper", True), ("run", False), ("counted", True), ("", True)):
        table.add_column(column, justify="right" if right else "left", overflow="fold")
    table.add_column("difference", justify="right")
    above = None
    for line in lines:
        number = line.number
        told = ["", "", ""] if number is above else [number.row, number.column, number.published]
        above = number
        if line.value is None or line.difference is None:
            table.add_row(*told, Text("no log", "dim"), "", "", "")
            continue
        # One digit more than the paper's, so that what was rounded can be seen.
        digits = 0 if number.unit == "tasks" else number.digits + 1
        difference = Text(f"{line.difference:+.{digits}f}", "red" if line.differs else "default")
        names = Text(" - ").join(_name(run) for run in line.runs)
        marked = difference.append(" ≠" if line.differs else "  ")
        table.add_row(*told, names, line.counted, f"{line.value:.{digits}f}", marked)
    return table


def _name(run: PaperRun) -> Text:
    """A log's name without its environment's, or which folder one's own run lies in."""
    if run.imported:
        return Text(run.name.removeprefix(f"{run.about['environment']}-"))
    return Text(f"yours: {run.name}", "cyan")


def _table(title: str) -> Table:
    return Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
