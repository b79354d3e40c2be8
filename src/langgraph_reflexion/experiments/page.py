"""A comparison as one self-contained HTML page: figures, tables, and every trial of every task.

Texts of models and of the pages they read are data, never markup: the template escapes them, trials are embedded as
JSON and shown as text, and the page's content security policy allows no script but its own.
"""

import base64
import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from markupsafe import Markup

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.experiments.comparison import Comparison
from langgraph_reflexion.experiments.figures import draw
from langgraph_reflexion.experiments.html import TEMPLATES, fill
from langgraph_reflexion.experiments.metrics import failure, final_answer, tokens
from langgraph_reflexion.experiments.printable import printable
from langgraph_reflexion.experiments.record import Run
from langgraph_reflexion.experiments.rows import TrialRow
from langgraph_reflexion.experiments.trials import ON_PROMPTS, trial_views

TITLES = {
    "success_by_trial": "Share of tasks solved by trial",
    "success_by_tokens": "Share of tasks solved by tokens spent",
    "failures_by_trial": "Share of tasks that failed, by trial and reason",
}


class Column(NamedTuple):
    """A run, as a column of the table of tasks."""

    name: str
    label: str
    run: Run


class Outcome(NamedTuple):
    """The outcome of a task in a run, as a cell of the table of tasks; `rank` sorts, `kind` is a class in the CSS."""

    sign: str
    words: str
    rank: int
    kind: str
    tokens: int


def write_page(comparison: Comparison, file: Path | str) -> None:
    """Write the page of a comparison."""
    file, text = Path(file), page(comparison)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode("utf-8", "replace"))
    except OSError as error:
        raise ConfigurationError(f"cannot write the page to {file}: {error.strerror}") from error


def page(comparison: Comparison) -> str:
    """Return the page of a comparison as HTML."""
    columns = []
    for group in comparison.groups:
        for run in group.runs:
            seed = f", seed {run.settings['seed']}" if len(group.runs) > 1 else ""
            columns.append(Column(f"{group.name}{seed}", f"{group.label}{seed}", run))
    script = (TEMPLATES / "report.js").read_text(encoding="utf-8")
    return fill(
        "report.html.j2",
        comparison=comparison,
        columns=columns,
        figures={TITLES[name]: _inlined(svg, name) for name, svg in draw(comparison.groups).items()},
        tasks=_tasks(columns),
        on_prompts=ON_PROMPTS,
        style=Markup((TEMPLATES / "report.css").read_text(encoding="utf-8")),
        script=Markup(script),
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )


def _tasks(columns: Sequence[Column]) -> list[dict[str, Any]]:
    """Return the tasks in the order of the runs, with their cells, tags and trials."""
    steps = [each.run.trajectories() for each in columns]
    tasks = []
    for task in dict.fromkeys(task for each in columns for task in each.run.info["tasks"]):
        outcomes, runs, tags = [], [], set()
        for column, found in zip(columns, steps, strict=True):
            rows = [row for row in column.run.trials if row["task_id"] == task]
            outcomes.append(_outcome(rows, known=task in column.run.info["tasks"]))
            runs.append([view.as_json() for view in trial_views(column.run.settings, rows, found)])
            tags |= _tags(rows)
        solved = [each.kind == "solved" for each in outcomes if each.kind != "absent"]
        tags.add(f"solved by {'all' if all(solved) else 'some' if any(solved) else 'none'}")
        tasks.append({"name": printable(task), "outcomes": outcomes, "tags": sorted(tags), "runs": runs})
    return tasks


def _outcome(rows: Sequence[TrialRow], *, known: bool) -> Outcome:
    if not known:
        return Outcome("", "not a task of this run", 10_003, "absent", 0)
    if not rows:
        return Outcome("–", "not tried", 10_002, "none", 0)  # noqa: RUF001
    spent, answer, space = sum(map(tokens, rows)), final_answer(rows), "\N{NO-BREAK SPACE}"
    if answer["success"]:
        trial = answer["trial"]
        return Outcome(f"✓{space}{trial}", f"solved in trial {trial}", trial, "solved", spent)
    if rows[-1]["fault"]:
        return Outcome(f"!{space}fault", "ended by a fault", 10_001, "fault", spent)
    why = printable(failure(answer) or answer["stop_reason"])
    return Outcome(f"✗{space}{why}", f"not solved: {why}", 10_000, "failed", spent)


def _tags(rows: Sequence[TrialRow]) -> set[str]:
    wrong = {
        f"false {'positive' if row['verdict'] else 'negative'}"
        for row in rows
        if None not in (row["verdict"], row["success"]) and row["verdict"] != row["success"]
    }
    return wrong | {printable(reason) for row in rows if (reason := failure(row))}


def _inlined(svg: str, name: str) -> Markup:
    """Return an SVG file as part of a page: without its head, and with ids that no other figure has."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    svg = re.sub(r'(url\(|href=")#', rf"\1#{name}-", svg)
    return Markup(svg)
