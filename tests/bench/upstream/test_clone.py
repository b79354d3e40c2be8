"""A whole clone: what is imported, what the papers' tables say of it, and which numbers are not the papers'."""

import json
from pathlib import Path
from typing import Any

import pytest

from langgraph_reflexion import ConfigurationError
from langgraph_reflexion.experiments.record import read_run
from langgraph_reflexion.experiments.report import report_run
from langgraph_reflexion.experiments.runner import resume
from langgraph_reflexion.replication.imports import Import, import_logs
from langgraph_reflexion.replication.paper import Paper, compare
from langgraph_reflexion.replication.published import mismatches, published_tables
from tests.bench.upstream.clone import LEET, MBPP, known, with_tests, write_clone, write_problems
from tests.bench.upstream.logs import ROOT, compared


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Import:
    folder = tmp_path_factory.mktemp("clone")
    clone = write_clone(folder / "reflexion")
    return import_logs(clone, folder / "out", known(clone))


@pytest.fixture(scope="module")
def paper(imported: Import) -> Paper:
    return compare([imported.folder])


def value(paper: Paper, title: str, row: str, column: str) -> list[tuple[str, str]]:
    """What a table has beside a published number: how it was counted, and the difference as it is shown."""
    (table,) = (name for name in paper.tables if name.startswith(title))
    lines = [line for line in paper.tables[table] if (line.number.row, line.number.column) == (row, column)]
    return [(line.counted, f"{line.difference:+.2f}") for line in lines if line.difference is not None]


def test_every_log_is_a_run_folder_that_is_reported(imported: Import) -> None:
    assert len(imported.runs) == 31
    reports = [report_run(read_run(imported.folder / name)) for name in imported.runs]
    assert [report.unfinished for report in reports] == [0] * 31
    curves = dict(zip(imported.runs, (report.solved for report in reports), strict=True))
    assert curves["alfworld-reflexion_run_logs"][-4:] == [130, 131, 133, 134]
    assert curves["hotpotqa-CoT-context-reflexion"] == [61, 69, 69, 70, 72, 74, 75, 75]
    assert curves["hotpotqa-CoT-no_context-last_trial"] == [32, 34, 35, 36, 37, 38]
    assert curves["hotpotqa-CoT-no_context-last_trial_and_reflexion"] == [31, 33, 34, 35, 35, 35]
    assert curves["hotpotqa-CoT-no_context-reflexion"] == [32, 37, 40, 40, 40]
    assert curves["webshop-reflexion_run_logs_1"] == [33, 33, 34, 35]
    assert curves["programming-simple_test_run-simple_1_gpt-3.5-turbo_pass_at_k_1"] == [42]
    assert (imported.left_out, imported.missing) == ([], [])


def test_whole_logs_have_nothing_irregular(imported: Import) -> None:
    part = "in none of the papers' tables, as it holds 99 questions, and trials 6 and 7 of 7 alone"
    noted = {name: run.notes for name, run in imported.runs.items() if run.notes}
    assert noted == {"hotpotqa-ReAct-reflexion-100_questions_trials_6_to_7": [part]}


def test_every_log_of_the_clone_lies_where_the_originals_does(imported: Import) -> None:
    assert [run.source for run in imported.runs.values() if run.settings["imported"]["original"] != run.source] == []


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("alfworld-base_run_logs", {"environment": "alfworld", "strategy": "retry", "model": "text-davinci-002"}),
        ("webshop-reflexion_run_logs_2", {"environment": "webshop", "strategy": "reflexion", "memory_size": 3}),
        ("hotpotqa-ReAct-base", {"actor": "react", "strategy": "retry", "model": "text-davinci-003"}),
        ("hotpotqa-CoT-context-last_trial", {"actor": "cot-gt", "strategy": "last_attempt", "memory_size": 1}),
        (
            "hotpotqa-CoT-context-last_trial_and_reflexion",
            {"actor": "cot-gt", "strategy": "last_attempt_and_reflexion", "evaluator": "environment"},
        ),
        ("programming-reflexion_mbpp_rs", {"strategy": "reflexion", "evaluator": "tests", "max_trials": 1}),
        (
            "programming-simple_mbpp_py",
            {"strategy": "retry", "evaluator": "environment", "model": "gpt-4", "profile": "upstream"},
        ),
    ],
)
def test_the_settings_are_those_of_the_log_or_of_the_code_of_its_date(
    imported: Import, name: str, expected: dict[str, object]
) -> None:
    settings = json.loads((imported.folder / name / "run.json").read_text(encoding="utf-8"))["settings"]
    assert {key: settings[key] for key in expected} == expected
    assert settings["imported"]["source"] == imported.runs[name].source


