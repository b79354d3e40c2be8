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
from langgraph_reflexion.lab.experiments.statistics import format_p
from langgraph_reflexion.lab.experiments.tables import Cell, PercentCell, Table
from langgraph_reflexion.support.text import count, printable

Rows = list[list[Cell]]

VERDICTS = ("true_positive", "false_positive", "true_negative", "false_negative")
"""The kinds of verdicts, compared with the truth, by their names in a report."""


def task_lines(run: Run, width: int) -> list[Text]:
    """Return a line for each task of a run, cut to a width: its number, outcome and instruction."""
    outcomes = [_outcome(run, task) for task in run.tasks]
    digits = len(str(len(outcomes)))
    longest = max((len(words) for words, _ in outcomes), default=0)
    room = max(width - digits - longest - 4, 20)
    lines = []
    for number, (task, (words, style)) in enumerate(zip(run.tasks, outcomes, strict=True), 1):
        goal = run.goals.get(task) or task
        goal = printable(" ".join(goal.split()))
        if len(goal) > room:
            goal = f"{goal[: room - 1]}…"
        line = Text(f"{number:>{digits}}  ", "dim")
        line.append(words.ljust(longest + 2), style)
        line.append(goal, "default")
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
    limit = run.settings["max_trials"]
    if last["fault"]:
        return f"fault in trial {last['trial']}", "yellow"
    if last["verdict"]:
        if final_answer(rows)["success"] is False:
            return f"accepted in trial {last['trial']}, but wrong", "red"
        return f"solved in trial {last['trial']}", "green"
    if last["trial"] >= limit:
        return f"not solved in {count(limit, 'trial')}", "red"
    if run.stopped_after is not None:
        return f"not solved by trial {last['trial']}, after which none was tried again", "red"
    return f"unfinished after trial {last['trial']}", "yellow"


def group_tables(groups: Sequence[RunGroup]) -> list[Table]:
    """Return the tables of one group or several, without empty ones."""
    tables = [
        _table("Tasks solved by trial, with 95% intervals", groups, _curves(groups), "trial"),
        _table("Means over all tasks, first and last trial", groups, _measures(groups), "measure"),
        _failures(groups),
    ]
    judged = [each for each in groups if each.report.verdicts]
    if judged:
        title = "Verdict against truth, and share of the same verdict"
        tables.append(_table(title, judged, _verdicts(judged), "answers returned"))
    tables.append(_table("Cost", groups, _costs(groups)))
    tables.append(_table("Trials with a note", groups, _notes(groups)))
    return [table for table in tables if table.rows]


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
    rows: Rows = []
    for each in pairs:
        rows += [_match(each, match) for match in each.matches]
    head = ("", "at equal", "solved", "of", "solved alone", "p")
    return Table("Task by task: two strategies at equal trials, and at equal tokens", head, rows, settings)


def _table(title: str, groups: Sequence[RunGroup], rows: Rows, first: str = "") -> Table:
    """Return a table with a column for each group."""
    labels = [each.label for each in groups]
    return Table(title, [first, *labels], rows, caption(groups))


def _overview(group: RunGroup) -> list[Cell]:
    """Return the row of a group; without numbers if it has no trial."""
    by_trial = group.by_seed()
    tasks = str(group.report.tasks)
    if not by_trial:
        return [group.label, tasks, "", "", "", "", ""]
    first = by_trial[0]
    last = by_trial[-1]
    seeds = None
    if len(last.shares) > 1:
        seeds = (min(last.shares), max(last.shares))
    within = group.intervals()[len(by_trial) - 1]
    tokens = group.report.costs["tokens_per_solved"]
    spent = ""
    if tokens is not None:
        spent = f"{tokens:,.0f}"
    return [group.label, tasks, first.text, last.text, _percents(seeds), _percents(within), spent]


def _percents(interval: tuple[float, float] | None) -> str:
    """Return an interval of shares in percent; empty for none."""
    if not interval:
        return ""
    low, high = interval
    return f"{100 * low:.0f}-{100 * high:.0f}"


def _match(pair: Pair, match: Match) -> list[Cell]:
    """Return the row of two groups at an equal amount."""
    return [
        f"{pair.one.name} and {pair.other.name}",
        f"{match.amount:,} {match.equal}",
        f"{match.solved[0]} and {match.solved[1]}",
        str(match.of),
        f"{match.test.wins} and {match.test.losses}",
        format_p(match.test.p),
    ]


