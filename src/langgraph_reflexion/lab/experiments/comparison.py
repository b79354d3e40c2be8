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
from langgraph_reflexion.lab.experiments.groups import RunGroup, caption, group_runs
from langgraph_reflexion.lab.experiments.html import framed
from langgraph_reflexion.lab.experiments.metrics import confusion_rates, final_answer
from langgraph_reflexion.lab.experiments.pairing import Match, Pair, pair
from langgraph_reflexion.lab.experiments.provenance import BETWEEN, in_lines
from langgraph_reflexion.lab.experiments.record import ERRORS, Run, read_runs
from langgraph_reflexion.lab.experiments.report import COSTS, RunReport, report_run
from langgraph_reflexion.lab.experiments.rows import TrialRow
from langgraph_reflexion.lab.experiments.statistics import format_p
from langgraph_reflexion.lab.experiments.tables import Cell, PercentCell, Table
from langgraph_reflexion.support.text import count, printable

Rows = list[list[Cell]]


def task_lines(run: Run, width: int) -> list[Text]:
    """Return a line for each task of a run, cut to a width: its number, outcome and instruction."""
    limit = run.settings["max_trials"]
    rule = run.stopped_after is not None
    outcomes = [_outcome(rows, limit, run.errors.get(task), rule) for task, rows in run.tasks.items()]
    digits, longest = len(str(len(outcomes))), max((len(words) for words, _ in outcomes), default=0)
    lines = []
    for number, (task, (words, style)) in enumerate(zip(run.tasks, outcomes, strict=True), 1):
        goal = printable(" ".join((run.goals.get(task) or task).split()))
        room = max(width - digits - longest - 4, 20)
        goal = goal if len(goal) <= room else f"{goal[: room - 1]}…"
        lines.append(
            Text(f"{number:>{digits}}  ", "dim").append(words.ljust(longest + 2), style).append(goal, "default")
        )
    return lines


def _outcome(rows: Sequence[TrialRow], limit: int, error: str | None, rule: bool) -> tuple[str, str]:
    """Return a task's outcome in words, and the color of it; `rule` if the run ended by `until_no_improvement`."""
    if error:
        return "error", "red"
    if not rows:
        return "not begun", "yellow"
    last, answer = rows[-1], final_answer(rows)
    if last["fault"]:
        return f"fault in trial {last['trial']}", "yellow"
    if last["verdict"]:
        wrong = answer["success"] is False
        return f"accepted in trial {last['trial']}, but wrong" if wrong else f"solved in trial {last['trial']}", (
            "red" if wrong else "green"
        )
    if last["trial"] >= limit:
        return f"not solved in {limit} trial{'s' * (limit > 1)}", "red"
    if rule:
        return f"not solved by trial {last['trial']}, after which none was tried again", "red"
    return f"unfinished after trial {last['trial']}", "yellow"


def group_tables(groups: Sequence[RunGroup]) -> list[Table]:
    """Return the tables of one group or several, without empty ones."""
    judged = [each for each in groups if each.report.verdicts]
    tables = [
        _table("Tasks solved by trial, with 95% intervals", groups, _curves(groups), "trial"),
        _table("Means over all tasks, first and last trial", groups, _measures(groups), "measure"),
        _failures(groups),
        _table("Verdict against truth, and share of the same verdict", judged, _verdicts(judged), "answers returned")
        if judged
        else None,
        _table("Cost", groups, _costs(groups)),
        _table("Trials with a note", groups, _notes(groups)),
    ]
    return [table for table in tables if table and table.rows]


def overview_table(groups: Sequence[RunGroup]) -> Table:
    """Return a row for each group: its first and last trial, and how much its seeds differ."""
    head = ("", "n", "first", "last", "range", "interval", "tokens")
    title = (
        "% of n tasks solved by the first and the last trial, mean ± standard deviation over seeds; their range; "
        "95% interval over tasks (Wilson); tokens per solved task"
    )
    return Table(title, head, [_overview(each) for each in groups], caption(groups))


def pair_table(pairs: Sequence[Pair], settings: str) -> Table:
    """Return a table of every two groups at equal trials and at equal tokens, with the settings as its caption."""
    rows = [_match(pair, match) for pair in pairs for match in pair.matches]
    head = ("", "at equal", "solved", "of", "solved alone", "p")
    return Table("Task by task: two strategies at equal trials, and at equal tokens", head, rows, settings)


def _table(title: str, groups: Sequence[RunGroup], rows: Rows, first: str = "") -> Table:
    return Table(title, [first, *(each.label for each in groups)], rows, caption(groups))


def _overview(group: RunGroup) -> list[Cell]:
    by_trial = group.by_seed()
    row: list[Cell] = [group.label, str(group.report.tasks)]
    if not by_trial:
        return [*row, *[""] * 5]
    first, last = by_trial[0], by_trial[-1]
    shares = (min(last.shares), max(last.shares)) if len(last.shares) > 1 else None
    within = (_percents(each) for each in (shares, group.intervals()[len(by_trial) - 1]))
    tokens = group.report.costs["tokens_per_solved"]
    return [*row, first.text, last.text, *within, "" if tokens is None else f"{tokens:,.0f}"]


def _percents(interval: tuple[float, float] | None) -> str:
    return f"{100 * interval[0]:.0f}-{100 * interval[1]:.0f}" if interval else ""


def _match(pair: Pair, match: Match) -> list[Cell]:
    return [
        f"{pair.one.name} and {pair.other.name}",
        f"{match.amount:,} {match.equal}",
        f"{match.solved[0]} and {match.solved[1]}",
        str(match.of),
        f"{match.test.wins} and {match.test.losses}",
        format_p(match.test.p),
    ]