def test_every_published_number_stands_beside_a_log(paper: Paper) -> None:
    lines = [line for table in paper.tables.values() for line in table]
    assert len(lines) >= sum(len(table.numbers) for table in published_tables())
    assert [f"{line.number.row}, {line.number.column}" for line in lines if not line.runs] == []


@pytest.mark.parametrize(
    ("title", "row", "column", "counted"),
    [
        ("Table 1", "HumanEval (PY)", "Reflexion", [("150/164", "+0.46")]),
        ("Table 1", "HumanEval (PY)", "base", [("134/164", "+1.61")]),
        ("Table 1", "HumanEval (RS)", "Reflexion", [("34/50", "+0.00")]),
        ("Table 1", "MBPP (PY)", "Reflexion", [("306/397", "-0.02")]),
        ("Table 1", "MBPP (RS)", "base", [("252/354", "+0.29")]),
        ("Table 1", "MBPP (RS)", "Reflexion", [("268/354", "+0.31")]),
        ("Table 1", "Leetcode Hard (PY)", "base", [("4/40", "+2.50")]),
        ("Table 1", "Leetcode Hard (PY)", "Reflexion", [("6/40", "+0.00")]),
        ("Table 2", "HumanEval (PY)", "TP", [("142/144", "-0.00")]),
        ("Table 2", "HumanEval (PY)", "FP", [("2/144", "+0.00")]),
        ("Table 2", "HumanEval (PY)", "FN", [("8/20", "+0.00")]),
        ("Table 2", "HumanEval (PY)", "TN", [("12/20", "+0.00")]),
        ("Table 2", "MBPP (PY)", "TP", [("242/289", "-0.00")]),
        ("Table 2", "MBPP (PY)", "FN", [("64/108", "+0.00")]),
        ("Table 2", "HumanEval (RS)", "FP", [("4/31", "-0.00")]),
        ("Table 2", "HumanEval (RS)", "FN", [("7/19", "-0.00")]),
        ("Table 2", "MBPP (RS)", "TN", [("45/92", "-0.00")]),
        ("Table 3", "Test generation omission", "reflection alone", [("26/50", "+0.00")]),
        ("Table 3", "Self-reflection omission", "tests alone", [("30/50", "+0.00")]),
        ("Programming, in the text", "MBPP (PY)", "false positives", [("47/289", "-0.04")]),
        ("ALFWorld", "ReAct + Reflexion", "tasks, trial 12", [("130/134", "+0.00")]),
        ("ALFWorld", "Reflexion over ReAct", "%, trial 12", [("130/134 - 101/134", "-0.36")]),
        ("ALFWorld", "ReAct", "gain, trial 6 to 7", [("101/134 - 101/134", "+0.00")]),
        ("HotPotQA", "ReAct + Reflexion", "%, trial 5", [("51/100", "+0.00")] * 2),
        ("HotPotQA", "ReAct + Reflexion", "%, trial 7", [("53/100", "-1.00")]),
        ("HotPotQA", "ReAct + Reflexion", "gain, trial 1 to 7", [("53/100 - 32/100", "-1.00")]),
        ("HotPotQA", "Reflexion over ReAct", "%, trial 5", [("51/100 - 34/100", "+0.00")] * 2),
        (
            "HotPotQA",
            "Reflexion over ReAct",
            "%, last trial",
            [("51/100 - 34/100", "-3.00"), ("53/100 - 34/100", "-1.00")],
        ),
        ("HotPotQA", "CoT", "gain, first to last", [("33/100 - 32/100", "+1.00")]),
        ("HotPotQA", "CoT (GT) + Reflexion", "gain, first to last", [("75/100 - 61/100", "+0.00")]),
        ("HotPotQA", "CoT (GT), EPM + Reflexion over EPM", "%, last trial", [("74/100 - 66/100", "+0.00")]),
        ("WebShop", "ReAct", "%, trial 4", [("34/100", "+0.00")]),
        ("WebShop", "ReAct + Reflexion", "%, trial 4", [("35/100", "+0.00"), ("35/100", "+0.00")]),
    ],
)
def test_a_published_number_beside_what_was_counted(
    paper: Paper, title: str, row: str, column: str, counted: list[tuple[str, str]]
) -> None:
    assert value(paper, title, row, column) == counted


