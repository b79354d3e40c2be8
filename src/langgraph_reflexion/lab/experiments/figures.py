"""The papers' figures of any run: success by trial (Fig. 3a, 4a-c, 6), by tokens, and failures by reason (Fig. 3b).

Grey ink on a transparent ground is readable in light and dark themes; the colours are those of Okabe and Ito, for
colour-blind readers, and markers and dashes distinguish lines without colour.
"""

import importlib.util
import io
import re
import textwrap
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from langgraph_reflexion.errors import ConfigurationError, the_extra
from langgraph_reflexion.lab.experiments.groups import RunGroup, caption
from langgraph_reflexion.support.text import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
MARKERS = "osD^vP"
DASHES = ("-", "--", "-.", ":")
INK = "#777777"
STYLE: dict[Any, Any] = {
    **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), INK),
    "font.size": 11,
    "axes.titlesize": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": INK,
    "grid.alpha": 0.25,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "legend.frameon": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "langgraph-reflexion",
    # Otherwise text between dollars is set as a formula.
    "text.parse_math": False,
}
REASONS = ("hallucination", "inefficient planning", "wrong answer", "truncated", "fault")


def write_figures(groups: Sequence[RunGroup], folder: Path | str) -> list[Path]:
    """Draw every figure into a folder, as PNG and as SVG, and return the files.

    Raises:
        ConfigurationError: matplotlib is missing, or the files cannot be written.
    """
    folder, paths = Path(folder), []
    if not _have_matplotlib():
        raise ConfigurationError(f"figures need matplotlib, which comes with {the_extra('bench')}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _drawn(groups) as figures:
            for name, figure in figures.items():
                paths += [folder / f"{name}.svg", folder / f"{name}.png"]
                paths[-2].write_text(_svg(figure), encoding="utf-8")
                # White, as viewers of bitmaps do not know the page's colours.
                figure.savefig(paths[-1], dpi=150, facecolor="white", metadata={"Software": None})
    except OSError as error:
        raise ConfigurationError(f"cannot write figures to {folder}: {error.strerror}") from error
    return paths


def draw(groups: Sequence[RunGroup], *, captions: bool = True) -> dict[str, str]:
    """Return every figure for which the runs have data, by name, as SVG; none without matplotlib.

    Args:
        groups: What is drawn.
        captions: Whether each figure names the settings behind it.
    """
    if not _have_matplotlib():
        return {}
    with _drawn(groups, captions) as figures:
        return {name: _svg(figure) for name, figure in figures.items()}


@contextmanager
def _drawn(groups: Sequence[RunGroup], captions: bool = True) -> "Iterator[dict[str, Figure]]":
    """Yield the figures by name, inside the style in which they must also be saved."""
    from matplotlib import rc_context

    makers: dict[str, Callable[[Sequence[RunGroup], str], Figure]] = {}
    if any(each.report.solved for each in groups):
        makers["success_by_trial"] = _success_by_trial
    if any(each.report.solved and each.report.tokens[-1] for each in groups):
        makers["success_by_tokens"] = _success_by_tokens
    if any(any(each.report.failures) for each in groups):
        makers["failures_by_trial"] = _failures_by_trial
    with rc_context(STYLE), warnings.catch_warnings():
        # A character that the font lacks is drawn as a box, and in SVG by the reader's own fonts.
        warnings.filterwarnings("ignore", "Glyph .* missing")
        below = caption(groups) if captions else ""
        yield {name: make(groups, below) for name, make in makers.items()}


def _have_matplotlib() -> bool:
    return importlib.util.find_spec("matplotlib") is not None


def _svg(figure: "Figure") -> str:
    """Return a figure as SVG in which each point has its numbers as a tooltip."""
    tips: dict[str, list[str]] = {}
    for line in [line for axes in figure.axes for line in axes.lines]:
        points, unit = cast("list[list[float]]", line.get_xydata()), cast("Axes", line.axes).get_xlabel()
        if len(points) and not str(line.get_label()).startswith("_"):
            line.set_gid(f"points-{len(tips)}")
            tips[f'<g id="points-{len(tips)}">'] = [
                f"{line.get_label()}, {f'trial {x:g}' if unit == 'trial' else f'{x:.1f} {unit}'}: {y:.1f} %"
                for x, y in points
            ]
    file = io.StringIO()
    figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    svg = file.getvalue()
    for group, texts in tips.items():
        svg = _with_tips(svg, group, texts)
    return svg


def _with_tips(svg: str, group: str, texts: Sequence[str]) -> str:
    """Give the markers of a group their tooltips."""
    before, start, rest = svg.partition(group)
    titles = (f"><title>{escape(text)}</title></use>" for text in texts)
    return before + start + re.sub(r"(?<=<use )([^>]*)/>", lambda use: use[1] + next(titles), rest, count=len(texts))


def _success_by_trial(groups: Sequence[RunGroup], below: str) -> "Figure":
    figure, axes = _panels(1, groups, below)
    for number, each in enumerate(groups):
        trials = range(1, len(each.report.solved) + 1)
        line = _line(axes[0], number, trials, _shares(each), _legend(each, groups))
        if len(each.runs) > 1:
            by_seed = [[100 * share for share in by_trial.shares] for by_trial in each.by_seed()]
            axes[0].plot(range(1, len(by_seed) + 1), by_seed, color=line, alpha=0.4, linewidth=0.7)
        within = [at for at in each.intervals() if at]
        if within:
            low, high = ([100 * at[end] for at in within] for end in (0, 1))
            axes[0].fill_between(trials, low, high, color=line, alpha=0.15, linewidth=0)
    _of_trials(axes[0])
    axes[0].set_title("Tasks solved by trial", loc="left")
    _legend_above(figure, axes[0])
    return figure


def _success_by_tokens(groups: Sequence[RunGroup], below: str) -> "Figure":
    figure, axes = _panels(1, groups, below)
    for number, each in enumerate(groups):
        spent = [each.report.share(tokens) / 1000 for tokens in each.report.tokens]
        _line(axes[0], number, spent, _shares(each), _legend(each, groups), drawstyle="steps-post")
    axes[0].set(xlabel="thousand tokens per task", ylabel="% of tasks", ylim=(0, 102))
    axes[0].set_xlim(left=0)
    axes[0].set_title("Tasks solved by tokens spent", loc="left")
    _legend_above(figure, axes[0])
    return figure


def _failures_by_trial(groups: Sequence[RunGroup], below: str) -> "Figure":
    figure, axes = _panels(len(groups), groups, below)
    found = {reason for each in groups for counts in each.report.failures for reason in counts}
    reasons = list(dict.fromkeys(reason for reason in (*REASONS, *sorted(found)) if reason in found))
    highest = 0.0
    for panel, each in zip(axes, groups, strict=True):
        for number, reason in enumerate(reasons):
            shares = [100 * each.report.share(counts.get(reason, 0)) for counts in each.report.failures]
            highest = max(highest, *shares)
            # A reason that does not occur here keeps its place in the legend, without a line.
            known = shares if any(shares) else []
            _line(panel, number, range(1, len(known) + 1), known, _cut(printable(reason), 40))
        _of_trials(panel)
        panel.set_title(textwrap.fill(_legend(each, groups), 40), loc="left")
    axes[0].set_ylim(0, 1.08 * highest)
    for panel in axes[1:]:
        panel.set_ylabel("")
    _legend_above(figure, axes[0], "Tasks that failed, by trial and reason")
    return figure


def _panels(count: int, groups: Sequence[RunGroup], below: str) -> "tuple[Figure, Sequence[Axes]]":
    from matplotlib.figure import Figure

    columns = min(count, 3)
    rows = -(-count // columns)
    width = max(6.4, 4.2 * columns)
    lines = textwrap.wrap(_cut(below, 1500), int(14 * width), break_on_hyphens=False)
    # Long captions and legends must not shrink the panels.
    height = 0.9 + 3.6 * rows + 0.17 * max(0, len(lines) - 2) + 0.2 * max(0, len(groups) - 2)
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).flat
    for unused in axes[count:]:
        unused.set_visible(False)
    figure.supxlabel("\n".join(line.strip(" ·") for line in lines), fontsize=8, x=0.01, ha="left")
    return figure, list(axes[:count])


def _line(axes: "Axes", number: int, x: Sequence[float], y: Sequence[float], name: str, **how: Any) -> str:
    """Draw a line in the style of its number, and return its colour."""
    colour = COLOURS[number % len(COLOURS)]
    dash = DASHES[number // len(COLOURS) % len(DASHES)]
    axes.plot(
        x, y, color=colour, linestyle=dash, marker=MARKERS[number % len(MARKERS)], markersize=5, label=name, **how
    )
    return colour


def _of_trials(axes: "Axes") -> None:
    from matplotlib.ticker import MaxNLocator

    axes.set(xlabel="trial", ylabel="% of tasks", ylim=(0, 102))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.tick_params(labelbottom=True)  # there may be no panel below


def _legend_above(figure: "Figure", axes: "Axes", title: str = "") -> None:
    handles, names = axes.get_legend_handles_labels()
    longest = max(map(len, names), default=0)
    columns = max(1, min(len(names), int(11 * figure.get_figwidth()) // (longest + 6)))
    figure.legend(handles, names, loc="outside upper left", ncols=columns, title=title, alignment="left")


def _shares(group: RunGroup) -> list[float]:
    return [100 * group.report.share(solved) for solved in group.report.solved]


def _legend(group: RunGroup, groups: Sequence[RunGroup]) -> str:
    """Return a group's label with the settings in which it differs from the others."""
    differing = [fact for name, fact in group.facts.items() if len({other.facts.get(name) for other in groups}) > 1]
    return _cut(printable(", ".join([group.label, *differing])), 64)


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"
