"""Comparisons of runs: their series, pairs of series, and the tables of both."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from markupsafe import Markup

from langgraph_reflexion.experiments.figures import draw, have_matplotlib
from langgraph_reflexion.experiments.grid import Grid
from langgraph_reflexion.experiments.html import framed
from langgraph_reflexion.experiments.pairing import Pair, pair
from langgraph_reflexion.experiments.printable import printable
from langgraph_reflexion.experiments.record import ERRORS, Run, read_run
from langgraph_reflexion.experiments.report import RunReport, report_run
from langgraph_reflexion.experiments.series import Series, caption, make_series
from langgraph_reflexion.experiments.spread import spread_json
from langgraph_reflexion.experiments.statistics import MISSING, have_scipy
from langgraph_reflexion.experiments.tables import overview_grid, pair_grid, series_grids


@dataclass(frozen=True, repr=False)
class Comparison:
    """One run or several, side by side.

    Attributes:
        runs: Each run in numbers.
        series: The runs, those put together that differ in nothing but their seed.
        pairs: Every two series compared with each other.
        brief: Whether the tables are left at the overview and the pairs, as there are many series.
    """

    runs: tuple[RunReport, ...]
    series: tuple[Series, ...]
    pairs: tuple[Pair, ...]
    brief: bool = False

    @property
    def caption(self) -> str:
        """The settings that the series share and those in which they differ."""
        return caption(self.series)

    def grids(self) -> list[Grid]:
        """All of it as tables."""
        pairs = [pair_grid(self.pairs, self.caption)] if any(p.matches for p in self.pairs) else []
        if self.brief:
            return [overview_grid(self.series), *pairs]
        first, *grids = series_grids(self.series)
        overview = [overview_grid(self.series)] if any(len(each.runs) > 1 for each in self.series) else []
        return [first, *overview, *pairs, *grids]

    def sentences(self) -> list[str]:
        """Who wins by what, what could not be compared, and what is missing, in words."""
        told = []
        for each in self.pairs:
            # Of several pairs each has to say whom it is about.
            whom = f"{each.one.name} and {each.other.name}: " if len(self.pairs) > 1 else ""
            told += [f"{whom}{said}" for said in (each.conclusion, each.first_trials) if said]
            told += [note for note in each.notes if note not in told]
        told += [
            f"{one.name}: for want of the truth {one.unknown} of {one.report.tasks} tasks count as not solved."
            for one in self.series
            if one.unknown
        ]
        told += [
            f"{run.folder}: {len(run.errors)} task{'s' * (len(run.errors) > 1)} ended by an error, "
            f"such as {printable(next(iter(run.errors.values())))} (tracebacks in {run.folder / ERRORS})"
            for run in self.runs
            if run.errors
        ]
        if sum(bool(pair.matches) for pair in self.pairs) > 1:
            told.append("Each p stands for itself: among many comparisons some are small by chance.")
        return told if have_scipy() else [*told, MISSING]

    def as_json(self) -> dict[str, Any]:
        """The comparison as plain JSON."""
        return {
            "runs": [run.as_json() for run in self.runs],
            "series": [
                {
                    "label": each.label,
                    "runs": [str(run.folder) for run in each.runs],
                    "facts": each.facts,
                    "solved": each.report.solved,
                    "intervals": [
                        None if at is None else [round(at.low, 4), round(at.high, 4)] for at in each.intervals()
                    ],
                    "tasks": each.report.tasks,
                    "tokens": each.report.tokens,
                    "over_seeds": spread_json(each),
                }
                for each in self.series
            ],
            "pairs": [pair.as_json() for pair in self.pairs],
        }

    def __repr__(self) -> str:
        return "\n".join(map(repr, self.runs))

    def _repr_html_(self) -> str:
        """Return the comparison as a notebook shows it."""
        sentences = [Markup("<p>{}</p>").format(sentence) for sentence in self.sentences()]
        # Of the figures the first, success by trial.
        figure = next(iter(draw(self.series).values()), "") if have_matplotlib() else ""
        return framed(*sentences, Markup(figure[figure.find("<svg") :]), *(grid.html() for grid in self.grids()))


def compare(folders: Path | str | Sequence[Path | str]) -> Comparison:
    """Compare run folders, or report one.

    Raises:
        ConfigurationError: one of them holds no run.
    """
    several = [folders] if isinstance(folders, Path | str) else folders
    return compare_runs([read_run(folder) for folder in several])


def compare_runs(runs: Sequence[Run]) -> Comparison:
    """Compare runs that were read."""
    series = make_series(runs)
    return Comparison(
        tuple(map(report_run, runs)), series, tuple(pair(one, other) for one, other in combinations(series, 2))
    )