def test_what_differs_by_more_than_rounding_is_marked(paper: Paper) -> None:
    differing = [
        (title.split(",")[0].split(":")[0], line.number.row, line.number.column)
        for title, lines in paper.tables.items()
        for line in lines
        if line.differs
    ]
    assert differing == [
        ("Table 1", "HumanEval (PY)", "base"),
        ("Table 1", "HumanEval (PY)", "Reflexion"),
        ("Table 1", "MBPP (RS)", "base"),
        ("Table 1", "MBPP (RS)", "Reflexion"),
        ("Table 1", "Leetcode Hard (PY)", "base"),
        ("Table 2", "HumanEval (PY)", "base"),
        ("Table 2", "MBPP (RS)", "Reflexion"),
        ("Programming", "HumanEval (PY)", "gain"),
        ("HotPotQA", "ReAct + Reflexion", "%, trial 7"),
        ("HotPotQA", "ReAct + Reflexion", "gain, trial 1 to 7"),
        ("HotPotQA", "Reflexion over ReAct", "%, trial 7"),
        ("HotPotQA", "Reflexion over ReAct", "%, last trial"),
        ("HotPotQA", "Reflexion over ReAct", "%, last trial"),
        ("HotPotQA", "CoT", "gain, first to last"),
        ("WebShop", "ReAct", "%, trial 1"),
    ]


def test_every_number_has_a_source_and_every_environment_its_mismatches() -> None:
    numbers = [number for table in published_tables() for number in table.numbers]
    assert all(number.source.startswith(("neurips, ", "preprint, ", "both, ")) for number in numbers)
    assert {each.environment for each in mismatches()} == {"alfworld", "hotpotqa", "programming", "webshop"}


def test_with_one_row_altered_the_counts_move(tmp_path: Path) -> None:
    clone = write_clone(tmp_path / "reflexion")
    again = import_logs(clone, tmp_path / "out", known(clone))
    trials = again.folder / "programming-reflexion_humaneval_py_pass_at_1" / "trials.jsonl"
    rows = [json.loads(line) for line in trials.read_text(encoding="utf-8").splitlines()]
    assert (rows[0]["success"], rows[0]["verdict"]) == (True, True)
    rows[0]["success"] = False
    trials.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    altered = compare([again.folder])
    assert value(altered, "Table 1", "HumanEval (PY)", "Reflexion") == [("149/164", "-0.15")]
    assert value(altered, "Table 2", "HumanEval (PY)", "TP") == [("141/144", "-0.01")]
    (run,) = (run for run in altered.as_json()["runs"] if run["name"] == trials.parent.name)
    assert run["solved"] == [149]


def test_with_one_entry_of_a_log_altered_its_curve_moves(tmp_path: Path) -> None:
    clone = write_clone(tmp_path / "reflexion")
    path = clone / "alfworld_runs" / "root" / "base_run_logs" / "env_results_trial_0.json"
    path.write_text(path.read_text(encoding="utf-8").replace("true", "false", 1), encoding="utf-8")
    import_logs(clone, tmp_path / "out")
    (run,) = (r for r in compare([tmp_path / "out"]).as_json()["runs"] if r["name"] == "alfworld-base_run_logs")
    assert run["solved"] == [83, 94, 97, 98, 100, 101, 101]


def test_trials_keep_their_numbers(paper: Paper) -> None:
    runs = {run["name"]: run for run in paper.as_json()["runs"]}
    later = runs["hotpotqa-ReAct-reflexion-100_questions_trials_6_to_7"]
    assert (later["trials"], later["solved"]) == ([6, 7], [53, 53])
    assert runs["alfworld-base_run_logs"]["trials"] == [1, 2, 3, 4, 5, 6, 7]


def test_a_clone_in_parts_gives_the_same_counts(tmp_path: Path) -> None:
    clone = write_clone(tmp_path / "reflexion")
    part = import_logs(clone / "webshop_runs", tmp_path / "out")
    told = {name: (run.settings["environment"], len(run.tasks)) for name, run in part.runs.items()}
    assert told["webshop-base_run_logs_2"] == ("webshop", 100)
    assert part.missing == ["ALFWorld", "HotPotQA", "programming"]
    one = import_logs(clone / f"hotpotqa_runs/{ROOT}/ReAct/base/100_questions_5_trials.txt", tmp_path / "one")
    assert list(one.runs) == ["hotpotqa-ReAct-base"]


