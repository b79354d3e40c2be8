"""Line charts as SVG, drawn without a plotting library: a plain installation has none.

Grey ink on a transparent ground is readable in light and dark themes; the colours are those of Okabe and Ito, for
colour-blind readers, and markers and dashes distinguish lines without colour.
"""

import math
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from html import escape

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
DASHES = ("", "6 3", "8 3 2 3", "2 3")
MARKERS = {
    "o": "M-3.5,0A3.5,3.5 0 1 1 3.5,0A3.5,3.5 0 1 1 -3.5,0Z",
    "s": "M-3.3,-3.3H3.3V3.3H-3.3Z",
    "D": "M0,-4.6L4.6,0L0,4.6L-4.6,0Z",
    "^": "M0,-4.4L4.2,3.4H-4.2Z",
    "v": "M0,4.4L4.2,-3.4H-4.2Z",
    "P": "M-1.5,-4.2H1.5V-1.5H4.2V1.5H1.5V4.2H-1.5V1.5H-4.2V-1.5H-1.5Z",
}
"""The shapes of points, under matplotlib's names for them."""
INK = "#777777"

PLOT_WIDTH, PLOT_HEIGHT = 520, 260
"""Pixels of the plot of a chart with one panel."""
NARROW_WIDTH = 290
"""Pixels of a plot where several are beside each other."""
MOST_COLUMNS = 3
LEFT, RIGHT, TOP, BOTTOM = 48, 16, 26, 44
"""Pixels around a plot: its title above, its numbers left and below."""
CHARACTER = 6.6
"""Pixels of a character, on average, of the text of 12 pixels."""
LINE = 17
"""Pixels of a line of text."""
LEGEND_MARK = 34
"""Pixels of the piece of line before a name in the legend."""

Scale = Callable[[float], float]
"""From a value to pixels."""


@dataclass(frozen=True)
class Line:
    """A line of a chart, with a point for each of its values."""

    name: str
    number: int
    """Decides the colour, the marker and the dashes."""
    x: Sequence[float]
    y: Sequence[float]
    """Percent."""
    steps: bool = False
    """Whether a value holds until the next one."""
    band: Sequence[tuple[float, float]] = ()
    """The interval around each value."""
    parts: Sequence[Sequence[float]] = ()
    """Thin lines behind it, point by point: the values of each seed."""
    dashed: bool = False
    """Whether it stands for something else than the other lines: what the verdict says, beside the truth."""

    @property
    def colour(self) -> str:
        return COLOURS[self.number % len(COLOURS)]

    @property
    def dashes(self) -> int:
        """The place in `DASHES`: lines of the same colour differ in it."""
        round_of_colours = self.number // len(COLOURS)
        if self.dashed:
            # The finest dots, which only the nineteenth line has otherwise.
            return len(DASHES) - 1
        return round_of_colours % len(DASHES)

    @property
    def marker(self) -> str:
        return list(MARKERS)[self.number % len(MARKERS)]


@dataclass(frozen=True)
class Panel:
    """A plot of a chart."""

    lines: Sequence[Line]
    title: str = ""


@dataclass(frozen=True)
class Chart:
    """One or more plots with the same axes and one legend."""

    title: str
    panels: Sequence[Panel]
    unit: str
    """What is counted along x: `trial`, or thousands of tokens."""
    highest: float = 102.0
    """The upper end of the axis of percent."""
    caption: str = ""
    """The settings behind it."""
    of_trials: bool = field(default=True, kw_only=True)
    """Whether x is a number of trials, from 1, or an amount, from 0."""

    def tip(self, line: Line, x: float, y: float) -> str:
        """Return the tooltip of a point."""
        at = f"{x:.1f} {self.unit}"
        if self.of_trials:
            at = f"trial {x:g}"
        return f"{line.name}, {at}: {y:.1f}%"


