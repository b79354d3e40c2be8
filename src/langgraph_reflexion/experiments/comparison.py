"""Comparisons of runs as tables, in words and as JSON."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

from markupsafe import Markup
from rich.console import Console
from rich.text import Text

from langgraph_reflexion.experiments.comparison import group_tables, overview_table, pair_table
from langgraph_reflexion.experiments.figures import draw
from langgraph_reflexion.experiments.groups import RunGroup, caption, group_runs
from langgraph_reflexion.experiments.html import framed
from langgraph_reflexion.experiments.pairing import Pair, count, pair
from langgraph_reflexion.experiments.record import (
    ERRORS,
    Run,
    holds_experiment,
    read_experiment_info,
    read_run,
    run_folders,
)
from langgraph_reflexion.experiments.report import RunReport, report_run
from langgraph_reflexion.experiments.tables import Table
from langgraph_reflexion.printable import printable


@dataclass(frozen=True, repr=False)
class Comparison:
    """One run or several, side by side. Notebooks and `report` show it as tables."""

    runs: tuple[RunReport, ...]
    groups: tuple[RunGroup, ...]
    """The runs, grouped if they differ only in their seed."""
    pairs: tuple[Pair, ...]
    """Every two groups, compared."""
    brief: bool = False
    """Whether only the overview and the pairs are shown, as of an experiment."""

    @property
    def caption(self) -> str:
        return caption(self.groups)

    def tables(self) -> list[Table]:
        pairs = [pair_table(self.pairs, self.caption)] if any(each.matches for each in self.pairs) else []
        if self.brief:
            return [overview_table(self.groups), *pairs]
        first, *others = group_tables(self.groups)
        overview = [overview_table(self.groups)] if any(len(each.runs) > 1 for each in self.groups) else []
        return [first, *overview, *pairs, *others]

    def bare_tables(self) -> list[Table]:
        """Return the tables without captions, for a page that says once what they share."""
        return [replace(table, caption="") for table in self.tables()]

    def sentences(self) -> list[str]:
        """Return the conclusions, what could not be compared, and what is missing, in words."""
        said = []
        for each in self.pairs:
            whom = f"{each.one.name} and {each.other.name}: " if len(self.pairs) > 1 else ""
            said += [f"{whom}{each.conclusion}"] if each.conclusion else []
            said += [note for note in each.notes if note not in said]
        said += [
            f"{one.name}: ground truth unknown for {one.unknown} of {count(one.report.tasks, 'task')}; "
            "counted as unsolved."
            for one in self.groups
            if one.unknown
        ]
        said += [
            f"{run.folder}: {count(len(run.errors), 'task')} ended by an error, such as "
            f"{printable(next(iter(run.errors.values())))} (tracebacks in {run.folder / ERRORS})"
            for run in self.runs
            if run.errors
        ]
        if sum(bool(pair.matches) for pair in self.pairs) > 1:
            said.append("The p-values are not corrected for multiple comparisons: of many, some are small by chance.")
        return said

    def print(self, console: Console | None = None) -> None:
        """Print the settings of each group, the tables, and the conclusions; to the terminal by default."""
        console = console or Console()
        for each in self.groups:
            folders = printable("  ".join(str(run.folder) for run in each.runs))
            console.print(Text(each.label, "bold").append(f"  {folders}", "dim"), soft_wrap=True)
            console.print(Text(f"  {' · '.join(self._heading(each))}"))
        if self.brief:
            console.print(Text(printable(self.caption), "dim"))
        for table in self.bare_tables():
            table.print(console)
        for sentence in self.sentences():
            console.print(Text(sentence))

    def _heading(self, group: RunGroup) -> list[str]:
        report = group.report
        parts = [f"{group.facts['tasks']}, {count(report.tasks, 'task')}"]
        parts += [] if self.brief else [fact for name, fact in group.facts.items() if name != "tasks"]
        parts += [f"{report.ungradable} not gradable here, and not counted"] if report.ungradable else []
        return parts + ([f"{report.unfinished} unfinished, counted as unsolved"] if report.unfinished else [])

    def as_json(self) -> dict[str, Any]:
        return {
            "runs": [run.as_json() for run in self.runs],
            "groups": [each.as_json() for each in self.groups],
            "pairs": [pair.as_json() for pair in self.pairs],
        }

    def __repr__(self) -> str:
        return "\n".join(map(repr, self.runs))

    def _repr_html_(self) -> str:
        sentences = [Markup("<p>{}</p>").format(sentence) for sentence in self.sentences()]
        figure = draw(self.groups, captions=False).get("success_by_trial", "")
        settings = Markup('<p class="facts">{}</p>').format(printable(self.caption))
        tables = [table.html() for table in self.bare_tables()]
        return framed(*sentences, settings, Markup(figure[figure.find("<svg") :]), *tables)


def compare(folders: Path | str | Sequence[Path | str]) -> Comparison:
    """Compare run folders, or report one.

    An experiment's folder alone is compared by the names of its groups, pairing those that differ on one axis only;
    beside others it counts as its runs.

    Raises:
        ConfigurationError: one of them holds no run.
    """
    several = [folders] if isinstance(folders, Path | str) else folders
    runs = read_runs(several)
    if len(several) > 1 or not holds_experiment(several[0]):
        groups = group_runs(runs)
        pairs = tuple(pair(one, other) for one, other in combinations(groups, 2))
        return Comparison(tuple(map(report_run, runs)), groups, pairs)
    listed = read_experiment_info(several[0])["runs"]

    def axes(group: RunGroup) -> dict[str, Any]:
        return {name: value for name, value in listed[group.runs[0].folder.name]["axes"].items() if name != "seed"}

    groups = group_runs(runs, lambda run: str(listed[run.folder.name]["series"]))
    pairs = tuple(
        pair(one, other)
        for one, other in combinations(groups, 2)
        if sum(value != axes(other)[name] for name, value in axes(one).items()) == 1
    )
    return Comparison(tuple(map(report_run, runs)), groups, pairs, brief=True)


def read_runs(folders: Sequence[Path | str]) -> list[Run]:
    """Read run folders; an experiment's folder counts as its runs."""
    return [
        read_run(run)
        for folder in folders
        for run in (run_folders(folder) if holds_experiment(folder) else [Path(folder)])
    ]
