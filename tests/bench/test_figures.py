import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.experiments.comparison import compare
from langgraph_reflexion.experiments.figures import draw, write_figures
from tests.bench.runs import folder, row

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    tasks = list("abcd")
    rows = [row("a", 1, True), row("b", 1, False), row("b", 2, True)]
    rows += [row("c", trial, trial == 3, stop_reason="inefficient planning") for trial in (1, 2, 3)]
    rows += [row("d", trial, False, stop_reason="terminated") for trial in (1, 2, 3)]
    retried = [row(task, trial, False) for task in tasks for trial in (1, 2, 3)]
    return [
        folder(tmp_path / "one", rows, tasks),
        folder(tmp_path / "other", retried, tasks, strategy="retry", model="openai:x"),
    ]


def markers(svg: str) -> list[list[tuple[float, float]]]:
    """Where the points of each line are, in the order of the lines, from 0 at the lowest to 1 at the highest."""
    root = ElementTree.fromstring(svg)
    lines = [group for group in root.iter(f"{SVG}g") if re.fullmatch(r"line2d_\d+", group.get("id", ""))]
    found = [[(float(use.get("x", 0)), float(use.get("y", 0))) for use in line.iter(f"{SVG}use")] for line in lines]
    return [points for points in found if len(points) == 3]


def test_the_points_are_the_shares(runs: list[Path]) -> None:
    one, other = markers(draw(compare(runs).series)["success_by_trial"])
    assert [x for x, _ in one] == [x for x, _ in other]
    steps = [one[0][0] - one[1][0], one[1][0] - one[2][0]]
    assert steps[0] == pytest.approx(steps[1])
    # A quarter, a half, three quarters against nothing, with y running downwards.
    bottom = other[0][1]
    heights = [bottom - y for _, y in one]
    assert heights == pytest.approx([heights[0], 2 * heights[0], 3 * heights[0]], rel=1e-4)
    assert heights[0] > 0
    assert {y for _, y in other} == {bottom}


def test_failures_have_a_panel_for_each_run_and_a_line_for_each_reason_that_it_has(runs: list[Path]) -> None:
    svg = draw(compare(runs).series)["failures_by_trial"]
    lines = markers(svg)
    assert len(lines) == 3 + 1, "three reasons in the first run, and one in the second"
    texts = "".join(ElementTree.fromstring(svg).itertext())
    assert [reason in texts for reason in ("hallucination", "inefficient planning", "wrong answer", "fault")] == [
        True,
        True,
        True,
        False,
    ]


def test_a_figure_names_what_it_was_measured_under(runs: list[Path]) -> None:
    for svg in draw(compare(runs).series).values():
        texts = " ".join(" ".join(ElementTree.fromstring(svg).itertext()).split())
        for fact in ("profile paper", "oracle", "seed 0", "openai:x", "not an LLM"):
            assert fact in texts


@pytest.mark.long
def test_the_same_runs_give_the_same_files(runs: list[Path], tmp_path: Path) -> None:
    series = compare(runs).series
    written = write_figures(series, tmp_path / "new" / "figures")
    names = {"success_by_trial", "success_by_tokens", "failures_by_trial"}
    assert {path.name for path in written} == {f"{name}.{end}" for name in names for end in ("svg", "png")}
    again = write_figures(series, tmp_path / "again")
    assert [path.read_bytes() for path in written] == [path.read_bytes() for path in again]
    for path in written:
        content = path.read_bytes()
        assert content.startswith(b"\x89PNG" if path.suffix == ".png" else b"<?xml")
        assert b"date" not in content.lower() or path.suffix == ".png"


def test_what_a_run_has_nothing_for_is_not_drawn(tmp_path: Path) -> None:
    silent = [row("a", 1, True, input_tokens=0, output_tokens=0)]
    assert set(draw(compare([folder(tmp_path / "run", silent, ["a"])]).series)) == {"success_by_trial"}
    assert draw(compare([folder(tmp_path / "new", [], ["a"])]).series) == {}


def test_many_runs_have_lines_that_can_be_told_apart(tmp_path: Path) -> None:
    runs = [folder(tmp_path / str(n), [row("a", 1, False)], ["a"], model=f"openai:{n}") for n in range(8)]
    svg = draw(compare(runs).series)["success_by_trial"]
    looks = re.findall(r"fill: none; (stroke[^\"]*#(?!777777)[0-9A-Fa-f]{6}[^\"]*)\"", svg)
    assert len(set(looks)) == 8


def test_long_names_leave_room_for_the_lines(tmp_path: Path) -> None:
    # pytest turns the warning of matplotlib, that nothing is left of the axes, into an error.
    runs = [folder(tmp_path / str(n), [row("a", 1, False)], ["a"], model=f"openai:{n}" * 200) for n in range(8)]
    assert set(draw(compare(runs).series)) == {"success_by_trial", "success_by_tokens", "failures_by_trial"}


def test_texts_are_drawn_as_they_stand(tmp_path: Path) -> None:
    rows = [row("a", 1, False, stop_reason="a_b $\\x{ \x00 <b> \u65e5")]
    drawn = draw(compare([folder(tmp_path / "run", rows, ["a"], model="openai:$x^2$")]).series)
    texts = "".join(ElementTree.fromstring(drawn["failures_by_trial"]).itertext())
    assert "a_b $\\x{ ␀ <b> \u65e5" in texts
    assert "openai:$x^2$" in texts


def test_a_folder_that_cannot_be_written_to_is_named(runs: list[Path], tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigurationError, match="cannot write figures to"):
        write_figures(compare(runs).series, tmp_path / "file" / "figures")
