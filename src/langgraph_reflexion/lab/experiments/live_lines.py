"""Lines of a live display: a headline that fits a narrow terminal, and a row for each task in flight."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.text import Text

from langgraph_reflexion.support.text import printable

GIVES_WAY = ("bar", "elapsed", "actions", "tokens", "cost", "left", "errors", "solved")
"""The parts of a headline that a narrow terminal leaves out, in this order."""

BAR = 10
"""Characters of a bar."""
LONGEST_ACTION = 300
"""Characters of an action that are looked at: an action may be a whole file."""


@dataclass
class InFlight:
    """A task that is being worked on."""

    task: str
    trial: int
    step: int = 0
    """The number of its last action; 0 before the first one is known."""
    action: str = ""
    """Its last action."""
    verdict: str = ""
    """The verdict on the trial before, in words."""
    waits: bool = False
    """Whether its next trial has not begun."""


def headline(parts: Mapping[str, Text], width: int) -> Text:
    """Return parts in one line of at most N columns; see `GIVES_WAY`. Other parts stay."""
    kept = dict(parts)
    line = _joined(kept)
    for name in GIVES_WAY:
        if line.cell_len <= width:
            break
        kept.pop(name, None)
        line = _joined(kept)
    return cut(line, width)


def _joined(parts: Mapping[str, Text]) -> Text:
    return Text(" · ").join(parts.values())


def bar(done: int, total: int) -> Text:
    """Return a bar, whose parts also differ without colours."""
    filled = BAR
    if total:
        filled = BAR * done // total
    return Text.assemble(("━" * filled, "bar.complete"), ("─" * (BAR - filled), "bar.back"))


def rows(tasks: Sequence[InFlight], trials: int, most: int, width: int) -> list[Text]:
    """Return a row for each task, or for the first ones and how many more there are.

    Args:
        tasks: The tasks in flight.
        trials: The number of trials that each task has.
        most: The number of rows that fit.
        width: The columns of a row.
    """
    if most < 1:
        return []
    shown = tasks
    if len(tasks) > most:
        shown = tasks[: most - 1]
    lines = [_row(task, trials, width) for task in shown]
    more = len(tasks) - len(shown)
    if more:
        lines.append(Text(f"and {more} more", "dim"))
    return lines


def _row(task: InFlight, trials: int, width: int) -> Text:
    """Return the row of a task. Its columns have the same widths in every row, and do not jump."""
    of_trial = len(f"trial {trials} of {trials}")
    between = "  "
    rest = max(0, width - of_trial - 3 * len(between))
    of_verdict = min(rest * 3 // 8, len("failed: inefficient planning"))
    of_task = (rest - of_verdict) * 2 // 5
    of_action = rest - of_verdict - of_task
    done = ""
    if task.step:
        done = f"{task.step} > {_in_one_line(task.action)}"
    cells = [
        _cell(_end(_in_one_line(task.task), of_task), of_task),
        _cell(f"trial {task.trial} of {trials}", of_trial),
        _cell(done, of_action),
        _cell(_in_one_line(task.verdict), of_verdict),
    ]
    return cut(Text(between).join(cells), width)


def _in_one_line(text: str) -> str:
    return printable(" ".join(text[:LONGEST_ACTION].split()))


def _end(text: str, width: int) -> str:
    """Return the end of a text in at most N columns: the ids of a run's tasks tend to begin alike."""
    if cell_len(text) <= width:
        return text
    end = text[-width:]
    while end and cell_len(end) >= width:
        end = end[1:]
    return f"…{end}"


def _cell(text: str, width: int) -> Text:
    cell = Text(text)
    cell.truncate(width, overflow="ellipsis", pad=True)
    return cell


def cut(line: Text, width: int) -> Text:
    """Return a line in at most N columns, which no terminal breaks."""
    line.truncate(width, overflow="ellipsis")
    line.no_wrap = True
    return line
