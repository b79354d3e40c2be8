"""Comparisons of runs as tables, in words and as JSON."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

from markupsafe import Markup
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from langgraph_reflexion.lab.experiments.figures import draw
from langgraph_reflexion.lab.experiments.group_tables import (
    diagnostics_left_out,
    diagnostics_table,
    group_tables,
    overview_table,
    pair_table,
)
from langgraph_reflexion.lab.experiments.groups import RunGroup, caption, group_runs, name_without_seed
from langgraph_reflexion.lab.experiments.html import framed
from langgraph_reflexion.lab.experiments.metrics import final_answer, on_budget
from langgraph_reflexion.lab.experiments.pairing import Pair, pair
from langgraph_reflexion.lab.experiments.provenance import BETWEEN, in_lines
from langgraph_reflexion.lab.experiments.record import ERRORS
from langgraph_reflexion.lab.experiments.report import RunReport, report_run
from langgraph_reflexion.lab.experiments.rows import TrialRow
from langgraph_reflexion.lab.experiments.runs import Run, read_runs
from langgraph_reflexion.lab.experiments.tables import Table
from langgraph_reflexion.models.recorded import NO_GAIN, ended_at_no_gain
from langgraph_reflexion.support.text import count, printable


def task_lines(run: Run, width: int) -> list[Text]:
    """Return a line for each task of a run, cut to a width: what names it, its outcome and its instruction."""
    outcomes = {task: _outcome(run, task) for task in run.tasks}
    names = run.names_of_tasks
    digits = 0
    for name in names.values():
        digits = max(digits, len(name))
    longest = 0
    for words, _ in outcomes.values():
        longest = max(longest, len(words))
    # In a very narrow terminal, lines wrap rather than say nothing.
    room = max(width - digits - longest - 4, 20)
    goals = run.goals
    lines: list[Text] = []
    for task, name in names.items():
        goal = goals.get(task) or task
        in_one_line = " ".join(goal.split())
        shown = printable(in_one_line)
        if len(shown) > room:
            shown = f"{shown[: room - 1]}…"
        words, style = outcomes[task]
        line = Text(f"{name:>{digits}}  ", "dim")
        line.append(words.ljust(longest + 2), style)
        line.append(shown, "default")
        lines.append(line)
    return lines


def _outcome(run: Run, task: str) -> tuple[str, str]:
    """Return a task's outcome in words, and the color of it."""
    rows = run.tasks[task]
    if run.errors.get(task):
        return "error", "red"
    if not rows:
        return "not begun", "yellow"
    last = rows[-1]
    trial = last["trial"]
    limit = run.settings["max_trials"]
    if last["fault"]:
        return f"fault in trial {trial}", "yellow"
    is_right = final_answer(rows)["success"]
    if last["verdict"]:
        # Where the truth is unknown, the verdict stands for it.
        if is_right is False:
            return f"accepted in trial {trial}, but wrong", "red"
        return f"solved in trial {trial}", "green"
    if on_budget(last):
        return f"ended on a budget in trial {trial}", "yellow"
    if trial >= limit and is_right:
        # The evaluator is not an oracle, and has not noticed.
        return f"right, but not accepted in {count(limit, 'trial')}", "yellow"
    return _not_solved(run, last)


