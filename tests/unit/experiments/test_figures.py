import re
import sys
from xml.etree import ElementTree

import pytest

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.lab.experiments.comparison import compare
from langgraph_reflexion.lab.experiments.figures import draw, write_figures
from langgraph_reflexion.lab.experiments.page import page, write_page
from tests.support.run_folders import folder, row, steps

SVG = "{http://www.w3.org/2000/svg}"
FIGURES = {"success_by_trial", "success_by_tokens", "failures_by_trial"}


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    path, tasks = tmp_path_factory.mktemp("runs"), list("abcd")
    rows = [row("a", 1, True), row("b", 1, False), row("b", 2, True)]
    rows += [row("c", trial, trial == 3, stop_reason="inefficient planning") for trial in (1, 2, 3)]
    rows += [row("d", trial, False, stop_reason="terminated") for trial in (1, 2, 3)]
    failed = [row(task, trial, False) for task in tasks for trial in (1, 2, 3)]
    other = folder(path / "two", failed, tasks, strategy="retry", model="openai:$x^2$")
    return compare([folder(path / "one", rows, tasks), other])


@pytest.fixture(scope="module")
def figures(compared):
    return draw(compared.groups)


def markers(svg):
    root = ElementTree.fromstring(svg)
    lines = [group for group in root.iter(f"{SVG}g") if re.fullmatch(r"points-\d+", group.get("id", ""))]
    found = [[(float(use.get("x", 0)), float(use.get("y", 0))) for use in line.iter(f"{SVG}use")] for line in lines]
    return [points for points in found if len(points) == 3]


def text_of(svg):
    return " ".join(" ".join(ElementTree.fromstring(svg).itertext()).split())


def test_the_points_are_the_shares(figures):
    one, other = markers(figures["success_by_trial"])
    assert [x for x, _ in one] == [x for x, _ in other]
    assert one[0][0] - one[1][0] == pytest.approx(one[1][0] - one[2][0])
    # A quarter, a half, three quarters against nothing, with y running downwards.
    bottom = other[0][1]
    heights = [bottom - y for _, y in one]
    assert heights == pytest.approx([heights[0], 2 * heights[0], 3 * heights[0]], rel=1e-4)
    assert heights[0] > 0
    assert {y for _, y in other} == {bottom}


def test_a_run_without_a_trial_has_no_point(tmp_path):
    begun = folder(tmp_path / "begun", [], ["a"])
    failed = folder(tmp_path / "failed", [row("a", trial, False) for trial in (1, 2, 3)], ["a"], strategy="retry")
    drawn = draw(compare([begun, failed]).groups)
    assert set(drawn) == FIGURES
    assert len(markers(drawn["failures_by_trial"])) == 1


def test_a_run_without_tasks_is_drawn_beside_another(tmp_path):
    failed = folder(tmp_path / "failed", [row("a", 1, False)], ["a"], max_trials=1)
    none = folder(tmp_path / "none", [], [], strategy="retry", max_trials=1)
    assert "failures_by_trial" in draw(compare([failed, none]).groups)


def test_failures_of_tasks_that_cannot_be_graded_are_drawn_as_shares_of_all(tmp_path):
    ungradable = [row(task, 1, None, False, gradable=False) for task in "bcd"]
    alone = compare(folder(tmp_path / "alone", ungradable, list("bcd"), max_trials=1))
    assert "failures_by_trial" in draw(alone.groups)
    rows = [row("a", 1, False), *ungradable]
    drawn = draw(compare(folder(tmp_path / "run", rows, list("abcd"), max_trials=1)).groups)
    tips = re.findall(r"<title>(.*?)</title>", drawn["failures_by_trial"])
    assert [tip.rpartition(": ")[2] for tip in tips] == ["100.0%"]


def test_an_accepted_answer_whose_truth_is_unknown_is_not_shown_as_a_failure(tmp_path):
    rows = [row("a", 1, None, True, gradable=False), row("b", 1, True)]
    written = "".join(page(compare(folder(tmp_path / "run", rows, ["a", "b"]))))
    assert "accepted in trial 1, truth not known" in written
    assert "not solved: terminated" not in written
    assert "not gradable here, and not counted" in written