def _curves(groups: Sequence[RunGroup]) -> Rows:
    """Return a row for each trial: the tasks that each group has solved by then."""
    columns = [_curve(each) for each in groups]
    trials = max(map(len, columns))
    rows: Rows = []
    for trial in range(trials):
        row: list[Cell] = [str(trial + 1)]
        for column in columns:
            # Another group may have more trials.
            row += column[trial : trial + 1] or [""]
        rows.append(row)
    return rows


def _curve(group: RunGroup) -> list[Cell]:
    """Return a group's cell for each trial: tasks solved, their share, and its interval."""
    cells: list[Cell] = []
    for solved, within in zip(group.report.solved, group.intervals(), strict=True):
        share = group.report.share(solved)
        text = f"{solved:>3} {share:>5.0%}"
        if within:
            text += f" {_percents(within):>6}"
        cells.append(PercentCell(share, text))
    return cells


def _measures(groups: Sequence[RunGroup]) -> Rows:
    """Return a row for each measure that an environment of the groups has."""
    names: dict[str, None] = {}
    for each in groups:
        names.update(dict.fromkeys(each.report.measures))
    rows: Rows = []
    for name in names:
        row: list[Cell] = [name.replace("_", " ")]
        for each in groups:
            means = each.report.measures.get(name)
            if means:
                row.append(f"{means[0]:.3f} → {means[-1]:.3f}")
            else:
                row.append("")
        rows.append(row)
    return rows


def _failures(groups: Sequence[RunGroup]) -> Table:
    """Return a table of failed trials with a row for each group and reason, and a column for each trial."""
    trials = max(len(each.report.failures) for each in groups)
    rows: Rows = []
    for each in groups:
        failures = each.report.failures
        for reason in sorted(set().union(*failures)):
            name = reason
            if len(groups) > 1:
                name = f"{each.name} {reason}"
            counts: list[Cell] = [str(failed.get(reason, "")) for failed in failures]
            counts += [""] * (trials - len(counts))
            rows.append([name, *counts])
    # Twelve trials of hundreds of tasks must fit into a terminal of 80 columns.
    head = ["trial", *map(str, range(1, trials + 1))]
    return Table("Failed trials by reason", head, rows, caption(groups), dense=True)


def _verdicts(judged: Sequence[RunGroup]) -> Rows:
    """Return how verdicts compare with the truth, first over the answers returned, then over all trials."""
    of_answers = [each.report.answers or dict.fromkeys(VERDICTS, 0) for each in judged]
    of_trials = [each.report.verdicts or {} for each in judged]
    rows = _confusions(of_answers)
    rows.append(["all trials"])
    rows += _confusions(of_trials)
    unverified = [each.report.unverified for each in judged]
    if any(unverified):
        rows.append(["unverified", *map(str, unverified)])
    return rows


def _confusions(counted: Sequence[dict[str, int]]) -> Rows:
    """Return a row for each kind of verdict: its number, and its share of the same verdict, for each group."""
    rates = [confusion_rates(counts) for counts in counted]
    rows: Rows = []
    for name in VERDICTS:
        row: list[Cell] = [name.replace("_", " ")]
        for counts, rates_of_group in zip(counted, rates, strict=True):
            rate = rates_of_group[name]
            share = ""
            if rate is not None:
                share = f"{rate:.0%}"
            row.append(f"{counts[name]} {share:>4}")
        rows.append(row)
    return rows


def _costs(groups: Sequence[RunGroup]) -> Rows:
    """Return a row for each kind of cost that some group has, or that is always named."""
    rows: Rows = []
    for name, metric in COSTS.items():
        values = [each.report.costs[name] for each in groups]
        if not any(values) and not metric.always:
            continue
        row: list[Cell] = [metric.label]
        for value in values:
            if value is None:
                row.append("")
            else:
                row.append(format(value, metric.format))
        rows.append(row)
    return rows


