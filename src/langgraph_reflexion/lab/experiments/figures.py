"""The papers' figures of any run: success by trial (Fig. 3a, 4a-c, 6), by tokens, and failures by reason (Fig. 3b).

They are drawn as SVG by `experiments.charts`, and as PNG by matplotlib where it is installed.
"""

import importlib.util
import textwrap
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.lab.experiments.charts import INK, Chart, Line, Panel, svg_of
from langgraph_reflexion.lab.experiments.groups import RunGroup, caption
from langgraph_reflexion.support.text import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DASHES = ("-", "--", "-.", ":")
"""matplotlib's names of the dashes of `experiments.charts`."""
STYLE: dict[Any, Any] = {
    **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), INK),
    "font.size": 11,
    "axes.titlesize": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": INK,
    "grid.alpha": 0.25,
    "legend.frameon": False,
    # Otherwise text between dollars is set as a formula.
    "text.parse_math": False,
}
REASONS = ("hallucination", "inefficient planning", "wrong answer", "truncated", "fault")


def write_figures(groups: Sequence[RunGroup], folder: Path | str) -> list[Path]:
    """Draw every figure into a folder, as SVG and, with matplotlib, as PNG, and return the files.

    Raises:
        ConfigurationError: the files cannot be written.
    """
    folder = Path(folder)
    paths = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, chart in _charts(groups).items():
            svg = folder / f"{name}.svg"
            svg.write_text(svg_of(chart), encoding="utf-8")
            paths.append(svg)
            if have_matplotlib():
                png = folder / f"{name}.png"
                _write_png(chart, png)
                paths.append(png)
    except OSError as error:
        raise ConfigurationError(f"cannot write figures to {folder}: {error.strerror}") from error
    return paths


def draw(groups: Sequence[RunGroup], *, captions: bool = True) -> dict[str, str]:
    """Return every figure for which the runs have data, by name, as SVG.

    Args:
        groups: What is drawn.
        captions: Whether each figure names the settings behind it.
    """
    return {name: svg_of(chart) for name, chart in _charts(groups, captions).items()}


def have_matplotlib() -> bool:
    """Return whether figures can be drawn as PNG."""
    return importlib.util.find_spec("matplotlib") is not None


def _charts(groups: Sequence[RunGroup], captions: bool = True) -> dict[str, Chart]:
    """Return every chart for which the groups have data, by name."""
    below = ""
    if captions:
        below = _cut(caption(groups), 1500)
    reports = [each.report for each in groups]
    tried = [report for report in reports if report.solved]
    found: dict[str, Chart] = {}
    if tried:
        found["success_by_trial"] = _success_by_trial(groups, below)
    if any(report.tokens[-1] for report in tried):
        found["success_by_tokens"] = _success_by_tokens(groups, below)
    if any(any(report.failures) for report in reports):
        found["failures_by_trial"] = _failures_by_trial(groups, below)
    return found


def _success_by_trial(groups: Sequence[RunGroup], below: str) -> Chart:
    lines = []
    for number, each in enumerate(groups):
        trials = range(1, len(each.report.solved) + 1)
        line = Line(
            _legend(each, groups), number, trials, _shares(each), band=_band(each), parts=_curves_of_seeds(each)
        )
        lines.append(line)
    return Chart("Tasks solved by trial", [Panel(lines)], "trial", caption=below)


def _band(group: RunGroup) -> list[tuple[float, float]]:
    """Return the interval of each trial in percent; none if a trial has no interval."""
    band = []
    for interval in group.intervals():
        if not interval:
            return []
        low, high = interval
        band.append((100 * low, 100 * high))
    return band


def _curves_of_seeds(group: RunGroup) -> list[tuple[float, ...]]:
    """Return the curve of each seed in percent; none for a single one, which is the group's own."""
    if len(group.runs) == 1:
        return []
    shares = [trial.shares for trial in group.by_seed()]
    curves = zip(*shares, strict=True)
    return [tuple(100 * share for share in curve) for curve in curves]


def _success_by_tokens(groups: Sequence[RunGroup], below: str) -> Chart:
    lines = []
    for number, each in enumerate(groups):
        spent = [each.report.share(tokens) / 1000 for tokens in each.report.tokens]
        lines.append(Line(_legend(each, groups), number, spent, _shares(each), steps=True))
    unit = "thousand tokens per task"
    return Chart("Tasks solved by tokens spent", [Panel(lines)], unit, caption=below, of_trials=False)


