"""Run reports as tables in the terminal."""

from collections.abc import Callable, Sequence
from string import ascii_uppercase

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from langgraph_reflexion.bench.report import RunReport
from langgraph_reflexion.models.load import DEMO

BAR = 24
"""The longest bar, in characters."""


def print_reports(console: Console, reports: Sequence[RunReport]) -> None:
    """Print runs side by side: what they are, their curves, their failures, their costs."""
    labels = _labels(reports)
    for label, report in zip(labels, reports, strict=True):
        _print_setting(console, label, report)
    console.print(_curves(labels, reports, console.width))
    if any(report.measures for report in reports):
        console.print(_measures(labels, reports))
    if any(any(report.failures) for report in reports):
        console.print(_failures(labels, reports))
    judged = {label: report.verdicts for label, report in zip(labels, reports, strict=True) if report.verdicts}
    if judged:
        console.print(_verdicts(judged))
    console.print(_costs(labels, reports))
    if any(report.notes for report in reports):
        console.print(_notes(labels, reports))


def _labels(reports: Sequence[RunReport]) -> list[str]:
    strategies = [str(report.settings["strategy"]) for report in reports]
    if len(reports) == 1:
        return strategies
    # After Z the letters are doubled, so that any number of runs has names.
    letters = [ascii_uppercase[i % 26] * (i // 26 + 1) for i in range(len(reports))]
    return [f"{letter} {strategy}" for letter, strategy in zip(letters, strategies, strict=True)]


def _print_setting(console: Console, label: str, report: RunReport) -> None:
    settings = report.settings
    options = "".join(f" {key}={value}" for key, value in settings["options"].items())
    parts = [
        f"{settings['environment']} {settings['split']}{options}, {report.tasks} task{'s' * (report.tasks != 1)}",
        _model(settings["model"]),
        f"agent {settings.get('agent', 'react')}",
        f"profile {settings['profile']}",
        "oracle" if settings["oracle"] else f"verdicts by {settings['evaluator']}, no oracle",
        f"seed {settings['seed']}",
    ]
    if settings["reflection_model"]:
        parts.insert(2, f"reflections by {_model(settings['reflection_model'])}")
    if report.unfinished:
        parts.append(f"{report.unfinished} unfinished")
    console.print(Text(label, "bold").append(f"  {report.folder}", "dim"), soft_wrap=True)
    console.print(Text("  " + " · ".join(parts)))


def _model(name: str) -> str:
    return "demo model, not an LLM" if name == DEMO else name


def _table(title: str, labels: Sequence[str], rows: str = "", pad: int = 1) -> Table:
    table = Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, pad),
    )
    table.add_column(rows)
    for label in labels:
        table.add_column(label, justify="right")
    return table


def _curves(labels: Sequence[str], reports: Sequence[RunReport], width: int) -> Table:
    table = _table("Tasks solved by trial", labels, "trial")
    bar = max(0, min(BAR, (width - 8) // len(reports) - 14))
    for trial in range(max((len(report.solved) for report in reports), default=0)):
        cells = [
            _share(report.solved[trial], report.tasks, bar) if trial < len(report.solved) else Text()
            for report in reports
        ]
        table.add_row(str(trial + 1), *cells)
    return table


def _share(solved: int, tasks: int, bar: int) -> Text:
    filled = round(bar * solved / tasks)
    cell = Text("━" * filled, "green").append("·" * (bar - filled), "dim")
    return cell.append(f" {solved:>3} {solved / tasks:>5.0%}", "default")


def _measures(labels: Sequence[str], reports: Sequence[RunReport]) -> Table:
    table = _table("Means over all tasks, first and last trial", labels, "measure")
    for name in dict.fromkeys(name for report in reports for name in report.measures):
        means = [report.measures.get(name) for report in reports]
        table.add_row(name.replace("_", " "), *(f"{each[0]:.3f} → {each[-1]:.3f}" if each else "" for each in means))
    return table


def _failures(labels: Sequence[str], reports: Sequence[RunReport]) -> Table:
    trials = max(len(report.failures) for report in reports)
    # Twelve trials of hundreds of tasks must fit into a terminal of 80 columns.
    table = _table("Failed trials by reason", [str(trial) for trial in range(1, trials + 1)], "trial", pad=0)
    for label, report in zip(labels, reports, strict=True):
        for reason in sorted({reason for counts in report.failures for reason in counts}):
            name = f"{label.split()[0]} {reason}" if len(reports) > 1 else reason
            table.add_row(name, *(str(counts.get(reason, "")) for counts in report.failures))
    return table


def _verdicts(judged: dict[str, dict[str, int]]) -> Table:
    table = _table("Verdict against truth", list(judged), "trials")
    for name in ("true_positive", "false_positive", "true_negative", "false_negative"):
        table.add_row(name.replace("_", " "), *(str(counts[name]) for counts in judged.values()))
    return table


def _costs(labels: Sequence[str], reports: Sequence[RunReport]) -> Table:
    table = _table("Cost", labels)
    rows: dict[str, Callable[[RunReport], float]] = {
        "model calls": lambda report: report.llm_calls,
        "calls out of the cache": lambda report: report.cached_calls,
        "input tokens": lambda report: report.input_tokens,
        "output tokens": lambda report: report.output_tokens,
        "cost": lambda report: report.cost,
        "faults": lambda report: report.faults,
    }
    for name, count in rows.items():
        counts = [count(report) for report in reports]
        if any(counts) or name not in ("calls out of the cache", "cost"):
            table.add_row(name, *(f"{each:,.4f}" if name == "cost" else f"{each:,}" for each in counts))
    return table


def _notes(labels: Sequence[str], reports: Sequence[RunReport]) -> Table:
    table = _table("Trials with a note", labels)
    for note in dict.fromkeys(note for report in reports for note in report.notes):
        table.add_row(note, *(str(report.notes.get(note, 0)) for report in reports))
    return table
