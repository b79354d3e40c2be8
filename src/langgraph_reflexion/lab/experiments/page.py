"""A comparison as one self-contained HTML page: figures, tables, and every trial of every task.

Texts of models and of the pages they read are data, never markup: the template escapes them, trials are embedded as
JSON and shown as text, and the page's content security policy allows no script but its own.
"""

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

from markupsafe import Markup

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.lab.experiments.comparison import Comparison
from langgraph_reflexion.lab.experiments.figures import draw
from langgraph_reflexion.lab.experiments.groups import RunGroup
from langgraph_reflexion.lab.experiments.html import TEMPLATES, pieces
from langgraph_reflexion.lab.experiments.metrics import failure, final_answer, tokens
from langgraph_reflexion.lab.experiments.prompts import SentPrompt, read_prompts
from langgraph_reflexion.lab.experiments.record import Run
from langgraph_reflexion.lab.experiments.rows import TrialRow
from langgraph_reflexion.lab.experiments.trial_view import NO_PROMPTS, TrialView, trial_views
from langgraph_reflexion.support.text import printable

TITLES = {
    "success_by_trial": "Share of tasks solved by trial",
    "success_by_tokens": "Share of tasks solved by tokens spent",
    "failures_by_trial": "Share of tasks that failed, by trial and reason",
}


OTHER_PROMPTS = "Other prompts: langgraph-reflexion show DIR TASK --prompt TRIAL:STEP."


class Column(NamedTuple):
    """A run, as a column of the table of tasks."""

    name: str
    label: str
    run: Run


class TaskCell(NamedTuple):
    """The outcome of a task in a run, as a cell of the table of tasks; `rank` sorts, `kind` is a class in the CSS."""

    sign: str
    words: str
    rank: int
    kind: str
    tokens: int


def write_page(comparison: Comparison, file: Path | str) -> None:
    """Write the page of a comparison."""
    file, parts = Path(file), page(comparison)
    try:
        # One folder is made; a longer path that does not exist is mistyped.
        file.parent.mkdir(exist_ok=True)
        with file.open("w", encoding="utf-8", errors="replace", newline="") as opened:
            opened.writelines(parts)
    except OSError as error:
        raise ConfigurationError(f"cannot write the page to {file}: {error.strerror}") from error


def page(comparison: Comparison) -> Iterator[str]:
    """Return the page of a comparison as HTML, in pieces: the texts of its trials may be large."""
    columns = []
    for group in comparison.groups:
        for run in group.runs:
            seed = f", seed {run.settings['seed']}" if len(group.runs) > 1 else ""
            columns.append(Column(f"{group.name}{seed}", f"{group.label}{seed}", run))
    texts: dict[str, int] = {}
    trials = [{task: _trials(column.run, task, texts) for task in column.run.tasks} for column in columns]
    tasks = _tasks(columns, trials)
    sent = ("name", "goal", "ways", "reasons", "runs")
    script = (TEMPLATES / "report.js").read_text(encoding="utf-8")
    return pieces(
        "report.html.j2",
        comparison=comparison,
        columns=columns,
        headlines=[(group, _headline(group)) for group in comparison.groups],
        figures={TITLES[name]: _inlined(svg, name) for name, svg in draw(comparison.groups, captions=False).items()},
        tasks=tasks,
        tags={
            "Outcome": _united(task["ways"] for task in tasks),
            "With a trial that failed by": _united(task["reasons"] for task in tasks),
        },
        texts=texts,
        runs=[{"name": each.name, "label": each.label} for each in columns],
        sent=[{name: task[name] for name in sent} for task in tasks],
        on_prompts=OTHER_PROMPTS if all(each.run.has_prompts for each in columns) else NO_PROMPTS,
        style=Markup((TEMPLATES / "report.css").read_text(encoding="utf-8")),
        script=Markup(script),
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )


def _headline(group: RunGroup) -> list[tuple[str, str]]:
    """Return the numbers that matter most, each with its meaning."""
    report, costs = group.report, group.report.costs
    numbers = []
    if report.solved:
        first, last = (f"{report.share(report.solved[at]):.0%}" for at in (0, -1))
        trials = f"within {len(report.solved)} trials" if len(report.solved) > 1 else "in one trial"
        numbers.append((last, f"of {report.tasks} tasks solved {trials}"))
        numbers += [(first, "in the first trial")] if len(report.solved) > 1 else []
    for name, meaning in (("tokens_per_solved", "tokens per solved task"), ("cost", "cost"), ("faults", "faults")):
        numbers += [(f"{costs[name]:,.{2 * (name == 'cost')}f}", meaning)] if costs[name] else []
    if report.stopped:
        numbers.append((str(report.stopped), "not tried again after a trial that solved nothing new"))
    return numbers + ([(str(report.unfinished), "unfinished, counted as unsolved")] if report.unfinished else [])


def _trials(run: Run, task: str, texts: dict[str, int]) -> list[dict[str, Any]]:
    """Return the trials of a task as JSON; add their texts to `texts`."""
    views = trial_views(run.settings, run.whole_trials(task))
    return [_packed(view, _prompts(run, view), texts) for view in views]


