"""Tables of groups of runs: curves, failures, verdicts and costs side by side, and pairs of groups."""

from collections.abc import Sequence

from rich.text import Text

from langgraph_reflexion.experiments.groups import RunGroup, caption
from langgraph_reflexion.experiments.metrics import confusion_rates, final_answer
from langgraph_reflexion.experiments.pairing import Match, Pair
from langgraph_reflexion.experiments.record import Run
from langgraph_reflexion.experiments.report import COSTS
from langgraph_reflexion.experiments.rows import TrialRow
from langgraph_reflexion.experiments.statistics import format_p
from langgraph_reflexion.experiments.tables import Cell, PercentCell, Table
from langgraph_reflexion.printable import printable

Rows = list[list[Cell]]


def task_lines(run: Run, width: int) -> list[Text]:
    """Return a line for each task of a run, cut to a width: its number, outcome and instruction."""
    limit, rows = run.settings["max_trials"], {task: list[TrialRow]() for task in run.info["tasks"]}
    for row in run.trials:
        rows[row["task_id"]].append(row)
    outcomes = [_outcome(each, limit, run.errors.get(task)) for task, each in rows.items()]
    digits, longest = len(str(len(rows))), max((len(words) for words, _ in outcomes), default=0)
    lines = []
    for number, (task, (words, style)) in enumerate(zip(rows, outcomes, strict=True), 1):
        goal = printable(" ".join((run.goals.get(task) or task).split()))
        room = max(width - digits - longest - 4, 20)
        goal = goal if len(goal) <= room else f"{goal[: room - 1]}…"
        lines.append(
            Text(f"{number:>{digits}}  ", "dim").append(words.ljust(longest + 2), style).append(goal, "default")
        )
    return lines


def _outcome(rows: Sequence[TrialRow], limit: int, error: str | None) -> tuple[str, str]:
    """Return a task's outcome in words, and the color of it."""
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
    return f"unfinished after trial {last['trial']}", "yellow"


def group_tables(groups: Sequence[RunGroup]) -> list[Table]:
    """Return the tables of one group or several, without empty ones."""
    judged = [each for each in groups if each.report.verdicts]
    tables = [
        _table("Tasks solved by trial, with 95 % intervals", groups, _curves(groups), "trial"),
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
        "95 % interval over tasks (Wilson); tokens per solved task"
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
