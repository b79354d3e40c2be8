import io
import re
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.experiments.comparison import compare
from langgraph_reflexion.experiments.figures import write_figures
from langgraph_reflexion.experiments.metrics import (
    failures_by_trial,
    measures_by_trial,
    rates,
    solved_by_trial,
    verdicts,
)
from langgraph_reflexion.experiments.terminal import print_comparison
from tests.bench.runs import SETTINGS, folder, row


def test_measures_are_means_over_all_tasks_of_the_answers_that_would_be_returned() -> None:
    rows = [
        row("a", 1, False, measures={"f1": 0.5}),
        row("a", 2, True, measures={"f1": 1.0}),
        row("b", 1, False, True, measures={"f1": 0.25}),
    ]
    # The third task has no trial yet, and counts as 0.
    assert measures_by_trial(rows, 2, 3) == {"f1": [0.25, 0.4167]}
    assert measures_by_trial([row("a", 1, True)], 1, 1) == {}, "recorded before there were any"


def test_measures_are_printed_first_and_last(tmp_path: Path) -> None:
    rows = [row("a", 1, False, measures={"f1": 0.5}), row("a", 2, True, measures={"f1": 1.0})]
    told = folder(tmp_path / "run", rows, ["a"])
    console = Console(width=100, record=True, file=io.StringIO())
    print_comparison(console, compare([told]))
    assert re.search(r"f1\s+0\.500 → 1\.000", console.export_text())


def test_a_solved_task_stays_solved() -> None:
    rows = [row("a", 1, True), row("b", 1, False), row("b", 2, True), row("c", 1, False), row("c", 2, False)]
    assert solved_by_trial(rows, 4) == [1, 2, 2, 2]


def test_an_accepted_wrong_answer_is_not_solved_however_good_an_earlier_one_was() -> None:
    rows = [row("a", 1, True, False), row("a", 2, False, True)]
    assert solved_by_trial(rows, 3) == [1, 0, 0]


def test_without_an_accepted_answer_the_best_scored_is_returned_the_latest_among_equals() -> None:
    rows = [
        row("a", 1, False, False, score=0.2),
        row("a", 2, True, False, score=0.7),
        row("a", 3, False, False, score=0.7),
        row("a", 4, True, False, score=0.1),
    ]
    assert solved_by_trial(rows, 4) == [0, 1, 0, 0]


def test_a_fault_is_the_last_resort_and_never_solved() -> None:
    fault: dict[str, Any] = {"stop_reason": "fault", "fault": "gone"}
    assert solved_by_trial([row("a", 1, True, False), row("a", 2, None, **fault)], 2) == [1, 1]
    assert solved_by_trial([row("a", 1, None, **fault)], 1) == [0]


def test_failures_are_counted_by_trial_and_reason_and_a_fault_is_no_wrong_answer() -> None:
    rows = [
        row("a", 1, False),
        row("a", 2, False, stop_reason="inefficient planning"),
        row("b", 1, False),
        row("b", 2, True),
        row("c", 1, None, stop_reason="fault", fault="gone"),
        row("d", 1, False, True),
        row("e", 1, None, False),
    ]
    first = {"fault": 1, "hallucination": 3, "wrong answer": 1}
    assert failures_by_trial(rows, 2) == [first, {"inefficient planning": 1}]


def test_verdicts_are_held_against_the_truth() -> None:
    rows = [row("a", 1, True), row("b", 1, False, True), row("c", 1, True, False), row("d", 1, None)]
    assert verdicts(rows) == {
        "true_positive": 1,
        "false_negative": 1,
        "false_positive": 1,
        "true_negative": 0,
    }


def test_rates_are_shares_of_the_same_verdict_as_in_the_papers_table() -> None:
    # HumanEval in Python: 142 right and 2 wrong of 144 accepted, 8 right and 12 wrong of 20 that were not.
    counts = {"true_positive": 142, "false_positive": 2, "false_negative": 8, "true_negative": 12}
    assert rates(counts) == {
        "true_positive": 0.9861,
        "false_positive": 0.0139,
        "false_negative": 0.4,
        "true_negative": 0.6,
    }
    assert set(rates(dict.fromkeys(counts, 0)).values()) == {None}


def test_answers_are_counted_once_for_each_task(tmp_path: Path) -> None:
    rows = [row("a", 1, False, False), row("a", 2, True, True), row("b", 1, False, False), row("b", 2, False, False)]
    (report,) = compare([folder(tmp_path / "run", rows, ["a", "b"], max_trials=2, evaluator="llm")]).runs
    none = {"false_negative": 0, "false_positive": 0}
    assert report.verdicts == {"true_positive": 1, "true_negative": 3, **none}
    assert report.answers == {"true_positive": 1, "true_negative": 1, **none}