def _not_solved(run: Run, last: TrialRow) -> tuple[str, str]:
    """Return in words why a task is not solved after its last trial, and the color of it."""
    trial = last["trial"]
    limit = run.settings["max_trials"]
    if ended_at_no_gain(last["notes"]):
        return f"not solved, {NO_GAIN}", "red"
    if trial >= limit:
        return f"not solved in {count(limit, 'trial')}", "red"
    if run.stopped_after is not None:
        return f"not solved by trial {trial}, after which none was tried again", "red"
    return f"unfinished after trial {trial}", "yellow"


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
    left_out: tuple[str, ...] = ()
    """Why folders beside the runs of an experiment are left out, in words."""
    far_apart: tuple[str, ...] = ()
    """Names of two groups that differ on several axes of an experiment, and are not compared; empty if all are."""

    @property
    def caption(self) -> str:
        return caption(self.groups)

    def tables(self) -> list[Table]:
        """Return the tables in the order in which they are shown."""
        several_seeds = any(len(each.runs) > 1 for each in self.groups)
        compared = any(each.matches for each in self.pairs)
        of_groups: list[Table] = []
        if not self.brief:
            of_groups = group_tables(self.groups)

        # The curves come first.
        tables = of_groups[:1]
        if self.brief or several_seeds:
            tables.append(overview_table(self.groups))
        if compared:
            tables.append(pair_table(self.pairs, self.caption))
        tables += of_groups[1:]
        diagnostics = diagnostics_table(self.groups)
        if diagnostics.rows:
            tables.append(diagnostics)
        return tables

    def bare_tables(self) -> list[Table]:
        """Return the tables without captions, for a page that says once what they share."""
        return [replace(table, caption="") for table in self.tables()]

    def sentences(self) -> list[str]:
        """Return the conclusions, what could not be compared, and what is missing, in words."""
        said = [printable(why) for why in self.left_out]
        self._add_conclusions(said)
        for group in self.groups:
            unknown = group.unknown
            if unknown:
                tasks = count(group.report.tasks, "task")
                said.append(f"{group.name}: ground truth unknown for {unknown} of {tasks}; counted as unsolved.")
            said += diagnostics_left_out(group)
            if self.brief:
                said += _on_verdicts(group)
        for run in self.runs:
            if run.changed_code:
                files = printable(", ".join(run.changed_code))
                said.append(
                    f"{run.folder}: {files} was changed while it went on, and its trials are not all of one code"
                )
            if run.errors:
                said.append(_on_errors(run))
        if self.far_apart:
            said.append(
                "Groups that differ on several axes are not compared here: `report FOLDER FOLDER` compares any two, "
                f"such as {self.far_apart[0]} and {self.far_apart[1]}."
            )
        if any(each.repeats_tasks for each in self.pairs):
            said.append("A task under several seeds counts once in *solved alone* and p.")
        tests = sum(bool(each.matches) for each in self.pairs)
        if tests > 1:
            said.append("The p-values are not corrected for multiple comparisons: of many, some are small by chance.")
        return said

    def _add_conclusions(self, said: list[str]) -> None:
        """Add the conclusion on every two groups, and each note on them once."""
        for each in self.pairs:
            conclusion = each.conclusion
            # Of a single pair it is plain whom it is about.
            if conclusion and len(self.pairs) > 1:
                conclusion = f"{each.one.name} and {each.other.name}: {conclusion}"
            if conclusion:
                said.append(conclusion)
            for note in each.notes:
                if note not in said:
                    said.append(note)

    def print(self, console: Console | None = None) -> None:
        """Print the settings of each group, the tables, and the conclusions; to the terminal by default."""
        console = console or Console()
        for each in self.groups:
            folders = [str(run.folder) for run in each.runs]
            heading = Text(each.label, "bold")
            heading.append("  " + printable("  ".join(folders)), "dim")
            # The path of a folder is copied as a whole.
            console.print(heading, soft_wrap=True)
            facts = self._facts(each)
            for line in in_lines(facts, console.width - 2):
                console.print(Padding(Text(line), (0, 0, 0, 2), expand=False))
        if self.brief:
            shared = printable(self.caption).split(BETWEEN)
            for line in in_lines(shared, console.width):
                console.print(Text(line, "dim"))
        for table in self.bare_tables():
            table.print(console)
        for sentence in self.sentences():
            console.print(Text(sentence))

    def _facts(self, group: RunGroup) -> list[str]:
        """Return what is said of a group above the tables, in parts."""
        report = group.report
        facts = group.facts
        tasks = facts.pop("tasks")
        parts = [f"{tasks}, {group.tasks_in_words}"]
        # The caption of all groups says the rest.
        if not self.brief:
            parts += facts.values()
        if report.ungradable:
            parts.append(f"{report.ungradable} not gradable here, and not counted")
        if report.stopped:
            parts.append(f"{report.stopped} not tried again after a trial that solved nothing new")
        if report.no_gain:
            parts.append(f"{report.no_gain} {NO_GAIN}")
        if report.on_budget:
            parts.append(f"{report.on_budget} ended on a budget, counted as unsolved")
        if report.unfinished:
            parts.append(f"{report.unfinished} unfinished, counted as unsolved")
        return parts

    def as_json(self) -> dict[str, Any]:
        return {
            "runs": [run.as_json() for run in self.runs],
            "groups": [each.as_json() for each in self.groups],
            "pairs": [pair.as_json() for pair in self.pairs],
            "left_out": self.left_out,
        }

    def __repr__(self) -> str:
        return "\n".join(map(repr, self.runs))

    def _repr_html_(self) -> str:
        paragraph = Markup("<p>{}</p>")
        parts = [paragraph.format(sentence) for sentence in self.sentences()]
        parts.append(Markup('<p class="facts">{}</p>').format(printable(self.caption)))
        figure = draw(self.groups, captions=False).get("success_by_trial", "")
        without_head = figure[figure.find("<svg") :]
        parts.append(Markup(without_head))
        parts += [table.html() for table in self.bare_tables()]
        return framed(*parts)