def _failures_by_trial(groups: Sequence[RunGroup], below: str) -> Chart:
    reasons = _reasons(groups)
    panels = []
    highest = 0.0
    for each in groups:
        lines = []
        for number, reason in enumerate(reasons):
            shares = [100 * each.report.share(counts.get(reason, 0)) for counts in each.report.failures]
            highest = max(highest, *shares)
            # A reason that does not occur here keeps its place in the legend, without a line.
            if not any(shares):
                shares = []
            trials = range(1, len(shares) + 1)
            lines.append(Line(_cut(printable(reason), 40), number, trials, shares))
        panels.append(Panel(lines, _legend(each, groups)))
    return Chart("Tasks that failed, by trial and reason", panels, "trial", 1.08 * highest, below)


def _reasons(groups: Sequence[RunGroup]) -> list[str]:
    """Return the reasons of failures in the groups, those of the papers first."""
    found: set[str] = set()
    for each in groups:
        found.update(*each.report.failures)
    known = [reason for reason in REASONS if reason in found]
    return known + sorted(found.difference(REASONS))


def _write_png(chart: Chart, path: Path) -> None:
    from matplotlib import rc_context

    with rc_context(STYLE), warnings.catch_warnings():
        # A character that the font lacks is drawn as a box.
        warnings.filterwarnings("ignore", "Glyph .* missing")
        # White, as viewers of bitmaps do not know the page's colours.
        _figure(chart).savefig(path, dpi=150, facecolor="white", metadata={"Software": None})


def _figure(chart: Chart) -> "Figure":
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    count = len(chart.panels)
    columns = min(count, 3)
    rows = -(-count // columns)
    width = max(6.4, 4.2 * columns)
    lines = textwrap.wrap(chart.caption, int(14 * width), break_on_hyphens=False)
    names = {line.name for panel in chart.panels for line in panel.lines}
    # Long captions and legends must not shrink the panels.
    height = 0.9 + 3.6 * rows + 0.17 * max(0, len(lines) - 2) + 0.2 * max(0, len(names) - 2)
    figure = Figure(figsize=(width, height), layout="constrained")
    plots = list(figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).flat)
    for unused in plots[count:]:
        unused.set_visible(False)
    for axes, panel in zip(plots, chart.panels, strict=False):
        for line in panel.lines:
            _plot(axes, line)
        axes.set(xlabel=chart.unit, ylabel="% of tasks", ylim=(0, chart.highest))
        axes.set_title(textwrap.fill(panel.title or chart.title, 40), loc="left")
        axes.tick_params(labelbottom=True)  # there may be no panel below
        if chart.of_trials:
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        else:
            axes.set_xlim(left=0)
    figure.supxlabel("\n".join(line.strip(" ·") for line in lines), fontsize=8, x=0.01, ha="left")
    handles, shown = plots[0].get_legend_handles_labels()
    longest = max(map(len, shown), default=0)
    beside = max(1, min(len(shown), int(11 * width) // (longest + 6)))
    title = chart.title if count > 1 else ""
    figure.legend(handles, shown, loc="outside upper left", ncols=beside, title=title, alignment="left")
    return figure


def _plot(axes: "Axes", line: Line) -> None:
    drawn = "steps-post" if line.steps else "default"
    axes.plot(
        line.x,
        line.y,
        color=line.colour,
        linestyle=DASHES[line.dashes],
        marker=line.marker,
        markersize=5,
        label=line.name,
        drawstyle=drawn,
    )
    for part in line.parts:
        axes.plot(line.x, part, color=line.colour, alpha=0.4, linewidth=0.7)
    if line.band:
        low, high = zip(*line.band, strict=True)
        axes.fill_between(line.x, low, high, color=line.colour, alpha=0.15, linewidth=0)


def _shares(group: RunGroup) -> list[float]:
    return [100 * group.report.share(solved) for solved in group.report.solved]


def _legend(group: RunGroup, groups: Sequence[RunGroup]) -> str:
    """Return a group's label with the settings in which it differs from the others."""
    facts_of = [other.facts for other in groups]
    parts = [group.label]
    for name, fact in group.facts.items():
        if any(facts.get(name) != fact for facts in facts_of):
            parts.append(fact)
    return _cut(printable(", ".join(parts)), 64)


def _cut(text: str, length: int) -> str:
    """Return a text, cut to a length."""
    if len(text) <= length:
        return text
    return f"{text[: length - 1]}…"
