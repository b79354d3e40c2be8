"""Runs that differ in their seed alone, as one: mean and spread by hand, and what of it is printed and drawn."""

import csv
import io
import json
import re
from pathlib import Path

import pytest
from rich.console import Console

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.experiments.comparison import Comparison, compare
from langgraph_reflexion.experiments.curves_csv import write_curves
from langgraph_reflexion.experiments.figures import draw
from langgraph_reflexion.experiments.matrix_tables import compare_experiment, with_folders
from langgraph_reflexion.experiments.spread import spread
from langgraph_reflexion.experiments.terminal import print_comparison
from tests.bench.runs import folder, row

TASKS = ["a", "b", "c", "d"]


def made(path: Path, strategy: str, seed: int, *solved: str, generated: bool = False) -> Path:
    """A run of two trials, of which each solves some tasks; their names have the seed in them where it makes them."""
    name = f"/s{seed}" if generated else ""
    rows = []
    for task in TASKS:
        for trial, those in enumerate(solved, 1):
            rows.append(row(task + name, trial, task in those))
            if task in those:
                break
    tasks = [task + name for task in TASKS]
    rows.sort(key=lambda each: tasks.index(each["task_id"]))
    return folder(path / f"{strategy}-s{seed}", rows, tasks, max_trials=2, strategy=strategy, seed=seed)


@pytest.fixture
def three(tmp_path: Path) -> Comparison:
    return compare(
        [
            made(tmp_path, "reflexion", 0, "a", "b"),
            made(tmp_path, "reflexion", 1, "ab", "c"),
            made(tmp_path, "reflexion", 2, "abc", "d"),
        ]
    )


def text(comparison: Comparison) -> str:
    console = Console(width=100, record=True, file=io.StringIO())
    print_comparison(console, comparison)
    return console.export_text()


def test_mean_and_spread_are_those_that_a_hand_finds(three: Comparison) -> None:
    (series,) = three.as_json()["series"]
    told = series["over_seeds"]
    assert told["seeds"] == [0, 1, 2]
    assert told["shares"] == [[0.25, 0.5, 0.75], [0.5, 0.75, 1.0]]
    assert (told["mean"], told["sd"]) == ([0.5, 0.75], [0.25, 0.25])
    # Student's t for two degrees of freedom is 4.3027, times 0.25 over the root of three.
    assert told["interval"] == [[0.0, 1.0], [0.129, 1.0]]
    # As clusters the tasks are four, however many seeds they have.
    low, high = series["intervals"][1]
    assert low < 0.4
    assert high < 1.0


def test_the_interval_of_the_mean_narrows_with_the_seeds() -> None:
    # The t for five degrees of freedom is 2.5706; the deviation of these is 0.054772.
    low, high = spread([0.4, 0.5, 0.4, 0.5, 0.4, 0.5]).interval or (0, 0)
    assert (low, high) == (
        pytest.approx(0.45 - 2.5706 * 0.054772 / 6**0.5, abs=1e-4),
        pytest.approx(0.5075, abs=1e-4),
    )
    assert (spread([0.5]).sd, spread([0.5]).interval) == (None, None)
    assert (spread([0.5, 0.5]).sd, spread([0.5, 0.5]).interval) == (0.0, None), "alike, they say nothing of others"


def test_they_are_one_line_of_the_report_and_single_runs_have_none(three: Comparison, tmp_path: Path) -> None:
    assert re.search(r"\n reflexion +12 +50 ± 25 +75 ± 25 +50-100 +13-100 +\d+-\d+ +[\d,]+ *\n", text(three))
    assert "seeds 0, 1, 2" in text(three)
    alone = compare([tmp_path / "reflexion-s0"])
    assert "mean ±" not in text(alone)
    assert alone.as_json()["series"][0]["over_seeds"]["sd"] == [None, None]


def test_a_seed_that_is_behind_shortens_the_curve_of_all(tmp_path: Path) -> None:
    comparison = compare([made(tmp_path, "retry", 0, "a", "b"), made(tmp_path, "retry", 1, "ab")])
    (series,) = comparison.as_json()["series"]
    assert (series["over_seeds"]["mean"], series["over_seeds"]["shares"]) == ([0.375], [[0.25, 0.5]])
    assert "2 unfinished" in text(comparison)


