"""Tables of plain cells, rendered in a terminal and as HTML."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from markupsafe import Markup
from rich import box
from rich.console import Console
from rich.table import Table as TerminalTable
from rich.text import Text

from langgraph_reflexion.lab.experiments.html import framed
from langgraph_reflexion.support.text import printable

BAR = 24
"""Width of the longest bar, in characters."""


class PercentCell(NamedTuple):
    """A share from 0 to 1, drawn as a bar with its text behind it. It is never the first cell of a row."""

    share: float
    text: str


Cell = str | PercentCell


@dataclass(frozen=True, repr=False)
class Table:
    """A table."""

    title: str
    head: Sequence[str]
    """The names of the columns; the first one names the rows."""
    rows: Sequence[Sequence[Cell]]
    """The cells; a row of one cell is a heading within the table."""
    caption: str = ""
    """The settings behind the numbers: model, profile, oracle or not, seeds, commit."""
    dense: bool = False
    """Whether there are many narrow columns."""

    def print(self, console: Console) -> None:
        """Print the table."""
        between = 1
        if self.dense:
            between = 0
        table = TerminalTable(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, between))
        table.add_column(self.head[0], overflow="fold")
        for name in self.head[1:]:
            table.add_column(Text(name), justify="right")
        bar = self._bar(console.width)
        for row in self.rows:
            # A heading within the table.
            if len(row) == 1:
                table.add_section()
            drawn = [_drawn(cell, bar) for cell in row]
            table.add_row(*drawn)
        console.print(Text(self.title, "bold"))
        console.print(table)
        if self.caption:
            console.print(Text(printable(self.caption), "dim"))
            console.print()

    def _bar(self, width: int) -> int:
        """Return the characters of the longest bar in a terminal of this width."""
        longest = 0
        for row in self.rows:
            for cell in row:
                if isinstance(cell, PercentCell):
                    longest = max(longest, len(cell.text))
        columns = max(1, len(self.head) - 1)
        room = (width - 8) // columns - longest - 4
        return max(0, min(BAR, room))

    def __repr__(self) -> str:
        return f"<table {self.title!r}: {len(self.rows)} rows>"

    def html(self) -> Markup:
        """Return the table as HTML, every text escaped."""
        column = Markup('<th scope="col">{}</th>')
        columns = [column.format(name) for name in self.head]
        head = Markup("").join(columns)
        rows = Markup("\n").join(map(self._row, self.rows))
        caption = Markup("")
        if self.caption:
            caption = Markup('\n<p class="facts">{}</p>').format(printable(self.caption))
        return Markup(
            '<h3>{}</h3>\n<table class="grid" style="white-space: pre" aria-label="{}">'
            "<thead><tr>{}</tr></thead>\n<tbody>{}</tbody></table>{}"
        ).format(self.title, self.title, head, rows, caption)

    def _repr_html_(self) -> str:
        return framed(self.html())

    def _row(self, row: Sequence[Cell]) -> Markup:
        """Return a row as HTML; a single cell spans the table."""
        name = row[0]
        cells = row[1:]
        span = Markup("")
        if not cells:
            span = Markup(' colspan="{}"').format(len(self.head))
        first = Markup('<th scope="row"{}>{}</th>').format(span, printable(str(name)))
        others = Markup("").join(map(_html, cells))
        return Markup("<tr>{}{}</tr>").format(first, others)


def _drawn(cell: Cell, bar: int) -> Text:
    """Return a cell for a terminal, a share with a bar of this many characters."""
    if not isinstance(cell, PercentCell):
        return Text(printable(cell))
    filled = round(bar * cell.share)
    drawn = Text("━" * filled, "green")
    drawn.append("·" * (bar - filled), "dim")
    return drawn.append(f" {cell.text}", "default")


def _html(cell: Cell) -> Markup:
    """Return a cell as HTML; the style sheet draws the bar of a share."""
    if isinstance(cell, PercentCell):
        percent = round(100 * cell.share, 1)
        return Markup('<td class="share" style="--share:{}%">{}</td>').format(percent, cell.text)
    return Markup("<td>{}</td>").format(printable(cell))