@pytest.mark.parametrize(
    ("log", "rows"),
    [
        (
            "reflexion_mbpp_py3/mbpp-py._reflexion_5_gpt-4_pass_at_k_1_py.jsonl",
            with_tests(MBPP, (242, 289), (64, 108), 4),
        ),
        (
            "reflexion_leetcode_python3_gpt4_react/"
            "leetcode-hard-py-40-uncontaminated._reflexion_5_gpt-4_pass_at_k_1_py.jsonl",
            with_tests(LEET, (5, 16), (1, 24), 4),
        ),
    ],
)
def test_a_log_that_is_listed_as_a_part_is_compared_with_no_number(
    tmp_path: Path, log: str, rows: list[dict[str, Any]]
) -> None:
    clone = tmp_path / "reflexion"
    write_problems(clone / "programming_runs" / "root" / log, rows)
    listed = import_logs(clone, tmp_path / "out", known(clone))
    assert compared(listed) == {}
    # It is whole by its name and its rows, so that nothing else keeps it out.
    assert compared(import_logs(clone, tmp_path / "out"))


def test_an_import_replaces_an_import_and_nothing_else(tmp_path: Path) -> None:
    clone, out = write_clone(tmp_path / "reflexion"), tmp_path / "out"
    import_logs(clone, out)
    (out / "webshop-base_run_logs_1" / "mine.txt").write_text("mine")
    import_logs(clone / "alfworld_runs", out)
    left = sorted(path.name for path in out.iterdir())
    alfworld = ["alfworld-base_run_logs", "alfworld-reflexion_run_logs"]
    assert left == [*alfworld, "import.json", "webshop-base_run_logs_1"]
    assert [path.name for path in (out / "webshop-base_run_logs_1").iterdir()] == ["mine.txt"]
    other = tmp_path / "other"
    other.mkdir()
    (other / "mine.txt").write_text("mine")
    with pytest.raises(ConfigurationError, match="holds something else"):
        import_logs(clone, other)
    assert [path.name for path in other.iterdir()] == ["mine.txt"]


def test_a_run_of_ones_own_that_lies_in_an_import_stays(tmp_path: Path) -> None:
    clone, out = write_clone(tmp_path / "reflexion"), tmp_path / "out"
    import_logs(clone / "alfworld_runs", out)
    mine = out / "webshop-base_run_logs_1" / "run.json"
    mine.parent.mkdir()
    mine.write_text("mine")
    with pytest.raises(ConfigurationError, match="base_run_logs_1 holds a run that was not imported"):
        import_logs(clone / "webshop_runs", out)
    assert mine.read_text() == "mine"
    runs = [run["name"] for run in compare([out]).as_json()["runs"]]
    assert runs == ["alfworld-base_run_logs", "alfworld-reflexion_run_logs"]


@pytest.mark.parametrize("name", ["..", "", "a/b", "/tmp"])
def test_a_list_of_runs_that_leads_out_of_its_folder_is_refused(tmp_path: Path, name: str) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "import.json").write_text(json.dumps({"runs": [name]}))
    (tmp_path / "run.json").write_text("mine")
    with pytest.raises(ConfigurationError, match="a run that is no folder of it"):
        import_logs(write_clone(tmp_path / "reflexion") / "alfworld_runs", out)
    assert (tmp_path / "run.json").read_text() == "mine"


def test_a_run_that_lost_rows_is_told(tmp_path: Path) -> None:
    done = import_logs(write_clone(tmp_path / "reflexion") / "alfworld_runs", tmp_path / "out")
    trials = done.folder / "alfworld-base_run_logs" / "trials.jsonl"
    lines = trials.read_text(encoding="utf-8").splitlines(keepends=True)
    trials.write_text("".join(lines[1:]), encoding="utf-8")
    told = compare([done.folder])
    assert "alfworld-base_run_logs: 1 of 134 tasks are unfinished" in told.notes
    assert told.as_json()["runs"][0]["solved"] == [83, 93, 96, 97, 99, 100, 100]


def test_an_import_that_was_cut_short_is_told(tmp_path: Path) -> None:
    done = import_logs(write_clone(tmp_path / "reflexion"), tmp_path / "out")
    listed = json.loads((done.folder / "import.json").read_text(encoding="utf-8"))
    (done.folder / "import.json").write_text(json.dumps(listed | {"complete": False}), encoding="utf-8")
    (done.folder / "alfworld-base_run_logs" / "run.json").unlink()
    told = compare([done.folder])
    assert "alfworld-base_run_logs: the run is gone" in told.notes[0]
    assert "the import was cut short" in told.notes[1]
    assert len(told.runs) == len(done.runs) - 1


def test_an_import_is_no_run_to_go_on_with(imported: Import) -> None:
    folder = imported.folder / "alfworld-base_run_logs"
    with pytest.raises(ConfigurationError, match=r"logs holds an imported log, and nothing to go on with$"):
        resume(folder)
    assert not (folder / "lock").exists()