def test_each_point_has_its_numbers_as_a_tooltip(figures):
    root = ElementTree.fromstring(figures["success_by_trial"])
    tips = [str(title.text) for use in root.iter(f"{SVG}use") for title in use.iter(f"{SVG}title")]
    assert tips[2] == "A reflexion, demo model, not an LLM, trial 3: 75.0%"
    assert [tip.rpartition(": ")[2] for tip in tips] == ["25.0%", "50.0%", "75.0%", *["0.0%"] * 3]


def test_failures_have_a_panel_for_each_run_and_a_line_for_each_reason(figures):
    svg = figures["failures_by_trial"]
    assert len(markers(svg)) == 3 + 1, "three reasons in the first run, and one in the second"
    assert all(reason in text_of(svg) for reason in ("hallucination", "inefficient planning", "wrong answer"))
    assert "fault" not in text_of(svg)


def test_a_figure_names_the_settings_behind_it(figures):
    facts = ("profile paper", "oracle", "seed 0", "openai:$x^2$", "not an LLM")
    assert all(fact in text_of(svg) for fact in facts for svg in figures.values())


def test_figures_without_data_are_not_drawn(tmp_path):
    silent = [row("a", 1, True, input_tokens=0, output_tokens=0)]
    assert set(draw(compare(folder(tmp_path / "run", silent, ["a"])).groups)) == {"success_by_trial"}
    untried = compare(folder(tmp_path / "new", [], ["a"]))
    assert draw(untried.groups) == {}
    assert "not tried" in "".join(page(untried))


@pytest.mark.long
def test_many_runs_with_long_names_have_distinct_lines(tmp_path):
    stopped = [row("a", 1, False, stop_reason="a_b $\\x{ \x00 <b> \u65e5")]
    runs = [folder(tmp_path / str(n), stopped, ["a"], model=f"openai:{n}" * 200) for n in range(7)]
    drawn = draw(compare(runs).groups)
    assert set(drawn) == FIGURES
    looks = re.findall(r'<path [^>]*(stroke="#(?!777777)[^/]*)/>\n<use', drawn["success_by_trial"])
    assert len(set(looks)) == 7
    assert "a_b $\\x{ ␀ <b> \u65e5" in text_of(drawn["failures_by_trial"])


def test_a_page_is_self_contained(tmp_path):
    rows = [row("a", 1, False, True), row("b", 1, None, stop_reason="fault", fault="gone"), row("c", 1, True)]
    made = folder(tmp_path / "run", rows, list("abcd"), trajectories=[steps("a", 1, ("I look.", "look", "A cup."))])
    write_page(compare(made), tmp_path / "new" / "page.html")
    text = (tmp_path / "new" / "page.html").read_text()
    document = text.split('<script type="application/json"')[0]
    assert re.findall(r"""(?:src|href|url)\s*[=(]\s*["']?(?!#)([^"'\s>)]+)""", document) == []
    assert text.count("<svg") == 3
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    said = ("false positive", "ended by a fault", "solved in trial 1", "not tried", "A cup.", "25%")
    said += ("of 4 tasks solved in one trial", "Tasks solved by trial", "Tasks that failed, by trial and")
    assert [words for words in said if words not in text] == []
    assert text.count("profile paper") == 1, "the settings are there once"
    with pytest.raises(ConfigurationError, match="cannot write the page"):
        write_page(compare(made), tmp_path)


def test_a_plain_installation_draws_every_figure(compared, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    written = "".join(page(compared))
    assert written.count("<svg") == len(FIGURES)
    assert written.count("<title>A reflexion, demo model, not an LLM, trial ") == 3
    drawn = write_figures(compared.groups, tmp_path / "figures")
    assert {path.name for path in drawn} == {f"{name}.svg" for name in FIGURES}
    assert all(len(markers(path.read_text())) > 1 for path in drawn)