def _on_errors(run: RunReport) -> str:
    """Return a sentence on the tasks of a run that bugs have ended."""
    tasks = count(len(run.errors), "task")
    first = next(iter(run.errors.values()))
    log = run.folder / ERRORS
    return f"{run.folder}: {tasks} ended by an error, such as {printable(first)} (tracebacks in {log})"


def compare(folders: Path | str | Sequence[Path | str]) -> Comparison:
    """Compare run folders, or report one.

    The folder of an experiment, or any other that holds run folders, is compared by their names, pairing the groups
    of an experiment that differ on one axis only; beside other folders it counts as its runs.

    Raises:
        ConfigurationError: one of them holds no run.
    """
    if isinstance(folders, Path | str):
        folders = [folders]
    runs, left_out = read_runs(folders)
    # Whether the runs are inside the one folder that was given.
    together = len(folders) == 1 and runs[0].folder != Path(folders[0])
    if together:
        groups = group_runs(runs, name_without_seed)
    else:
        groups = group_runs(runs)
    pairs: list[Pair] = []
    far_apart: tuple[str, ...] = ()
    for one, other in combinations(groups, 2):
        # Of an experiment, groups that differ on several axes say nothing about either.
        if not together or _one_apart(one, other):
            pairs.append(pair(one, other))
        elif not far_apart and _same_tasks(one, other):
            far_apart = (one.name, other.name)
    reports = tuple(report_run(run) for run in runs)
    return Comparison(reports, groups, tuple(pairs), brief=together, left_out=tuple(left_out), far_apart=far_apart)


def _same_tasks(one: RunGroup, other: RunGroup) -> bool:
    """Return whether two groups of an experiment have tasks in common."""
    return not one.trials().keys().isdisjoint(other.trials())


def _on_verdicts(group: RunGroup) -> list[str]:
    """Return a sentence on the answers that a group's evaluator has judged wrongly, if there are any."""
    answers = group.report.answers
    if not answers:
        return []
    said: list[str] = []
    wrong = answers["false_positive"]
    if wrong:
        accepted = answers["true_positive"] + wrong
        said.append(f"{wrong} of {accepted} accepted answers are wrong")
    missed = answers["false_negative"]
    if missed:
        right = answers["true_positive"] + missed
        said.append(f"{missed} of {right} right answers were not accepted, and count as solved")
    if not said:
        return []
    return [f"{group.name}: {'; '.join(said)}."]


def _one_apart(one: RunGroup, other: RunGroup) -> bool:
    """Return whether two groups differ on one axis of their experiment; also true if one is of none."""
    axes = one.runs[0].info.get("axes")
    others = other.runs[0].info.get("axes")
    if not axes or not others:
        return True
    differing = [name for name, value in axes.items() if value != others.get(name)]
    return len(differing) == 1
