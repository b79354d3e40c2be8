"""The papers' results and those of run folders in the terminal."""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from langgraph_reflexion.lab.experiments.provenance import described, model_name
from langgraph_reflexion.lab.experiments.tables import Table
from tests.replication.paper import Paper, PaperRun, published

_ENVIRONMENTS = {"programming": "Programming", "alfworld": "ALFWorld", "hotpotqa": "HotPotQA", "webshop": "WebShop"}


def print_paper(console: Console, paper: Paper) -> None:
    """Print each environment's curves, the published numbers, and where paper, code and log disagree."""
    for environment, label in _ENVIRONMENTS.items():
        runs = [run for run in paper.runs if run.about["environment"] == environment]
        titles = [table["title"] for table in published()["table"] if table["environment"] == environment]
        tables = [table for title in titles if (table := published_table(paper, title)).rows]
        if not (runs or tables):
            continue
        console.rule(Text(label, "bold"), align="left")
        if runs:
            _curves(runs).print(console)
        for run in runs:
            if not run.imported:
                console.print(Text(f"{_name(run)}  {described(run.report.settings)}"), soft_wrap=True)
        for table in tables:
            table.print(console)
        for mismatch in published()["mismatch"]:
            if mismatch["environment"] == environment:
                console.print(Text(f"  {mismatch['between']}: ", "bold").append(mismatch["text"], "default"))
        for run in runs:
            for note in run.imported["notes"] if run.imported else []:
                console.print(Text(f"  {run.name}: {note}", "dim"), soft_wrap=True)
        console.print()
    for run in paper.runs:
        if run.about["environment"] not in _ENVIRONMENTS:
            said = f"{run.name}: the papers have no numbers on {run.about['environment']}"
            console.print(Text(said), soft_wrap=True)
    for note in paper.notes:
        console.print(Text(note, "dim"), soft_wrap=True)


def _curves(runs: Sequence[PaperRun]) -> Table:
    trials = sorted({trial for run in runs for trial in run.trials})
    rows = []
    for run in runs:
        solved = dict(zip(run.trials, map(str, run.report.solved), strict=True))
        rows.append([_name(run), str(run.report.tasks), *(solved.get(trial, "") for trial in trials)])
    return Table("Tasks solved by trial", ("run", "tasks", *map(str, trials)), rows, dense=True)


def published_table(paper: Paper, title: str) -> Table:
    """Return one of the papers' tables with the runs that fit its numbers.

    Numbers without a run are left out, unless there is an import that should have one.
    """
    imported = any(run.imported for run in paper.runs)
    rows = []
    for line in paper.tables[title]:
        number = line.number
        row = [f"{number.row}, {number.column}", number.published]
        if line.value is None or line.difference is None:
            rows += [[*row, "no log", "", "", ""]] if imported else []
            continue
        # One digit more than the paper's, to show what was rounded.
        digits = 0 if number.unit == "tasks" else number.digits + 1
        difference = f"{line.difference:+.{digits}f}{' ≠' if line.differs else '  '}"
        names = " - ".join(map(_name, line.runs))
        rows.append([*row, names, line.counted, f"{line.value:.{digits}f}", difference])
    models = sorted({model_name(run.report.settings["model"]) for run in paper.runs if not run.imported})
    caption = f"models of your runs: {', '.join(models)}" if models else ""
    return Table(title, ("", "paper", "run", "counted", "", "difference"), rows, caption)


def _name(run: PaperRun) -> str:
    """Return a log's name without its environment's, or the folder of your own run."""
    if run.imported:
        return run.name.removeprefix(f"{run.about['environment']}-")
    return f"yours: {run.name}"
