"""A comparison as one self-contained HTML page: figures, tables, and every trial of every task.

Texts of models and of the pages they read are data, never markup: the template escapes them, trials are embedded as
JSON and shown as text, and the page's content security policy allows no script but its own.
"""

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from langgraph_reflexion.lab.experiments.provenance import tasks_in_words
from langgraph_reflexion.lab.experiments.rows import TrialRow
from langgraph_reflexion.lab.experiments.runs import Run
from langgraph_reflexion.lab.experiments.trial_view import NO_PROMPTS, TrialView, trial_views
from langgraph_reflexion.models.recorded import NO_GAIN
from langgraph_reflexion.support.text import printable

TITLES = {
    "success_by_trial": "Share of tasks solved by trial",
    "success_by_tokens": "Share of tasks solved by tokens spent",
    "failures_by_trial": "Share of tasks that failed, by trial and reason",
}


SENT = ("name", "goal", "ways", "reasons", "runs")
"""The parts of a task that the page's script gets; the cells of the table are in the HTML.

`ways` are the tags that say which runs solved the task, and `reasons` those that say why its trials failed.
"""

OTHER_PROMPTS = "Other prompts: langgraph-reflexion show DIR TASK --prompt TRIAL:STEP."


Packed = dict[str, Any]
"""A trial as the page's script gets it."""


class Column(NamedTuple):
    """A run, as a column of the table of tasks."""

    name: str
    label: str
    run: Run


class TaskCell(NamedTuple):
    """The outcome of a task in a run, as a cell of the table of tasks."""

    sign: str
    words: str
    rank: int
    """The table is sorted by it."""
    kind: str
    """The cell's class in the CSS."""
    tokens: int


def write_page(comparison: Comparison, file: Path | str, reload: int | None = None) -> None:
    """Write the page of a comparison.

    Args:
        comparison: The runs.
        file: The page.
        reload: The seconds after which a browser reads the page again; never unless given.

    Raises:
        ConfigurationError: it cannot be written there.
    """
    file = Path(file)
    parts = page(comparison, reload)
    try:
        # Only the last folder is created: if more of the path is missing, it is probably mistyped.
        file.parent.mkdir(exist_ok=True)
        target = file
        if reload is not None:
            # A browser may read the page at any moment, and must never find half of it.
            target = file.with_name(f"{file.name}.part")
        # A text may hold a lone surrogate, which cannot be encoded.
        with target.open("w", encoding="utf-8", errors="replace", newline="") as opened:
            opened.writelines(parts)
        if target != file:
            target.replace(file)
    except OSError as error:
        raise ConfigurationError(f"cannot write the page to {file}: {error.strerror}") from error


def page(comparison: Comparison, reload: int | None = None) -> Iterator[str]:
    """Return the page of a comparison as HTML, in pieces: the texts of its trials may be large."""
    columns = _columns(comparison)
    # Trials refer to their texts by number, so that the page holds each text once. `_trials_by_task` adds them.
    texts: dict[str, int] = {}
    trials = [_trials_by_task(column.run, texts) for column in columns]
    tasks = _tasks(columns, trials)
    # The choices by which the page filters its tasks, under their headings.
    tags = {
        "Outcome": _united(task["ways"] for task in tasks),
        "With a trial that failed by": _united(task["reasons"] for task in tasks),
    }
    figures: dict[str, Markup] = {}
    for name, svg in draw(comparison.groups, captions=False).items():
        figures[TITLES[name]] = _inlined(svg, name)
    on_prompts = NO_PROMPTS
    if all(column.run.has_prompts for column in columns):
        on_prompts = OTHER_PROMPTS
    style = (TEMPLATES / "report.css").read_text(encoding="utf-8")
    script = (TEMPLATES / "report.js").read_text(encoding="utf-8")
    digest = hashlib.sha256(script.encode()).digest()
    return pieces(
        "report.html.j2",
        comparison=comparison,
        subject=_subject(comparison),
        columns=columns,
        headlines=[(group, _headline(group)) for group in comparison.groups],
        figures=figures,
        tasks=tasks,
        tags=tags,
        texts=texts,
        runs=[{"name": column.name, "label": column.label} for column in columns],
        sent=[_sent(task) for task in tasks],
        on_prompts=on_prompts,
        style=Markup(style),
        script=Markup(script),
        script_hash=base64.b64encode(digest).decode(),
        reload=reload,
    )


def _subject(comparison: Comparison) -> str:
    """Return what was played, each set of tasks once."""
    played: dict[str, None] = {}
    for run in comparison.runs:
        played[printable(tasks_in_words(run.settings))] = None
    return ", ".join(played)


