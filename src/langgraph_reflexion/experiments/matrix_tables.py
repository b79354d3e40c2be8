"""An experiment in tables: what it will come to, and what came of it."""

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from langgraph_reflexion.experiments.comparison import Comparison
from langgraph_reflexion.experiments.estimate import Estimate, Range
from langgraph_reflexion.experiments.grid import Grid
from langgraph_reflexion.experiments.matrix_folder import holds_experiment, read_info, run_folders
from langgraph_reflexion.experiments.pairing import pair
from langgraph_reflexion.experiments.record import Run, read_run
from langgraph_reflexion.experiments.report import report_run
from langgraph_reflexion.experiments.series import Series, make_series

ESTIMATED = (
    "Least, likely and most. Least: every task solved at once. Most: every trial as long as it may be, at the size, "
    "pace and price of the largest calls that were measured. ?: nothing like it was recorded; name some by --like."
)


def compare_experiment(folder: Path | str) -> Comparison:
    """Compare the runs of an experiment: one series for each combination but the seed, under its name.

    Series are paired where they differ on one axis and nowhere else.

    Raises:
        ConfigurationError: there is none in the folder, or none of its runs has begun.
    """
    told = read_info(folder)["runs"]
    runs = [read_run(each) for each in run_folders(folder)]
    series = make_series(runs, lambda run: str(told[run.folder.name]["series"]))
    pairs = [pair(one, other) for one, other in combinations(series, 2) if _beside(told, one, other)]
    return Comparison(tuple(map(report_run, runs)), series, tuple(pairs), brief=True)


def _beside(told: dict[str, Any], one: Series, other: Series) -> bool:
    first, second = (told[each.runs[0].folder.name]["axes"] for each in (one, other))
    return len([axis for axis in first if axis != "seed" and first[axis] != second[axis]]) == 1


def estimate_grid(estimates: Sequence[Estimate], total: Estimate) -> Grid:
    """Return the estimates of every run and of all as a table."""
    bases = list(dict.fromkeys(each.basis for each in estimates if each.basis))
    numbers = {basis: str(number) for number, basis in enumerate(bases, 1)}
    rows = [_row(each, numbers) for each in [*estimates, *([total] if len(estimates) != 1 else [])]]
    caption = [ESTIMATED, *(f"{number}: measured by {basis}" for basis, number in numbers.items())]
    why_not = [f"cannot run: {why}" for why in dict.fromkeys(each.state for each in estimates if each.refused)]
    head = ("run", "tasks", "calls", "tokens", "time", "money", "by")
    return Grid("What is left to be done", head, rows, " · ".join([*caption, *why_not]))


def _row(each: Estimate, numbers: dict[str, str]) -> list[str]:
    if not each.tasks:
        return [each.name, "", "cannot run" if each.refused else each.state or "nothing", *[""] * 4]
    cells = [_told(each.calls, _count), _told(each.tokens, _count), _told(each.seconds, _time)]
    money = _told(each.money, lambda value: f"{value:,.2f}")
    return [each.name, str(each.tasks), *cells, money, numbers.get(each.basis, "")]


def _told(amount: Range, shown: Any) -> str:
    if not amount.most and not amount.low and amount.most is not None:
        return "0"
    return " · ".join("?" if value is None else shown(value) for value in vars(amount).values())


def _count(value: float) -> str:
    for size, sign in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= 10 * size or (value >= size and size > 1e3):
            return f"{value / size:,.1f}{sign}"
    return f"{value:,.0f}"


def _time(value: float) -> str:
    if value < 120:
        return f"{value:.0f} s"
    return f"{value / 60:,.0f} min" if value < 7200 else f"{value / 3600:,.1f} h"


def with_folders(folders: Sequence[Path | str]) -> list[Path]:
    """Return run folders; an experiment is replaced by its runs."""
    found: list[Path] = []
    for folder in folders:
        found += run_folders(folder) if holds_experiment(folder) else [Path(folder)]
    return found


def read_runs(folders: Sequence[Path | str]) -> list[Run]:
    """The runs of run folders and of experiments."""
    return [read_run(folder) for folder in with_folders(folders)]
