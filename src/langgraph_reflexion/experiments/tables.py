"""Series of runs as tables: their curves, failures, verdicts and costs, side by side."""

from collections.abc import Callable, Sequence
from typing import Any

from langgraph_reflexion.experiments.grid import Cell, Grid, Share
from langgraph_reflexion.experiments.metrics import rates
from langgraph_reflexion.experiments.pairing import Match, Pair
from langgraph_reflexion.experiments.report import RunReport
from langgraph_reflexion.experiments.series import Series, caption
from langgraph_reflexion.experiments.spread import spreads
from langgraph_reflexion.experiments.statistics import Interval

VERDICTS = ("true_positive", "false_positive", "true_negative", "false_negative")


def series_grids(series: Sequence[Series]) -> list[Grid]:
    """The tables of one series or several; those that would be empty are left out."""
    reports = [each.report for each in series]
    grids = [_curves(series)]
    if any(report.measures for report in reports):
        grids.append(_measures(series))
    if any(any(report.failures) for report in reports):
        grids.append(_failures(series))
    if judged := [each for each in series if each.report.verdicts]:
        grids.append(_verdicts(judged))
    grids.append(_costs(series))
    if any(report.notes for report in reports):
        grids.append(_notes(series))
    return grids


def overview_grid(series: Sequence[Series]) -> Grid:
    """One row for each series: its curve from the first trial to the last, and how far its seeds are apart."""
    head = ("", "n", "first", "last", "range", "seeds", "tasks", "tokens")
    title = (
        "% of n tasks solved by the first and the last trial, mean ± standard deviation over seeds; their range; "
        "95 % intervals over seeds (Student) and over tasks (Wilson); tokens per solved task"
    )
    return Grid(title, head, [_overview(each) for each in series], caption(series))


def _overview(series: Series) -> list[Cell]:
    by_trial = spreads(series.runs)
    row: list[Cell] = [series.label, str(series.report.tasks)]
    if not by_trial:
        return [*row, *[""] * 6]
    first, last = by_trial[0], by_trial[-1]
    spent = series.report.per_solved
    return [
        *row,
        first.text,
        last.text,
        _within((min(last.shares), max(last.shares)) if len(last.shares) > 1 else None),
        _within(last.interval),
        _within(series.intervals()[len(by_trial) - 1]),
        f"{spent['tokens']:,.0f}" if spent else "",
    ]


def _within(interval: tuple[float, float] | None) -> str:
    return f"{100 * interval[0]:.0f}-{100 * interval[1]:.0f}" if interval else ""


def pair_grid(pairs: Sequence[Pair], told: str) -> Grid:
    """Every two series at equal trials and at equal tokens.

    Args:
        pairs: The pairs.
        told: The caption.
    """
    tested = any(match.test.p is not None for pair in pairs for match in pair.matches)
    rows = [_match(pair, match, tested=tested) for pair in pairs for match in pair.matches]
    head = ("", "at equal", "solved", "of", "solved alone", *["p"] * tested)
    return Grid("Task by task: two strategies at equal trials, and at equal tokens", head, rows, told)


def _match(pair: Pair, match: Match, *, tested: bool) -> list[Cell]:
    return [
        f"{pair.one.name} and {pair.other.name}",
        f"{match.amount:,} {match.equal}",
        f"{match.solved[0]} and {match.solved[1]}",
        str(match.of),
        f"{match.test.wins} and {match.test.losses}",
        *[_chance(match.test.p)] * tested,
    ]


def _chance(p: float | None) -> str:
    return "" if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"


def _grid(title: str, series: Sequence[Series], rows: Sequence[Sequence[Cell]], first: str = "") -> Grid:
    return Grid(title, [first, *(each.label for each in series)], rows, caption(series))


def _curves(series: Sequence[Series]) -> Grid:
    intervals = [each.intervals() for each in series]
    rows: list[list[Cell]] = []
    for trial in range(max(len(each.report.solved) for each in series)):
        cells = [
            _share(each.report, trial, within[trial]) if trial < len(within) else ""
            for each, within in zip(series, intervals, strict=True)
        ]
        rows.append([str(trial + 1), *cells])
    certain = ", with 95 % intervals" if any(within and within[0] for within in intervals) else ""
    return _grid(f"Tasks solved by trial{certain}", series, rows, "trial")