def svg_of(chart: Chart) -> str:
    """Return a chart as SVG, in which each point has its numbers as a tooltip."""
    columns = min(len(chart.panels), MOST_COLUMNS)
    plot_width = NARROW_WIDTH
    if columns == 1:
        plot_width = PLOT_WIDTH
    cell_width = LEFT + plot_width + RIGHT
    cell_height = TOP + PLOT_HEIGHT + BOTTOM
    width = max(columns * cell_width, LEFT + PLOT_WIDTH + RIGHT)
    legend, legend_height = _legend(chart, width)
    rows = math.ceil(len(chart.panels) / columns)
    caption = textwrap.wrap(chart.caption, int(width / 5.2), break_on_hyphens=False)
    height = legend_height + rows * cell_height + 13 * len(caption) + 6
    parts = [_head(width, height)]
    parts += legend
    # The lines of all panels are numbered through, as ids occur once in a page.
    counter = 0
    for place, panel in enumerate(chart.panels):
        row, column = divmod(place, columns)
        across = column * cell_width + LEFT
        down = legend_height + row * cell_height + TOP
        parts.append(f'<g transform="translate({across},{down})">')
        parts += _panel(chart, panel, plot_width, counter)
        parts.append("</g>")
        counter += len(panel.lines)
    for number, line in enumerate(caption):
        at = height - 13 * (len(caption) - number) + 6
        parts.append(f'<text x="4" y="{at}" font-size="10" fill="{INK}">{escape(line)}</text>')
    parts.append("</svg>\n")
    return "\n".join(parts)


def _head(width: float, height: float) -> str:
    """Return the beginning of the file, with the shapes of points, to which `_point` refers."""
    shapes = ""
    for number, shape in enumerate(MARKERS.values()):
        shapes += f'<path id="marker-{number}" d="{shape}"/>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'font-family="system-ui, sans-serif" font-size="12">\n<defs>{shapes}</defs>'
    )


def _legend(chart: Chart, width: float) -> tuple[list[str], float]:
    """Return the title and the legend, and their height in pixels."""
    parts = [f'<text x="4" y="16" fill="{INK}" font-weight="bold">{escape(chart.title)}</text>']
    shown: dict[str, Line] = {}
    for panel in chart.panels:
        for line in panel.lines:
            shown.setdefault(line.name, line)
    x, y = 4.0, 16.0 + LINE
    for name, line in shown.items():
        needed = LEGEND_MARK + CHARACTER * len(name) + 14
        if x > 4 and x + needed > width:
            x, y = 4.0, y + LINE
        parts.append(f'<path d="M{x:g},{y - 4:g}h26" {_stroke(line)}/>')
        parts.append(_point(line, x + 13, y - 4) + "</use>")
        parts.append(f'<text x="{x + LEGEND_MARK:g}" y="{y:g}" fill="{INK}">{escape(name)}</text>')
        x += needed
    return parts, y + 6


def _panel(chart: Chart, panel: Panel, width: float, first: int) -> Iterator[str]:
    """Yield a plot whose lower left corner is at 0 and `PLOT_HEIGHT`."""
    low = 0.0
    if chart.of_trials:
        low = 1.0
    high = _highest_x(chart, low)
    pad = 0.04 * width

    def across(x: float) -> float:
        # A single trial is in the middle.
        share = 0.5
        if high > low:
            share = (x - low) / (high - low)
        return round(pad + share * (width - 2 * pad), 2)

    def down(y: float) -> float:
        return round(PLOT_HEIGHT * (1 - y / chart.highest), 2)

    if panel.title:
        title = textwrap.shorten(panel.title, int(width / CHARACTER), placeholder="…")
        yield f'<text x="0" y="-9" fill="{INK}">{escape(title)}</text>'
    yield from _axes(chart, width, across, down, low, high)
    for number, line in enumerate(panel.lines, first):
        yield from _line(chart, line, number, across, down)


def _highest_x(chart: Chart, least: float) -> float:
    """Return the highest x of all panels, whose axes are the same."""
    highest = least
    for panel in chart.panels:
        for line in panel.lines:
            for x in line.x:
                highest = max(highest, x)
    return highest