def _curves(groups: Sequence[RunGroup]) -> Rows:
    columns: list[list[Cell]] = []
    for each in groups:
        column: list[Cell] = []
        for solved, within in zip(each.report.solved, each.intervals(), strict=True):
            share = each.report.share(solved)
            column.append(
                PercentCell(share, f"{solved:>3} {share:>5.0%}{f' {_percents(within):>6}' if within else ''}")
            )
        columns.append(column)
    trials = max(map(len, columns))
    return [[str(n + 1), *(column[n] if n < len(column) else "" for column in columns)] for n in range(trials)]


def _measures(groups: Sequence[RunGroup]) -> Rows:
    rows: Rows = []
    for name in dict.fromkeys(name for each in groups for name in each.report.measures):
        means = [each.report.measures.get(name) for each in groups]
        rows.append([name.replace("_", " "), *(f"{each[0]:.3f} → {each[-1]:.3f}" if each else "" for each in means)])
    return rows


def _failures(groups: Sequence[RunGroup]) -> Table:
    trials = max(len(each.report.failures) for each in groups)
    rows: Rows = []
    for each in groups:
        for reason in sorted({reason for counts in each.report.failures for reason in counts}):
            name = f"{each.name} {reason}" if len(groups) > 1 else reason
            counts = [str(counts.get(reason, "")) for counts in each.report.failures]
            rows.append([name, *counts, *[""] * (trials - len(counts))])
    # Twelve trials of hundreds of tasks must fit into a terminal of 80 columns.
    head = ["trial", *map(str, range(1, trials + 1))]
    return Table("Failed trials by reason", head, rows, caption(groups), dense=True)


def _verdicts(judged: Sequence[RunGroup]) -> Rows:
    names = ("true_positive", "false_positive", "true_negative", "false_negative")
    answers = [each.report.answers or dict.fromkeys(names, 0) for each in judged]
    trials = [each.report.verdicts or {} for each in judged]
    rows: Rows = []
    for heading, counts in (("", answers), ("all trials", trials)):
        rows += [[heading]] if heading else []
        for name in names:
            rates = [confusion_rates(each)[name] for each in counts]
            cells = zip(counts, ("" if rate is None else f"{rate:.0%}" for rate in rates), strict=True)
            rows.append([name.replace("_", " "), *(f"{each[name]} {rate:>4}" for each, rate in cells)])
    unverified = [each.report.unverified for each in judged]
    if any(unverified):
        rows.append(["unverified", *map(str, unverified)])
    return rows


def _costs(groups: Sequence[RunGroup]) -> Rows:
    rows: Rows = []
    for name, metric in COSTS.items():
        values = [each.report.costs[name] for each in groups]
        if any(values) or metric.always:
            rows.append([metric.label, *("" if value is None else format(value, metric.format) for value in values)])
    return rows


def _notes(groups: Sequence[RunGroup]) -> Rows:
    notes = dict.fromkeys(note for each in groups for note in each.report.notes)
    return [[note, *(str(each.report.notes.get(note, 0)) for each in groups)] for note in notes]


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
        said = list(map(printable, self.left_out))
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
            for line in in_lines(self._heading(each), console.width - 2):
                console.print(Padding(Text(line), (0, 0, 0, 2), expand=False))
        if self.brief:
            for line in in_lines(printable(self.caption).split(BETWEEN), console.width):
                console.print(Text(line, "dim"))
        for table in self.bare_tables():
            table.print(console)
        for sentence in self.sentences():
            console.print(Text(sentence))

    def _heading(self, group: RunGroup) -> list[str]:
        report = group.report
        parts = [f"{group.facts['tasks']}, {count(report.tasks, 'task')}"]
        parts += [] if self.brief else [fact for name, fact in group.facts.items() if name != "tasks"]
        parts += [f"{report.ungradable} not gradable here, and not counted"] if report.ungradable else []
        if report.stopped:
            parts.append(f"{report.stopped} not tried again after a trial that solved nothing new")
        return parts + ([f"{report.unfinished} unfinished, counted as unsolved"] if report.unfinished else [])

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
        sentences = [Markup("<p>{}</p>").format(sentence) for sentence in self.sentences()]
        figure = draw(self.groups, captions=False).get("success_by_trial", "")
        settings = Markup('<p class="facts">{}</p>').format(printable(self.caption))
        tables = [table.html() for table in self.bare_tables()]
        return framed(*sentences, settings, Markup(figure[figure.find("<svg") :]), *tables)


def compare(folders: Path | str | Sequence[Path | str]) -> Comparison:
    """Compare run folders, or report one.

    The folder of an experiment, or any other that holds run folders, is compared by their names, pairing the groups
    of an experiment that differ on one axis only; beside other folders it counts as its runs.

    Raises:
        ConfigurationError: one of them holds no run.
    """
    several = [folders] if isinstance(folders, Path | str) else folders
    runs, left_out = read_runs(several)
    together = len(several) == 1 and runs[0].folder != Path(several[0])
    groups = group_runs(runs, _series if together else None)
    pairs = [pair(one, other) for one, other in combinations(groups, 2) if not together or _one_apart(one, other)]
    return Comparison(tuple(map(report_run, runs)), groups, tuple(pairs), brief=together, left_out=tuple(left_out))


def _series(run: Run) -> str:
    return run.folder.name.removesuffix(f"-s{run.settings['seed']}")


def _one_apart(one: RunGroup, other: RunGroup) -> bool:
    """Return whether two groups differ on one axis of their experiment; also true if one is of none."""
    axes, others = (each.runs[0].info.get("axes") for each in (one, other))
    return not (axes and others) or sum(value != others.get(name) for name, value in axes.items()) == 1