def test_the_report_of_a_finished_run(tmp_path: Path) -> None:
    rows = [row("a", 1, True), row("b", 1, False), row("b", 2, False), row("b", 3, False)]
    (report,) = compare([folder(tmp_path / "run", rows, ["a", "b"])]).runs
    assert report.as_json() == {
        "dir": str(tmp_path / "run"),
        "settings": SETTINGS,
        "demo": True,
        "tasks": 2,
        "ungradable": 0,
        "unfinished": 0,
        "solved": [1, 1, 1],
        "measures": {},
        "failures": [{"hallucination": 1}] * 3,
        "tokens": [2020, 3030, 4040],
        "verdicts": None,
        "answers": None,
        "answer_rates": None,
        "llm_calls": 8,
        "input_tokens": 4000,
        "output_tokens": 40,
        "cached_calls": 0,
        "cost": 0.0,
        "seconds": 0.4,
        "per_solved": {"tokens": 4040.0, "cost": 0.0, "seconds": 0.4},
        "faults": 0,
        "errors": {},
        "notes": {},
    }


def test_the_curve_of_a_run_that_was_cut_short_ends_where_its_trials_end(tmp_path: Path) -> None:
    rows = [row("a", 1, True), row("b", 1, False)]
    (report,) = compare([folder(tmp_path / "run", rows, ["a", "b", "c"])]).runs
    assert (report.solved, report.unfinished) == ([1], 2)


def test_a_run_in_which_all_is_solved_early_keeps_its_value_to_the_last_trial(tmp_path: Path) -> None:
    (report,) = compare([folder(tmp_path / "run", [row("a", 1, True)], ["a"])]).runs
    assert report.solved == [1, 1, 1]


@pytest.mark.parametrize("width", [80, 120])
def test_several_runs_stand_side_by_side(tmp_path: Path, width: int) -> None:
    rows = [row("a", 1, True), row("b", 1, False), row("b", 2, True)]
    one = folder(tmp_path / "one", rows, ["a", "b"])
    other = folder(
        tmp_path / "two",
        [row("a", 1, True, False), row("b", 1, False, True), row("a", 2, None, fault="gone")],
        ["a", "b"],
        strategy="retry",
        model="openai:gpt-4o-mini",
        evaluator="llm",
    )
    console = Console(width=width, record=True, file=(tmp_path / "out").open("w"))
    with console.file:
        print_comparison(console, compare([one, other]))
    text = console.export_text()
    assert all(len(line) <= width for line in text.splitlines() if str(tmp_path) not in line)
    for said in (
        "generated-134 engine=textworld, 2 tasks",
        "demo model, not an LLM",
        "openai:gpt-4o-mini",
        "profile paper",
        "oracle",
        "verdicts by llm",
    ):
        assert said in text
    assert "A reflexion" in text
    assert "B retry" in text
    assert "false positive" in text
    lines = [line.split() for line in text.splitlines()]
    assert [line for line in lines if line and line[0] == "2" and "100%" in line]


def test_failures_of_many_tasks_and_trials_fit_into_a_terminal(tmp_path: Path) -> None:
    tasks = [f"t{number}" for number in range(134)]
    rows = [row(task, trial, False, stop_reason="inefficient planning") for task in tasks for trial in range(1, 13)]
    runs = [folder(tmp_path / name, rows, tasks, max_trials=12) for name in ("one", "two")]
    console = Console(width=80, record=True, file=(tmp_path / "out").open("w"))
    with console.file:
        print_comparison(console, compare(runs))
    assert " A inefficient planning " + " ".join(["134"] * 12) in console.export_text()


@pytest.mark.parametrize("made", [None, "empty", "foreign", "torn"])
def test_a_folder_without_a_run_is_named(tmp_path: Path, made: str | None) -> None:
    path = tmp_path / "run"
    if made:
        path.mkdir()
    if made == "foreign":
        (path / "run.json").write_text('{"name": "something else"}')
        (path / "trials.jsonl").write_text("")
    if made == "torn":
        (path / "run.json").write_text('{"settings": {')
        (path / "trials.jsonl").write_text("")
    with pytest.raises(ConfigurationError, match=str(path)):
        compare([path])


def test_tasks_that_cannot_be_graded_count_for_no_rate(tmp_path: Path) -> None:
    rows = [row("a", 1, True), row("b", 1, None, True, gradable=False), row("c", 1, False)]
    some = folder(tmp_path / "run", rows, ["a", "b", "c"], max_trials=1, evaluator="llm")
    only = [row("b", 1, None, True, gradable=False)]
    comparison = compare(
        [some, folder(tmp_path / "none", only, ["b"], max_trials=1, evaluator="llm", strategy="retry")]
    )
    report, none = (each.report for each in comparison.series)
    assert (report.tasks, report.ungradable, report.unfinished, report.solved) == (2, 1, 0, [1])
    assert sum((report.answers or {}).values()) == 2
    assert none.tasks == 0
    console = Console(file=io.StringIO(), width=100)
    print_comparison(console, comparison)
    assert "1 not gradable" in console.file.getvalue()  # type: ignore[attr-defined]
    write_figures(comparison.series, tmp_path / "figures")
