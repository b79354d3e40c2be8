"""A comparison as one page that needs nothing else: curves, tables, and every trial of every task.

Texts of models and of the pages they read are data to it, never markup: the template escapes what it prints, steps
lie in the page as JSON and are shown as text, and the page's policy lets no script run but its own.
"""

import base64
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from markupsafe import Markup

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.experiments.comparison import Comparison
from langgraph_reflexion.experiments.figures import draw
from langgraph_reflexion.experiments.html import TEMPLATES, fill
from langgraph_reflexion.experiments.metrics import failure, returned, tokens
from langgraph_reflexion.experiments.printable import printable
from langgraph_reflexion.experiments.record import Run
from langgraph_reflexion.experiments.rows import TrialRow
from langgraph_reflexion.experiments.series import Series
from langgraph_reflexion.experiments.trajectories import ON_PROMPTS, stories

TITLES = {
    "success_by_trial": "Share of tasks solved by trial",
    "success_by_tokens": "Share of tasks solved by tokens spent",
    "failures_by_trial": "Share of tasks that failed, by trial and reason",
}


@dataclass(frozen=True)
class Column:
    """A run, as a column of the table of tasks."""

    name: str
    label: str
    run: Run


@dataclass(frozen=True)
class Outcome:
    """What a run made of a task, as a cell of the table."""

    sign: str
    """A glance of it."""
    words: str
    rank: int
    """Sorts it: by the trial that solved it, then what was not solved, then what was not tried."""
    kind: str
    """`solved`, `failed`, `fault`, `none` where it was not tried, or `absent` where it is none of the run's tasks."""
    tokens: int


ABSENT = Outcome("", "none of its tasks", 10_003, "absent", 0)


def write_page(comparison: Comparison, file: Path | str) -> None:
    """Write the page.

    Args:
        comparison: What it shows.
        file: Where to.

    Raises:
        ConfigurationError: matplotlib is not installed, a run cannot be read, or the file cannot be written.
    """
    file, text = Path(file), page(comparison)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode("utf-8", "replace"))
    except OSError as error:
        raise ConfigurationError(f"cannot write the page to {file}: {error.strerror}") from error


def page(comparison: Comparison) -> str:
    """The page as HTML.

    Raises:
        ConfigurationError: matplotlib is not installed, or a run cannot be read.
    """
    columns = _columns(comparison.series)
    script = (TEMPLATES / "report.js").read_text(encoding="utf-8")
    figures = {TITLES[name]: _inlined(svg, name) for name, svg in draw(comparison.series).items()}
    return fill(
        "report.html.j2",
        comparison=comparison,
        columns=columns,
        figures=figures,
        tasks=_tasks(columns),
        on_prompts=ON_PROMPTS,
        style=Markup((TEMPLATES / "report.css").read_text(encoding="utf-8")),
        script=Markup(script),
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )


def _columns(series: Sequence[Series]) -> list[Column]:
    columns = []
    for each in series:
        for run in each.runs:
            seed = f", seed {run.settings['seed']}" if len(each.runs) > 1 else ""
            columns.append(Column(f"{each.name}{seed}", f"{each.label}{seed}", run))
    return columns


def _tasks(columns: Sequence[Column]) -> list[dict[str, Any]]:
    """The tasks in the order of the runs: what the table and, of every trial, the page tells."""
    trials = [
        {task: list(rows) for task, rows in groupby(each.run.trials, lambda row: row["task_id"])} for each in columns
    ]
    steps = [each.run.trajectories() for each in columns]
    names = dict.fromkeys(task for each in columns for task in each.run.info["tasks"])
    tasks = []
    for task in names:
        rows = [by_task.get(task, []) for by_task in trials]
        outcomes = [
            _outcome(each) if task in column.run.info["tasks"] else ABSENT
            for column, each in zip(columns, rows, strict=True)
        ]
        tasks.append(
            {
                "name": printable(task),
                "outcomes": outcomes,
                "tags": sorted({tag for each in rows for tag in _tags(each)} | _overall(outcomes)),
                "runs": [
                    [story.as_json() for story in stories(column.run.settings, each, found)]
                    for column, each, found in zip(columns, rows, steps, strict=True)
                ],
            }
        )
    return tasks


def _outcome(rows: Sequence[TrialRow]) -> Outcome:
    spent = sum(map(tokens, rows))
    if not rows:
        return Outcome("–", "not tried", 10_002, "none", 0)  # noqa: RUF001
    answer = returned(rows)
    if answer["success"]:
        return Outcome(
            f"✓\N{NO-BREAK SPACE}{answer['trial']}",
            f"solved in trial {answer['trial']}",
            answer["trial"],
            "solved",
            spent,
        )
    if rows[-1]["fault"]:
        return Outcome("!\N{NO-BREAK SPACE}fault", "ended by a fault", 10_001, "fault", spent)
    why = printable(failure(answer) or answer["stop_reason"])
    return Outcome(f"✗\N{NO-BREAK SPACE}{why}", f"not solved: {why}", 10_000, "failed", spent)


def _tags(rows: Sequence[TrialRow]) -> set[str]:
    """What a task can be found by."""
    wrong = {
        f"false {'positive' if row['verdict'] else 'negative'}"
        for row in rows
        if None not in (row["verdict"], row["success"]) and row["verdict"] != row["success"]
    }
    return wrong | {printable(reason) for row in rows if (reason := failure(row))}


def _overall(outcomes: Sequence[Outcome]) -> set[str]:
    solved = [each.kind == "solved" for each in outcomes if each.kind != "absent"]
    return {"solved by all" if all(solved) else "solved by some" if any(solved) else "solved by none"}


def _inlined(svg: str, name: str) -> Markup:
    """An SVG file as a part of a page: without its head, and with ids that no other figure has."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    svg = re.sub(r'(url\(|href=")#', rf"\1#{name}-", svg)
    return Markup(svg)