def _axes(chart: Chart, width: float, across: Scale, down: Scale, low: float, high: float) -> Iterator[str]:
    for tick in _ticks(0.0, chart.highest):
        y = down(tick)
        yield f'<path d="M0,{y}H{width}" stroke="{INK}" stroke-opacity="0.25"/>'
        yield f'<text x="-6" y="{y + 4}" text-anchor="end" fill="{INK}">{tick:g}</text>'
    for tick in _ticks(low, high, whole=chart.of_trials):
        x = across(tick)
        yield f'<path d="M{x},{PLOT_HEIGHT}v4" stroke="{INK}"/>'
        yield f'<text x="{x}" y="{PLOT_HEIGHT + 17}" text-anchor="middle" fill="{INK}">{tick:g}</text>'
    yield f'<path d="M0,0V{PLOT_HEIGHT}H{width}" fill="none" stroke="{INK}"/>'
    middle, below = PLOT_HEIGHT / 2, PLOT_HEIGHT + 35
    yield f'<text x="{width / 2}" y="{below}" text-anchor="middle" fill="{INK}">{escape(chart.unit)}</text>'
    yield (
        f'<text transform="translate(-34,{middle}) rotate(-90)" text-anchor="middle" fill="{INK}">% of tasks</text>'
    )


def _line(chart: Chart, line: Line, number: int, across: Scale, down: Scale) -> Iterator[str]:
    """Yield a line with its band, the thin lines behind it, and its points, which have tooltips."""
    if line.band:
        outline = _outline(line, across, down)
        yield f'<path d="M{outline}Z" fill="{line.colour}" fill-opacity="0.15"/>'
    for part in line.parts:
        points = " ".join(f"{across(x)},{down(y)}" for x, y in zip(line.x, part, strict=False))
        yield f'<path d="M{points}" fill="none" stroke="{line.colour}" stroke-opacity="0.4" stroke-width="0.7"/>'
    path = ""
    for x, y in zip(line.x, line.y, strict=True):
        if not path:
            path = f"M{across(x)},{down(y)}"
        elif line.steps:
            path += f"H{across(x)}V{down(y)}"
        else:
            path += f"L{across(x)},{down(y)}"
    yield f'<g id="points-{number}">'
    if path:
        yield f'<path d="{path}" {_stroke(line)}/>'
    for x, y in zip(line.x, line.y, strict=True):
        tip = escape(chart.tip(line, x, y))
        yield f"{_point(line, across(x), down(y))}<title>{tip}</title></use>"
    yield "</g>"


def _outline(line: Line, across: Scale, down: Scale) -> str:
    """Return the points around the band of a line: the upper ones, and back along the lower ones."""
    upper: list[str] = []
    lower: list[str] = []
    for x, (low, high) in zip(line.x, line.band, strict=True):
        upper.append(f"{across(x)},{down(high)}")
        lower.append(f"{across(x)},{down(low)}")
    lower.reverse()
    return " ".join(upper + lower)


def _stroke(line: Line) -> str:
    """Return the attributes of a path that draw it as a line is drawn."""
    dashed = ""
    dashes = DASHES[line.dashes]
    if dashes:
        dashed = f' stroke-dasharray="{dashes}"'
    return f'fill="none" stroke="{line.colour}" stroke-width="1.6"{dashed}'


def _point(line: Line, x: float, y: float) -> str:
    marker = list(MARKERS).index(line.marker)
    return f'<use href="#marker-{marker}" x="{x:g}" y="{y:g}" fill="{line.colour}">'


def _ticks(low: float, high: float, *, whole: bool = False) -> list[float]:
    """Return about six round numbers from `low` to `high`."""
    rough = (high - low) / 6
    if rough <= 0:
        return [low]
    unit = 10.0 ** math.floor(math.log10(rough))
    step = unit
    for times in (1, 2, 5, 10):
        step = unit * times
        if step >= rough:
            break
    if whole:
        step = max(1.0, math.ceil(step))
    first = math.ceil(low / step) * step
    # The first trial is always named.
    ticks: list[float] = []
    if first != low:
        ticks.append(low)
    while first <= high + step * 1e-9:
        ticks.append(round(first, 10))
        first += step
    return ticks
