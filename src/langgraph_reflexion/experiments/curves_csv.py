"""The success curves as CSV: one row for each series and trial."""

import csv
from collections.abc import Sequence
from pathlib import Path

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.experiments.series import Series
from langgraph_reflexion.experiments.spread import spreads

COLUMNS = (
    *("series", "trial", "tasks", "seeds", "mean", "sd", "min", "max", "seeds_low", "seeds_high"),
    *("tasks_low", "tasks_high", "tokens"),
)
"""Shares are of tasks solved, from 0 to 1. `seeds_...` is the interval over seeds, `tasks_...` the one over tasks."""


def write_curves(series: Sequence[Series], file: Path | str) -> None:
    """Write the curves.

    Raises:
        ConfigurationError: the file cannot be written.
    """
    file = Path(file)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("w", encoding="utf-8", newline="") as out:
            writer = csv.writer(out)
            writer.writerow(COLUMNS)
            for each in series:
                writer.writerows(_rows(each))
    except OSError as error:
        raise ConfigurationError(f"cannot write {file}: {error.strerror}") from error


def _rows(series: Series) -> list[list[object]]:
    rows: list[list[object]] = []
    known = zip(spreads(series.runs), series.intervals(), series.report.tokens, strict=False)
    for trial, (over_seeds, over_tasks, tokens) in enumerate(known, 1):
        shares = over_seeds.shares
        numbers = [over_seeds.mean, over_seeds.sd, min(shares), max(shares)]
        numbers += [*(over_seeds.interval or (None, None)), *(over_tasks or (None, None))]
        told = ["" if number is None else round(number, 6) for number in numbers]
        rows.append([series.label, trial, series.report.tasks, len(shares), *told, tokens])
    return rows
