"""The figures of `make demo` on the pages: `python -m tests.docs.demo_figures` checks them against the two runs.

Exit status: 0 if every page has the figures of the runs, 1 if one differs; each difference is a line.
"""

import re
import sys
from pathlib import Path

from langgraph_reflexion.lab.experiments.comparison import compare
from langgraph_reflexion.lab.experiments.figures import draw
from langgraph_reflexion.lab.experiments.statistics import format_p

ROOT = Path(__file__).parents[2]
RUNS = (ROOT / "runs" / "demo" / "retry", ROOT / "runs" / "demo" / "reflexion")
CURVES = ("docs/results.md",)
"""The pages with the share of tasks solved by trial."""
MATCHES = ("docs/results.md",)
"""The pages with both runs task by task."""
DRAWN = "docs/figures"
"""The folder of the figures that `make -C docs figures` draws."""


def expected(comparison):
    """The rows of the tables on the pages, as the runs have them: by trial, and task by task."""
    curves = []
    for each in comparison.groups:
        shares = [f"{each.report.share(solved):.0%}" for solved in each.report.solved]
        curves.append(f"| `{each.runs[0].settings['strategy']}` | {' | '.join(shares)} |")
    matches = []
    [pair] = comparison.pairs
    for match in pair.matches:
        one, other = match.solved
        p = format_p(match.test.p)
        alone = f"{match.test.wins} and {match.test.losses}"
        who = "A (`retry`) and B (`reflexion`)"
        matches.append(f"| {who} | {match.amount:,} {match.equal} | {one} and {other} | {match.of} | {alone} | {p} |")
    return curves, matches


def points(svg):
    """The percents of a figure's points, in order."""
    return re.findall(r": ([\d.]+%)</title>", svg)


def differences(runs, root=ROOT):
    """What the pages lack, one line for each row, and which figures draw other points than the runs have."""
    comparison = compare(list(runs))
    curves, matches = expected(comparison)
    wanted = [(page, row) for pages, rows in ((CURVES, curves), (MATCHES, matches)) for page in pages for row in rows]
    lacking = [f"{page} lacks: {row}" for page, row in wanted if row not in (root / page).read_text(encoding="utf-8")]
    for name, drawn in draw(comparison.groups).items():
        file = root / DRAWN / f"{name}.svg"
        if not file.is_file() or points(file.read_text(encoding="utf-8")) != points(drawn):
            lacking.append(f"{DRAWN}/{name}.svg has other points than the runs: run `make -C docs figures`")
    return lacking


if __name__ == "__main__":
    found = differences(map(Path, sys.argv[1:]) if sys.argv[1:] else RUNS)
    print("\n".join(found) or "The pages have the figures of the runs.")
    sys.exit(bool(found))