def _sent(task: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of a task the page's script gets."""
    return {name: task[name] for name in SENT}


def _columns(comparison: Comparison) -> list[Column]:
    """Return a column for each run, named after its group and, where that has several runs, its seed."""
    columns = []
    for group in comparison.groups:
        for run in group.runs:
            seed = ""
            if len(group.runs) > 1:
                seed = f", seed {run.settings['seed']}"
            columns.append(Column(f"{group.name}{seed}", f"{group.label}{seed}", run))
    return columns


def _headline(group: RunGroup) -> list[tuple[str, str]]:
    """Return the numbers that matter most, each with its meaning."""
    report = group.report
    costs = report.costs
    numbers: list[tuple[str, str]] = []
    trials = len(report.solved)
    if trials == 1:
        share = report.share(report.solved[0])
        numbers.append((f"{share:.0%}", f"of {group.tasks_in_words} solved in one trial"))
    elif trials:
        first = report.share(report.solved[0])
        last = report.share(report.solved[-1])
        numbers.append((f"{last:.0%}", f"of {group.tasks_in_words} solved within {trials} trials"))
        numbers.append((f"{first:.0%}", "in the first trial"))
    if costs["tokens_per_solved"]:
        numbers.append((f"{costs['tokens_per_solved']:,.0f}", "tokens per solved task"))
    if costs["cost"]:
        numbers.append((f"{costs['cost']:,.2f}", "cost"))
    if costs["faults"]:
        numbers.append((f"{costs['faults']:,.0f}", "faults"))
    tasks = {
        "not gradable here, and not counted": report.ungradable,
        "not tried again after a trial that solved nothing new": report.stopped,
        NO_GAIN: report.no_gain,
        "ended on a budget, counted as unsolved": report.on_budget,
        "unfinished, counted as unsolved": report.unfinished,
    }
    numbers += [(str(number), words) for words, number in tasks.items() if number]
    return numbers


def _trials_by_task(run: Run, texts: dict[str, int]) -> dict[str, list[Packed]]:
    """Return the trials of all tasks of a run as JSON; add their texts to `texts`."""
    return {task: _trials(run, task, texts) for task in run.tasks}


def _trials(run: Run, task: str, texts: dict[str, int]) -> list[Packed]:
    """Return the trials of a task as JSON; add their texts to `texts`."""
    rows = run.whole_trials(task)
    trials: list[Packed] = []
    for view in trial_views(run.settings, rows):
        prompts = _prompts(run, view)
        trials.append(_packed(view, prompts, texts))
    return trials


def _prompts(run: Run, view: TrialView) -> list[tuple[str, SentPrompt]]:
    """Return the prompts of a trial for the page, with titles: of its first and last step, and of the reflection."""
    if not run.has_prompts:
        return []
    task = view.row["task_id"]
    trial = view.row["trial"]
    # If several prompts asked for one step, the last one is kept: it contains the earlier ones.
    of_steps: dict[int | None, SentPrompt] = {}
    reflection: SentPrompt | None = None
    for prompt in read_prompts(run, task, trial):
        if prompt.kind == "act":
            of_steps[prompt.step] = prompt
        elif prompt.kind == "reflect":
            reflection = prompt
    found: list[tuple[str, SentPrompt]] = []
    steps = list(of_steps)
    if steps:
        first = steps[0]
        found.append((f"step {first}", of_steps[first]))
    if len(steps) > 1:
        last = steps[-1]
        found.append((f"step {last}", of_steps[last]))
    if reflection:
        found.append(("the reflection", reflection))
    return found


def _tasks(columns: Sequence[Column], trials: Sequence[Mapping[str, list[Packed]]]) -> list[dict[str, Any]]:
    """Return the tasks in the order of the runs, with their cells, tags and trials.

    Args:
        columns: The runs.
        trials: For each run, the trials of its tasks.
    """
    goals: dict[str, str] = {}
    # Each task once, as the keys of a dictionary keep their order.
    ids: dict[str, None] = {}
    for column in columns:
        goals.update(column.run.goals)
        ids.update(dict.fromkeys(column.run.tasks))
    tasks: list[dict[str, Any]] = []
    for task in ids:
        outcomes: dict[str, TaskCell] = {}
        reasons: set[str] = set()
        for column in columns:
            rows = column.run.tasks.get(task)
            outcomes[column.name] = _outcome(rows)
            if rows:
                reasons.update(_reasons(rows))
        runs_with_task: list[str] = []
        runs_that_solved: list[str] = []
        for name, cell in outcomes.items():
            if cell.kind != "absent":
                runs_with_task.append(name)
            if cell.kind == "solved":
                runs_that_solved.append(name)
        trials_by_run = [of_run.get(task, []) for of_run in trials]
        tasks.append(
            {
                "name": printable(task),
                "goal": printable(goals.get(task, "")),
                "outcomes": outcomes.values(),
                "ways": _solver_tags(runs_with_task, runs_that_solved),
                "reasons": sorted(reasons),
                "runs": trials_by_run,
            }
        )
    return tasks


def _packed(view: TrialView, prompts: Sequence[tuple[str, SentPrompt]], texts: dict[str, int]) -> Packed:
    """Return a trial as JSON in which a number stands for each long text, as many texts recur.

    Args:
        view: The trial.
        prompts: Some of its prompts, with their titles.
        texts: The number of each text so far; new texts are added.
    """

    def number(text: str) -> int:
        return texts.setdefault(text, len(texts))

    trial = view.as_json()
    for name in ("observation", "feedback", "reflection", "fault"):
        trial[name] = number(trial[name])
    trial["notes"] = number("\n".join(trial["notes"]))
    steps = []
    for step, thought, action, observation in trial["steps"]:
        number_of_action = None
        if action is not None:
            number_of_action = number(action)
        steps.append([step, number(thought), number_of_action, number(observation)])
    trial["steps"] = steps
    trial["prompts"] = []
    before: list[int] = []
    for title, prompt in prompts:
        now: list[int] = []
        for role, text in prompt.parts:
            now.append(number(f"{role}\n{text}"))
        # A prompt begins with most of the one before it: of that part, only the length is sent.
        shared = _shared_length(before, now)
        packed: list[Any] = [title, shared]
        packed += now[shared:]
        trial["prompts"].append(packed)
        before = now
    return trial


def _shared_length(before: Sequence[int], now: Sequence[int]) -> int:
    """Return the length of the beginning that two lists share."""
    length = 0
    for one, other in zip(before, now, strict=False):
        if one != other:
            break
        length += 1
    return length


def _outcome(rows: Sequence[TrialRow] | None) -> TaskCell:
    """Return the outcome of a task from its rows, which are None where a run does not have the task."""
    # The rank of a solved task is the trial that solved it. The others rank after all trials: from 10,000 on.
    if rows is None:
        return TaskCell("", "not a task of this run", 10_003, "absent", 0)
    if not rows:
        return TaskCell("–", "not tried", 10_002, "none", 0)  # noqa: RUF001
    spent = sum(map(tokens, rows))
    answer = final_answer(rows)
    space = "\N{NO-BREAK SPACE}"
    if answer["success"]:
        trial = answer["trial"]
        return TaskCell(f"✓{space}{trial}", f"solved in trial {trial}", trial, "solved", spent)
    if answer["success"] is None and answer["verdict"]:
        # Where the truth is unknown, the verdict stands for it.
        trial = answer["trial"]
        return TaskCell(f"✓{space}{trial}", f"accepted in trial {trial}, truth not known", trial, "solved", spent)
    if rows[-1]["fault"]:
        return TaskCell(f"!{space}fault", "ended by a fault", 10_001, "fault", spent)
    # There is no failure where a budget cut the trial short.
    reason = failure(answer) or answer["stop_reason"]
    why = printable(reason)
    return TaskCell(f"✗{space}{why}", f"not solved: {why}", 10_000, "failed", spent)


def _solver_tags(runs: Sequence[str], solved: Sequence[str]) -> list[str]:
    """Return the tags that say which of the runs that have a task solved it."""
    if len(runs) == 1 and solved:
        return ["solved"]
    if len(runs) == 1:
        return ["not solved"]
    how = "some"
    if len(solved) == len(runs):
        how = "all"
    elif not solved:
        how = "none"
    ways = [f"solved by {how}"]
    if len(solved) == 1:
        ways.append(f"only {solved[0]} solved")
    for name in runs:
        if name not in solved:
            ways.append(f"{name} failed")
    return ways


def _united(lists: Iterable[Sequence[str]]) -> list[str]:
    """Return what occurs in any of the lists: each text once, sorted."""
    found: set[str] = set()
    for each in lists:
        found.update(each)
    return sorted(found)


def _reasons(rows: Iterable[TrialRow]) -> set[str]:
    """Return the tags for why trials failed, and for verdicts that were wrong."""
    found: set[str] = set()
    for row in rows:
        if row["verdict"] is True and row["success"] is False:
            found.add("false positive")
        elif row["verdict"] is False and row["success"] is True:
            found.add("false negative")
        reason = failure(row)
        if reason:
            found.add(printable(reason))
    return found


def _inlined(svg: str, name: str) -> Markup:
    """Return an SVG file as part of a page: without its head, and with ids that no other figure has."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    # Each id gets the figure's name, and so does each reference to one: `url(#...)` and `href="#..."`.
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    svg = re.sub(r'(url\(|href=")#', rf"\1#{name}-", svg)
    return Markup(svg)
