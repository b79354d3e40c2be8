"""The command that compares the figures on the pages with the runs of `make demo`."""

import pytest

from benchmarks.rivals.table import draw
from langgraph_reflexion.lab.experiments.comparison import compare
from langgraph_reflexion.lab.experiments.figures import write_figures
from tests.docs.demo_figures import CURVES, DRAWN, MATCHES, ROOT, differences, points
from tests.docs.generated import RECORDED
from tests.support.run_folders import folder, row

pytestmark = pytest.mark.slow


@pytest.fixture
def runs(tmp_path):
    rows = [row("a", 1, False), row("a", 2, True), row("b", 1, True)]
    retry = folder(tmp_path / "retry", [row("a", 1, False), row("a", 2, False)], ["a", "b"], strategy="retry")
    return [retry, folder(tmp_path / "reflexion", rows, ["a", "b"], strategy="reflexion")]


def test_each_figure_that_differs_from_the_runs_is_named(runs, tmp_path):
    write_figures(compare(runs).groups, tmp_path / DRAWN)
    for page in CURVES:
        (tmp_path / page).write_text("nothing")
    lacking = differences(runs, tmp_path)
    assert "docs/results.md lacks: | `reflexion` | 50% | 100% |" in lacking[1]
    for page in CURVES:
        rows = [line.partition(" lacks: ")[2] for line in lacking if line.startswith(page)]
        (tmp_path / page).write_text("\n".join(rows))
    assert differences(runs, tmp_path) == []
    page = tmp_path / "docs" / "results.md"
    page.write_text(page.read_text().replace("100%", "99%"))
    [line] = differences(runs, tmp_path)
    assert line.startswith("docs/results.md lacks: | `reflexion`")


def test_a_changed_figure_of_the_comparison_or_of_a_drawing_is_named(runs, tmp_path):
    write_figures(compare(runs).groups, tmp_path / DRAWN)
    for page in CURVES:
        (tmp_path / page).write_text("nothing")
    for page in CURVES:
        rows = [line.partition(" lacks: ")[2] for line in differences(runs, tmp_path) if line.startswith(page)]
        (tmp_path / page).write_text("\n".join(rows))
    assert differences(runs, tmp_path) == []
    [page] = MATCHES
    file = tmp_path / page
    right = file.read_text()
    [tokens] = [row for row in right.splitlines() if " tokens |" in row]
    file.write_text(right.replace(tokens, tokens.replace(" tokens", "0 tokens")))
    assert differences(runs, tmp_path) == [f"{page} lacks: {tokens}"]
    file.write_text(right)
    drawing = tmp_path / DRAWN / "success_by_trial.svg"
    drawn = drawing.read_text()
    drawing.write_text(drawn.replace(": 50.0%</title>", ": 51.0%</title>", 1))
    assert drawing.read_text() != drawn
    [line] = differences(runs, tmp_path)
    assert line.startswith("docs/figures/success_by_trial.svg has other points")
    drawing.unlink()
    assert differences(runs, tmp_path) == [line]


def test_the_figures_of_the_pages_are_drawn_as_those_of_the_report():
    files = sorted((ROOT / DRAWN).glob("*.svg"))
    names = ["failures_by_trial", "rivals_by_calls", "success_by_tokens", "success_by_trial"]
    assert [file.stem for file in files] == names
    for file in files:
        assert len(points(file.read_text(encoding="utf-8"))) > 20, f"{file.name} has no numbers at its points"


def test_the_figure_of_the_rivals_is_that_of_the_recorded_rows(tmp_path):
    drawn = draw(RECORDED, tmp_path)[0]
    assert drawn.name == "solved_by_calls.svg"
    assert drawn.read_text() == (ROOT / DRAWN / "rivals_by_calls.svg").read_text()
