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
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
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
"""The reasons of failures that have a name of their own, in the order of the legend."""
LONGEST_CAPTION = 1500
LONGEST_LEGEND = 64
LONGEST_REASON = 40
"""Characters of a caption, of a group's name and of a reason in a figure."""


def write_figures(groups: Sequence[RunGroup], folder: Path | str) -> list[Path]:
    """Draw every figure into a folder, as SVG and, with matplotlib, as PNG, and return the files.

    Raises:
        ConfigurationError: the files cannot be written.
    """
    folder = Path(folder)
    paths: list[Path] = []
    with_png = have_matplotlib()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, chart in _charts(groups).items():
            svg = folder / f"{name}.svg"
            svg.write_text(svg_of(chart), encoding="utf-8")
            paths.append(svg)
            if with_png:
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
    charts = _charts(groups, captions)
    return {name: svg_of(chart) for name, chart in charts.items()}


def have_matplotlib() -> bool:
    """Return whether figures can be drawn as PNG."""
    return importlib.util.find_spec("matplotlib") is not None


def _charts(groups: Sequence[RunGroup], captions: bool = True) -> dict[str, Chart]:
    """Return every chart for which the groups have data, by name."""
    below = ""
    if captions:
        below = _cut(caption(groups), LONGEST_CAPTION)
    tried = False
    counted = False
    failed = False
    for each in groups:
        report = each.report
        if report.solved:
            tried = True
            counted = counted or report.tokens[-1] > 0
        failed = failed or any(report.failures)

    found: dict[str, Chart] = {}
    if tried:
        found["success_by_trial"] = _success_by_trial(groups, below)
    if counted:
        found["success_by_tokens"] = _success_by_tokens(groups, below)
    if failed:
        found["failures_by_trial"] = _failures_by_trial(groups, below)
    return found


def _success_by_trial(groups: Sequence[RunGroup], below: str) -> Chart:
    """Return the curve of each group, with its interval and the curves of its seeds."""
    lines: list[Line] = []
    for number, each in enumerate(groups):
        trials = range(1, len(each.report.solved) + 1)
        line = Line(
            name=_legend(each, groups),
            number=number,
            x=trials,
            y=_shares(each),
            band=_band(each),
            parts=_curves_of_seeds(each),
        )
        lines.append(line)
    for number, each in enumerate(groups):
        accepted = each.report.accepted
        if not accepted:
            continue
        shares = [100 * each.report.share(tasks) for tasks in accepted]
        name = _cut(f"{_legend(each, groups)}: accepted by the verdict", LONGEST_LEGEND)
        lines.append(Line(name, number, range(1, len(shares) + 1), shares, dashed=True))
    panel = Panel(lines)
    return Chart("Tasks solved by trial", [panel], "trial", caption=below)


def _band(group: RunGroup) -> list[tuple[float, float]]:
    """Return the interval of each trial in percent; none if a trial has no interval."""
    band: list[tuple[float, float]] = []
    for interval in group.intervals():
        if not interval:
            return []
        low, high = interval
        band.append((100 * low, 100 * high))
    return band


def _curves_of_seeds(group: RunGroup) -> list[list[float]]:
    """Return the curve of each seed in percent; none for a single one, which is the group's own."""
    trials = group.by_seed()
    if len(group.runs) == 1 or not trials:
        return []
    curves: list[list[float]] = [[] for _ in group.runs]
    for trial in trials:
        for curve, share in zip(curves, trial.shares, strict=True):
            curve.append(100 * share)
    return curves


def _success_by_tokens(groups: Sequence[RunGroup], below: str) -> Chart:
    """Return the steps in which the solved tasks of each group grow with its tokens."""
    lines: list[Line] = []
    for number, each in enumerate(groups):
        # They are those of all tasks, whether these can be graded or not.
        spent = [each.report.share_of_all(tokens) / 1000 for tokens in each.report.tokens]
        name = _legend(each, groups)
        lines.append(Line(name, number, spent, _shares(each), steps=True))
    panel = Panel(lines)
    unit = "thousand tokens per task"
    return Chart("Tasks solved by tokens spent", [panel], unit, caption=below, of_trials=False)


def _failures_by_trial(groups: Sequence[RunGroup], below: str) -> Chart:
    """Return a panel for each group, with a line for each reason."""
    reasons = _reasons(groups)
    panels: list[Panel] = []
    highest = 0.0
    for each in groups:
        lines: list[Line] = []
        for number, reason in enumerate(reasons):
            shares = _shares_of_failures(each, reason)
            # Of a group without a trial there are none.
            highest = max(highest, max(shares, default=0.0))
            name = _cut(printable(reason), LONGEST_REASON)
            trials = range(1, len(shares) + 1)
            lines.append(Line(name, number, trials, shares))
        panels.append(Panel(lines, _legend(each, groups)))
    # A little room above the highest point.
    top = 1.08 * highest
    return Chart("Tasks that failed, by trial and reason", panels, "trial", top, below)


