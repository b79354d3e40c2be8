"""The tables of a comparison: of each group's numbers, of all groups at a glance, and of every two groups."""

from collections.abc import Sequence

from langgraph_reflexion.lab.experiments.groups import RunGroup, caption
from langgraph_reflexion.lab.experiments.metrics import confusion_rates
from langgraph_reflexion.lab.experiments.pairing import Match, Pair
from langgraph_reflexion.lab.experiments.report import COSTS
from langgraph_reflexion.lab.experiments.statistics import format_n, format_p
from langgraph_reflexion.lab.experiments.tables import Cell, PercentCell, Table
from langgraph_reflexion.models.recorded import all_tokens

Rows = list[list[Cell]]

VERDICTS = ("true_positive", "false_positive", "true_negative", "false_negative")
"""The kinds of verdicts, compared with the truth, by their names in a report."""

SIGNS = {
    "repeated": "repeated reflections",
    "grounded": "grounded reflections",
    "asked_again": "asked for once more",
    "same_answer": "answers handed in again",
    "sampled_again": "answers sampled again",
}
"""The signs of `Diagnostics`, in words."""


def group_tables(groups: Sequence[RunGroup]) -> list[Table]:
    """Return the tables of one group or several, without empty ones."""
    tables: list[Table] = []
    title = "Tasks solved by trial, with 95% intervals"
    tables.append(_table(title, groups, _curves(groups), "trial"))
    judging = [each for each in groups if each.report.accepted]
    if judging:
        title = "Tasks that the verdict calls solved, by trial"
        tables.append(_table(title, judging, _accepted(judging), "trial"))
    title = "Means over all tasks, first and last trial"
    tables.append(_table(title, groups, _measures(groups), "measure"))
    tables.append(_failures(groups))
    judged = [each for each in groups if each.report.verdicts]
    if judged:
        title = "Verdict against truth, and share of the same verdict"
        tables.append(_table(title, judged, _verdicts(judged), "answers returned"))
    tables.append(_table("Cost", groups, _costs(groups)))
    tables.append(_models(groups))
    tables.append(_table("Trials with a note", groups, _notes(groups)))
    return [table for table in tables if table.rows]


def overview_table(groups: Sequence[RunGroup]) -> Table:
    """Return a row for each group: its first and last trial, and how much its seeds differ."""
    head = ("", "n", "first", "last", "range", "interval", "tokens")
    title = (
        "% of n tasks solved by the first and the last trial, mean ± standard deviation over seeds; their range; "
        "95% interval over tasks (Wilson); tokens per solved task"
    )
    rows = [_overview(each) for each in groups]
    return Table(title, head, rows, caption(groups))


def pair_table(pairs: Sequence[Pair], settings: str) -> Table:
    """Return a table of every two groups at equal trials and at equal tokens, with the settings as its caption."""
    rows: Rows = []
    for each in pairs:
        for match in each.matches:
            rows.append(_match(each, match))
    head = ("", "at equal", "solved", "of", "solved alone", "p")
    title = "Task by task: two strategies at equal trials, and at equal tokens"
    return Table(title, head, rows, settings)


def diagnostics_table(groups: Sequence[RunGroup]) -> Table:
    """Return a row for each group and each sign in its diagnostics that some trial could show."""
    rows: Rows = []
    for each in groups:
        of_group = _diagnostics(each)
        if len(groups) > 1:
            for row in of_group:
                row[0] = f"{each.name} {row[0]}"
        rows += of_group
    title = "Signs in reflections and answers, and the next trials that solved their task"
    head = ("", "share", "solved next", "otherwise")
    return Table(title, head, rows, caption(groups))


def diagnostics_left_out(group: RunGroup) -> list[str]:
    """Return which signs cannot be counted in a group, and why, in sentences."""
    said: list[str] = []
    for name, why in group.diagnostics.left_out.items():
        said.append(f"{group.name}: {SIGNS[name]} are left out: {why}.")
    return said


def _diagnostics(group: RunGroup) -> Rows:
    """Return the rows of a group's diagnostics."""
    found = group.diagnostics
    rows: Rows = []
    for name, sign in found.signs().items():
        if not sign.of:
            continue
        # Most runs keep every reflection, whatever it says.
        if name == "asked_again" and not sign.found:
            continue
        share = _share_of(sign.found, sign.of)
        after = _share_of(sign.solved_after, sign.tried_after)
        otherwise = _share_of(sign.solved_otherwise, sign.tried_otherwise)
        rows.append([SIGNS[name], share, after, otherwise])
        if name == "grounded" and found.words:
            rows.append(["specific words seen", _share_of(found.words_seen, found.words), "", ""])
    return rows


def _share_of(part: int, whole: int) -> str:
    """Return a part of a whole, and its share; empty without a whole."""
    if not whole:
        return ""
    return f"{part:,} of {whole:,} {part / whole:>4.0%}"


def _table(title: str, groups: Sequence[RunGroup], rows: Rows, first: str = "") -> Table:
    """Return a table with a column for each group."""
    head = [first]
    for each in groups:
        head.append(each.label)
    return Table(title, head, rows, caption(groups))