def _share(report: RunReport, trial: int, within: Interval | None) -> Share:
    solved = report.solved[trial]
    text = f"{solved:>3} {report.share(solved):>5.0%}"
    if within:
        text += f" {f'{100 * within.low:.0f}-{100 * within.high:.0f}':>6}"
    return Share(report.share(solved), text)


def _measures(series: Sequence[Series]) -> Grid:
    rows: list[list[Cell]] = []
    for name in dict.fromkeys(name for each in series for name in each.report.measures):
        means = [each.report.measures.get(name) for each in series]
        rows.append([name.replace("_", " "), *(f"{each[0]:.3f} → {each[-1]:.3f}" if each else "" for each in means)])
    return _grid("Means over all tasks, first and last trial", series, rows, "measure")


def _failures(series: Sequence[Series]) -> Grid:
    trials = max(len(each.report.failures) for each in series)
    rows: list[list[Cell]] = []
    for each in series:
        for reason in sorted({reason for counts in each.report.failures for reason in counts}):
            name = f"{each.name} {reason}" if len(series) > 1 else reason
            counts = [str(counts.get(reason, "")) for counts in each.report.failures]
            rows.append([name, *counts, *[""] * (trials - len(counts))])
    # Twelve trials of hundreds of tasks must fit into a terminal of 80 columns.
    head = ["trial", *(str(trial) for trial in range(1, trials + 1))]
    return Grid("Failed trials by reason", head, rows, caption(series), dense=True)


def _verdicts(judged: Sequence[Series]) -> Grid:
    none = dict.fromkeys(VERDICTS, 0)
    answers = [each.report.answers or none for each in judged]
    trials = [each.report.verdicts or none for each in judged]
    rows: list[list[Cell]] = []
    for title, counts in (("", answers), ("all trials", trials)):
        rows += [[title]] if title else []
        rows += [
            [name.replace("_", " "), *(f"{each[name]} {_rate(rates(each)[name]):>4}" for each in counts)]
            for name in VERDICTS
        ]
    return _grid("Verdict against truth, and shares of what got the same verdict", judged, rows, "answers returned")


def _rate(rate: float | None) -> str:
    return "" if rate is None else f"{rate:.0%}"


def _costs(series: Sequence[Series]) -> Grid:
    def per_solved(name: str) -> Callable[[RunReport], float | None]:
        return lambda report: None if report.per_solved is None else report.per_solved[name]

    amounts: dict[str, tuple[Callable[[RunReport], Any], str]] = {
        "model calls": (lambda report: report.llm_calls, ",d"),
        "calls out of the cache": (lambda report: report.cached_calls, ",d"),
        "input tokens": (lambda report: report.input_tokens, ",d"),
        "output tokens": (lambda report: report.output_tokens, ",d"),
        "cost": (lambda report: report.cost, ",.4f"),
        "seconds in trials": (lambda report: report.seconds, ",.1f"),
        "tokens per solved task": (per_solved("tokens"), ",.0f"),
        "cost per solved task": (per_solved("cost"), ",.4f"),
        "seconds per solved task": (per_solved("seconds"), ",.2f"),
        "faults": (lambda report: report.faults, ",d"),
        "tasks ended by an error": (lambda report: len(report.errors), ",d"),
    }
    rows: list[list[Cell]] = []
    for name, (amount, form) in amounts.items():
        told = [amount(each.report) for each in series]
        if any(told) or name in ("model calls", "input tokens", "output tokens", "faults"):
            rows.append([name, *("" if each is None else format(each, form) for each in told)])
    return _grid("Cost", series, rows)


def _notes(series: Sequence[Series]) -> Grid:
    rows: list[list[Cell]] = [
        [note, *(str(each.report.notes.get(note, 0)) for each in series)]
        for note in dict.fromkeys(note for each in series for note in each.report.notes)
    ]
    return _grid("Trials with a note", series, rows)