def _notes(groups: Sequence[RunGroup]) -> Rows:
    """Return a row for each note: the number of trials that have it, for each group."""
    notes: dict[str, None] = {}
    for each in groups:
        notes.update(dict.fromkeys(each.report.notes))
    rows: Rows = []
    for note in notes:
        counts = [str(each.report.notes.get(note, 0)) for each in groups]
        rows.append([note, *counts])
    return rows


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
        pairs = []
        if any(each.matches for each in self.pairs):
            pairs.append(pair_table(self.pairs, self.caption))
        if self.brief:
            return [overview_table(self.groups), *pairs]
        first, *others = group_tables(self.groups)
        overview = []
        if any(len(each.runs) > 1 for each in self.groups):
            overview.append(overview_table(self.groups))
        return [first, *overview, *pairs, *others]

    def bare_tables(self) -> list[Table]:
        """Return the tables without captions, for a page that says once what they share."""
        return [replace(table, caption="") for table in self.tables()]

    def sentences(self) -> list[str]:
        """Return the conclusions, what could not be compared, and what is missing, in words."""
        said = [printable(why) for why in self.left_out]
        self._add_conclusions(said)
        for group in self.groups:
            if group.unknown:
                tasks = count(group.report.tasks, "task")
                said.append(
                    f"{group.name}: ground truth unknown for {group.unknown} of {tasks}; counted as unsolved."
                )
        for run in self.runs:
            if run.errors:
                tasks = count(len(run.errors), "task")
                example = printable(next(iter(run.errors.values())))
                where = run.folder / ERRORS
                said.append(f"{run.folder}: {tasks} ended by an error, such as {example} (tracebacks in {where})")
        compared = [pair for pair in self.pairs if pair.matches]
        if len(compared) > 1:
            said.append("The p-values are not corrected for multiple comparisons: of many, some are small by chance.")
        return said

    def _add_conclusions(self, said: list[str]) -> None:
        """Add the conclusion on every two groups, and each note on them once."""
        for each in self.pairs:
            whom = ""
            if len(self.pairs) > 1:
                whom = f"{each.one.name} and {each.other.name}: "
            if each.conclusion:
                said.append(f"{whom}{each.conclusion}")
            new = [note for note in each.notes if note not in said]
            said += new

    def print(self, console: Console | None = None) -> None:
        """Print the settings of each group, the tables, and the conclusions; to the terminal by default."""
        console = console or Console()
        for each in self.groups:
            folders = printable("  ".join(str(run.folder) for run in each.runs))
            console.print(Text(each.label, "bold").append(f"  {folders}", "dim"), soft_wrap=True)
            for line in in_lines(self._heading(each), console.width - 2):
                console.print(Padding(Text(line), (0, 0, 0, 2), expand=False))
        if self.brief:
            shared = printable(self.caption).split(BETWEEN)
            for line in in_lines(shared, console.width):
                console.print(Text(line, "dim"))
        for table in self.bare_tables():
            table.print(console)
        for sentence in self.sentences():
            console.print(Text(sentence))

    def _heading(self, group: RunGroup) -> list[str]:
        """Return what is said of a group above the tables, in parts."""
        report = group.report
        facts = group.facts
        parts = [f"{facts['tasks']}, {count(report.tasks, 'task')}"]
        if not self.brief:
            parts += [fact for name, fact in facts.items() if name != "tasks"]
        if report.ungradable:
            parts.append(f"{report.ungradable} not gradable here, and not counted")
        if report.stopped:
            parts.append(f"{report.stopped} not tried again after a trial that solved nothing new")
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
        sentences = [Markup("<p>{}</p>").format(sentence) for sentence in self.sentences()]
        figure = draw(self.groups, captions=False).get("success_by_trial", "")
        svg = Markup(figure[figure.find("<svg") :])
        settings = Markup('<p class="facts">{}</p>').format(printable(self.caption))
        tables = [table.html() for table in self.bare_tables()]
        return framed(*sentences, settings, svg, *tables)


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
    pairs = []
    for one, other in combinations(groups, 2):
        # Of an experiment, groups that differ on several axes say nothing about either.
        if not together or _one_apart(one, other):
            pairs.append(pair(one, other))
    reports = tuple(report_run(run) for run in runs)
    return Comparison(reports, groups, tuple(pairs), brief=together, left_out=tuple(left_out))


def _series(run: Run) -> str:
    """Return the name of a run of an experiment without its seed."""
    return run.folder.name.removesuffix(f"-s{run.settings['seed']}")


def _one_apart(one: RunGroup, other: RunGroup) -> bool:
    """Return whether two groups differ on one axis of their experiment; also true if one is of none."""
    axes = one.runs[0].info.get("axes")
    others = other.runs[0].info.get("axes")
    if not axes or not others:
        return True
    differing = [name for name, value in axes.items() if value != others.get(name)]
    return len(differing) == 1