def _overview(group: RunGroup) -> list[Cell]:
    """Return the row of a group; without numbers if it has no trial."""
    by_trial = group.by_seed()
    tasks = format_n(group.report.tasks, group.distinct_tasks)
    if not by_trial:
        return [group.label, tasks, "", "", "", "", ""]
    first = by_trial[0]
    last = by_trial[-1]
    between_seeds = None
    if len(last.shares) > 1:
        between_seeds = (min(last.shares), max(last.shares))
    intervals = group.intervals()
    within = intervals[len(by_trial) - 1]
    tokens = group.report.costs["tokens_per_solved"]
    spent = ""
    if tokens is not None:
        spent = f"{tokens:,.0f}"
    return [
        group.label,
        tasks,
        first.text,
        last.text,
        _percents(between_seeds),
        _percents(within),
        spent,
    ]


def _percents(interval: tuple[float, float] | None) -> str:
    """Return an interval of shares in percent; empty for none."""
    if not interval:
        return ""
    low, high = interval
    return f"{100 * low:.0f}-{100 * high:.0f}"


def _match(pair: Pair, match: Match) -> list[Cell]:
    """Return the row of two groups at an equal amount."""
    first, second = match.solved
    test = match.test
    amount = f"{match.amount:,} {match.equal}"
    if match.amount == 1:
        amount = f"1 {match.equal.removesuffix('s')}"
    return [
        f"{pair.one.name} and {pair.other.name}",
        amount,
        f"{first} and {second}",
        format_n(match.of, test.tasks),
        f"{test.wins} and {test.losses}",
        format_p(test.p),
    ]


def _curves(groups: Sequence[RunGroup]) -> Rows:
    """Return a row for each trial: the tasks that each group has solved by then."""
    columns = [_curve(each) for each in groups]
    return _rows_by_trial(columns)


def _rows_by_trial(columns: Sequence[Sequence[Cell]]) -> Rows:
    """Return a row for each trial of the columns, of which one may have more than another."""
    trials = max(map(len, columns))
    rows: Rows = []
    for trial in range(trials):
        row: list[Cell] = [str(trial + 1)]
        for column in columns:
            # Another group may have more trials.
            if trial < len(column):
                row.append(column[trial])
            else:
                row.append("")
        rows.append(row)
    return rows


def _accepted(groups: Sequence[RunGroup]) -> Rows:
    """Return a row for each trial: the tasks that each group's evaluator has accepted by then."""
    columns: list[list[Cell]] = []
    for each in groups:
        report = each.report
        column: list[Cell] = []
        for accepted in report.accepted or ():
            share = report.share(accepted)
            column.append(PercentCell(share, f"{accepted:>3} {share:>5.0%}"))
        columns.append(column)
    return _rows_by_trial(columns)


def _curve(group: RunGroup) -> list[Cell]:
    """Return a group's cell for each trial: tasks solved, their share, and its interval."""
    report = group.report
    cells: list[Cell] = []
    for solved, within in zip(report.solved, group.intervals(), strict=True):
        share = report.share(solved)
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


def _models(groups: Sequence[RunGroup]) -> Table:
    """Return a table of what each model was asked, with a row for each group and model."""
    rows: Rows = []
    for each in groups:
        for model, usage in each.report.models.items():
            name = model
            if len(groups) > 1:
                name = f"{each.name} {model}"
            # Also those out of a cache, which cost nothing.
            calls = f"{usage['llm_calls'] + usage['cached_calls']:,d}"
            rows.append([name, calls, f"{all_tokens(usage):,d}", f"{usage['cost']:,.4f}"])
    return Table("By model", ["", "calls", "tokens", "cost"], rows, caption(groups))


def _failures(groups: Sequence[RunGroup]) -> Table:
    """Return a table of failed trials with a row for each group and reason, and a column for each trial."""
    trials = max(len(each.report.failures) for each in groups)
    rows: Rows = []
    for each in groups:
        failures = each.report.failures
        reasons: set[str] = set()
        for failed in failures:
            reasons.update(failed)
        for reason in sorted(reasons):
            row: list[Cell] = [reason]
            if len(groups) > 1:
                row = [f"{each.name} {reason}"]
            for failed in failures:
                row.append(str(failed.get(reason, "")))
            # Another group may have more trials.
            row += [""] * (trials - len(failures))
            rows.append(row)
    head = ["trial"]
    head += map(str, range(1, trials + 1))
    # Twelve trials of hundreds of tasks must fit into a terminal of 80 columns.
    return Table("Failed trials by reason", head, rows, caption(groups), dense=True)


def _verdicts(judged: Sequence[RunGroup]) -> Rows:
    """Return how verdicts compare with the truth, first over the answers returned, then over all trials."""
    none = dict.fromkeys(VERDICTS, 0)
    of_answers = [each.report.answers or none for each in judged]
    of_trials = [each.report.verdicts or none for each in judged]
    rows = _confusions(of_answers)
    rows.append(["all trials"])
    rows += _confusions(of_trials)
    unverified = [each.report.unverified for each in judged]
    if any(unverified):
        row: list[Cell] = ["unverified"]
        row += map(str, unverified)
        rows.append(row)
    return rows


def _confusions(counted: Sequence[dict[str, int]]) -> Rows:
    """Return a row for each kind of verdict: its number, and its share of the same verdict, for each group."""
    rows: Rows = []
    for name in VERDICTS:
        row: list[Cell] = [name.replace("_", " ")]
        for counts in counted:
            share = ""
            rate = confusion_rates(counts)[name]
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
        row: list[Cell] = [note]
        for each in groups:
            trials = each.report.notes.get(note, 0)
            row.append(str(trials))
        rows.append(row)
    return rows