def _shares_of_failures(group: RunGroup, reason: str) -> list[float]:
    """Return the share of a group's tasks that failed for a reason in each trial, in percent.

    The list is empty if the reason does not occur: then it keeps its place in the legend, without a line.
    """
    shares: list[float] = []
    for failed in group.report.failures:
        count = failed.get(reason, 0)
        shares.append(100 * group.report.share_of_all(count))
    if not any(shares):
        return []
    return shares


def _reasons(groups: Sequence[RunGroup]) -> list[str]:
    """Return the reasons of failures in the groups, those of the papers first."""
    found: set[str] = set()
    for each in groups:
        for failed in each.report.failures:
            found.update(failed)
    known = [reason for reason in REASONS if reason in found]
    others = found.difference(REASONS)
    return known + sorted(others)


def _write_png(chart: Chart, path: Path) -> None:
    from matplotlib import rc_context

    with rc_context(STYLE), warnings.catch_warnings():
        # A character that the font lacks is drawn as a box.
        warnings.filterwarnings("ignore", "Glyph .* missing")
        # White, as viewers of bitmaps do not know the page's colours.
        _figure(chart).savefig(path, dpi=150, facecolor="white", metadata={"Software": None})


def _figure(chart: Chart) -> "Figure":
    from matplotlib.figure import Figure

    count = len(chart.panels)
    columns = min(count, 3)
    rows = -(-count // columns)
    width = max(6.4, 4.2 * columns)
    # An inch holds about 14 characters of the caption.
    below = textwrap.wrap(chart.caption, int(14 * width), break_on_hyphens=False)
    height = 3.6 * rows + _height_of_texts(chart, below)
    figure = Figure(figsize=(width, height), layout="constrained")
    # All panels have the same scale.
    plots = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).ravel()
    for unused in plots[count:]:
        unused.set_visible(False)
    for axes, panel in zip(plots, chart.panels, strict=False):
        _draw_panel(axes, chart, panel)
    # A line may begin or end with the sign between two settings.
    caption_lines = [line.strip(" ·") for line in below]
    figure.supxlabel("\n".join(caption_lines), fontsize=8, x=0.01, ha="left")
    _add_legend(figure, plots[0], chart, width)
    return figure


def _height_of_texts(chart: Chart, below: Sequence[str]) -> float:
    """Return the inches of the title, the legend and the caption: long ones must not shrink the panels."""
    names: set[str] = set()
    for panel in chart.panels:
        names.update(line.name for line in panel.lines)
    more_below = max(0, len(below) - 2)
    more_names = max(0, len(names) - 2)
    return 0.9 + 0.17 * more_below + 0.2 * more_names


def _draw_panel(axes: "Axes", chart: Chart, panel: Panel) -> None:
    from matplotlib.ticker import MaxNLocator

    for line in panel.lines:
        _plot(axes, line)
    axes.set(xlabel=chart.unit, ylabel="% of tasks", ylim=(0, chart.highest))
    title = panel.title or chart.title
    axes.set_title(textwrap.fill(title, 40), loc="left")
    axes.tick_params(labelbottom=True)  # there may be no panel below
    if chart.of_trials:
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    else:
        axes.set_xlim(left=0)


def _add_legend(figure: "Figure", axes: "Axes", chart: Chart, width: float) -> None:
    """Add the names of the lines above the panels, in as many columns as the width in inches allows."""
    handles, names = axes.get_legend_handles_labels()
    longest = max(map(len, names), default=0)
    # An inch holds about 11 characters, and a line is drawn before each name.
    fit = int(11 * width) // (longest + 6)
    columns = max(1, min(len(names), fit))
    title = ""
    if len(chart.panels) > 1:
        title = chart.title
    figure.legend(handles, names, loc="outside upper left", ncols=columns, title=title, alignment="left")


def _plot(axes: "Axes", line: Line) -> None:
    drawn = "default"
    if line.steps:
        drawn = "steps-post"
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
        # A seed whose run is unfinished has fewer trials.
        axes.plot(line.x[: len(part)], part, color=line.colour, alpha=0.4, linewidth=0.7)
    if line.band:
        low, high = zip(*line.band, strict=True)
        axes.fill_between(line.x, low, high, color=line.colour, alpha=0.15, linewidth=0)


def _shares(group: RunGroup) -> list[float]:
    """Return the share of tasks that a group has solved by each trial, in percent."""
    report = group.report
    return [100 * report.share(solved) for solved in report.solved]


def _legend(group: RunGroup, groups: Sequence[RunGroup]) -> str:
    """Return a group's label with the settings in which it differs from the others."""
    facts_of = [other.facts for other in groups]
    parts = [group.label]
    for name, fact in group.facts.items():
        differs = any(facts.get(name) != fact for facts in facts_of)
        if differs:
            parts.append(fact)
    legend = ", ".join(parts)
    return _cut(printable(legend), LONGEST_LEGEND)


def _cut(text: str, length: int) -> str:
    """Return a text, cut to a length."""
    if len(text) <= length:
        return text
    return f"{text[: length - 1]}…"