def test_the_same_generated_tasks_are_paired_and_others_are_held_together_by_seed(tmp_path: Path) -> None:
    one = [made(tmp_path, "reflexion", seed, "ab", "c" * (seed + 1), generated=True) for seed in (0, 1)]
    same = [made(tmp_path, "retry", seed, "a", "", generated=True) for seed in (0, 1)]
    (pair,) = compare([*one, *same]).pairs
    assert (pair.matches[0].solved, pair.matches[0].of, pair.matches[0].test.wins) == ((6, 2), 8, 4)
    others = [made(tmp_path, "last_attempt", seed, "abc"[seed - 4 :], "", generated=True) for seed in (4, 5)]
    (pair,) = compare([*one, *others]).pairs
    assert pair.matches == ()
    assert pair.notes[0] == "A and B cannot be paired: they have other tasks."
    # 3/4 twice against 3/4 and 2/4: t = 1 with one degree of freedom, whose p is a half.
    assert pair.notes[1] == (
        "Unpaired, over seeds: 75 ± 0 % (A) and 62 ± 18 % (B) after 2 trials (Welch's t-test, p = 0.500)."
    )
    (single,) = compare([one[0], others[0]]).pairs
    assert len(single.notes) == 1


def test_settings_that_tell_series_apart_are_told(tmp_path: Path) -> None:
    rows = [row("a", 1, True)]
    runs = [
        folder(tmp_path / f"m{size}", rows, ["a"], max_trials=1, memory_size=size, feedback="words")
        for size in (1, 3)
    ]
    comparison = compare(runs)
    assert "A: memory size 1 · B: memory size 3" in comparison.caption
    assert "feedback" not in comparison.caption


def test_every_seed_is_a_thin_line_of_the_figure(three: Comparison, tmp_path: Path) -> None:
    svg = draw(three.series)["success_by_trial"]
    thin = re.findall(r"stroke-opacity: 0\.4; stroke-width: 0\.7", svg)
    alone = draw(compare([tmp_path / "reflexion-s0"]).series)["success_by_trial"]
    assert len(thin) == 3
    assert "stroke-width: 0.7" not in alone


def test_curves_are_written_as_csv(three: Comparison, tmp_path: Path) -> None:
    write_curves(three.series, tmp_path / "new" / "curves.csv")
    with (tmp_path / "new" / "curves.csv").open(newline="") as file:
        first, last = csv.DictReader(file)
    assert (first["series"], first["trial"], last["mean"], last["sd"], last["min"]) == (
        *("reflexion", "1", "0.75", "0.25", "0.5"),
    )
    assert (last["max"], last["seeds"], last["tasks"]) == ("1.0", "3", "12")
    with pytest.raises(ConfigurationError, match="cannot write"):
        write_curves(three.series, tmp_path)


def test_an_experiments_folder_is_reported_by_the_names_of_its_series(tmp_path: Path) -> None:
    runs = [("reflexion", 0, "ab", "c"), ("reflexion", 1, "a", "b"), ("retry", 0, "a", ""), ("retry", 1, "b", "")]
    told = {}
    for strategy, seed, *solved in runs:
        made(tmp_path, strategy, seed, *solved)
        axes = {"environment": "x", "strategy": strategy, "seed": seed}
        told[f"{strategy}-s{seed}"] = {"series": f"x-{strategy}", "axes": axes}
    told["gone-s0"] = {"series": "gone", "axes": {}, "dropped": True}
    (tmp_path / "experiment.json").write_text(json.dumps({"created": "now", "runs": told}))
    comparison = compare_experiment(tmp_path)
    assert [each.label for each in comparison.series] == ["A x-reflexion", "B x-retry"]
    assert len(comparison.pairs) == 1
    printed = text(comparison)
    assert re.search(r"\n A x-reflexion +8 +38 ± 18 +62 ± 18 ", printed)
    assert "x-reflexion wins by trials" in printed
    assert with_folders([tmp_path]) == [tmp_path / f"{strategy}-s{seed}" for strategy, seed, *_ in runs]
    (tmp_path / "experiment.json").write_text("{}")
    with pytest.raises(ConfigurationError, match="holds no experiment that can be read"):
        compare_experiment(tmp_path)