def _prompts(run: Run, view: TrialView) -> list[tuple[str, SentPrompt]]:
    """Return the prompts of a trial for the page, with titles: of its first and last step, and of the reflection."""
    if not run.has_prompts:
        return []
    sent = list(read_prompts(run, view.row["task_id"], view.row["trial"]))
    # Of several prompts for one step, the last one continues the others.
    of_steps = {prompt.step: prompt for prompt in sent if prompt.kind == "act"}
    steps = list(of_steps)
    found = [(f"step {step}", of_steps[step]) for step in dict.fromkeys([*steps[:1], *steps[-1:]])]
    return found + [("the reflection", prompt) for prompt in sent if prompt.kind == "reflect"][-1:]


def _tasks(columns: Sequence[Column], trials: Sequence[Mapping[str, list[dict[str, Any]]]]) -> list[dict[str, Any]]:
    """Return the tasks in the order of the runs, with their cells, tags and trials."""
    goals = dict(item for each in columns for item in each.run.goals.items())
    tasks = []
    for task in dict.fromkeys(task for each in columns for task in each.run.tasks):
        rows_of = {column.name: column.run.tasks.get(task) for column in columns}
        outcomes = {name: _outcome(rows) for name, rows in rows_of.items()}
        tried = [name for name, at in outcomes.items() if at.kind != "absent"]
        solved = [name for name in tried if outcomes[name].kind == "solved"]
        tasks.append(
            {
                "name": printable(task),
                "goal": printable(goals.get(task, "")),
                "outcomes": outcomes.values(),
                "ways": _ways(tried, solved),
                "reasons": sorted(_reasons(row for rows in rows_of.values() for row in rows or ())),
                "runs": [of_run.get(task, []) for of_run in trials],
            }
        )
    return tasks


def _packed(view: TrialView, prompts: Sequence[tuple[str, SentPrompt]], texts: dict[str, int]) -> dict[str, Any]:
    """Return a trial as JSON in which a number stands for each long text, as many texts recur."""

    def number(text: str) -> int:
        return texts.setdefault(text, len(texts))

    trial = view.as_json()
    for name in ("observation", "feedback", "reflection", "fault"):
        trial[name] = number(trial[name])
    trial["notes"] = number("\n".join(trial["notes"]))
    trial["steps"] = [
        [step, number(thought), None if action is None else number(action), number(observation)]
        for step, thought, action, observation in trial["steps"]
    ]
    trial["prompts"], before = [], list[int]()
    for title, prompt in prompts:
        # Most of a prompt is that of an earlier step.
        now = [number(f"{role}\n{text}") for role, text in prompt.parts]
        shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, now, strict=False)))
        trial["prompts"].append([title, shared, *now[shared:]])
        before = now
    return trial


def _outcome(rows: Sequence[TrialRow] | None) -> TaskCell:
    if rows is None:
        return TaskCell("", "not a task of this run", 10_003, "absent", 0)
    if not rows:
        return TaskCell("–", "not tried", 10_002, "none", 0)  # noqa: RUF001
    spent, answer, space = sum(map(tokens, rows)), final_answer(rows), "\N{NO-BREAK SPACE}"
    if answer["success"]:
        trial = answer["trial"]
        return TaskCell(f"✓{space}{trial}", f"solved in trial {trial}", trial, "solved", spent)
    if rows[-1]["fault"]:
        return TaskCell(f"!{space}fault", "ended by a fault", 10_001, "fault", spent)
    why = printable(failure(answer) or answer["stop_reason"])
    return TaskCell(f"✗{space}{why}", f"not solved: {why}", 10_000, "failed", spent)


def _ways(runs: Sequence[str], solved: Sequence[str]) -> list[str]:
    """Return what can be said of a task that some of the runs have solved."""
    if len(runs) == 1:
        return ["solved" if solved else "not solved"]
    how = "all" if len(solved) == len(runs) else "some" if solved else "none"
    alone = [f"only {solved[0]} solved"] if len(solved) == 1 else []
    return [f"solved by {how}", *alone, *(f"{name} failed" for name in runs if name not in solved)]


def _united(lists: Iterable[Sequence[str]]) -> list[str]:
    return sorted({each for some in lists for each in some})


def _reasons(rows: Iterable[TrialRow]) -> set[str]:
    """Return why trials failed, and whose verdict was wrong."""
    found = set()
    for row in rows:
        if None not in (row["verdict"], row["success"]) and row["verdict"] != row["success"]:
            found.add(f"false {'positive' if row['verdict'] else 'negative'}")
        if reason := failure(row):
            found.add(printable(reason))
    return found


def _inlined(svg: str, name: str) -> Markup:
    """Return an SVG file as part of a page: without its head, and with ids that no other figure has."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    svg = re.sub(r'(url\(|href=")#', rf"\1#{name}-", svg)
    return Markup(svg)
