"""Imports of invented clones of the original, compared with the papers' tables."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from langgraph_reflexion import ConfigurationError
from langgraph_reflexion.lab.experiments.report import report_run
from langgraph_reflexion.lab.experiments.runner import resume
from langgraph_reflexion.lab.experiments.runs import read_run
from tests.replication.__main__ import app
from tests.replication.imports import Import, import_logs
from tests.replication.paper import Line, Paper, compare, published_tables
from tests.support.run_folders import folder, row
from tests.support.upstream_clone import (
    HUMANEVAL,
    MBPP,
    known,
    with_tests,
    write_clone,
    write_env_results,
    write_hotpotqa,
    write_problems,
)

QUESTIONS, PROGRAMS = Path("hotpotqa_runs", "root"), Path("programming_runs", "root")
ALFWORLD = Path("alfworld_runs", "root", "reflexion_run_logs")
HOTPOTQA = QUESTIONS / "ReAct" / "reflexion" / "100_questions_5_trials.txt"
PROGRAMMING = PROGRAMS / "mine" / "humaneval-py._reflexion_5_gpt-4_pass_at_k_1_py.jsonl"


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_clone(tmp_path_factory.mktemp("clone") / "reflexion")


@pytest.fixture(scope="module")
def imported(clone: Path) -> Import:
    return import_logs(clone, clone.parent / "out", known(clone))


@pytest.fixture(scope="module")
def paper(imported: Import) -> Paper:
    return compare([imported.folder])


def value(paper: Paper, title: str, row: str, column: str) -> list[tuple[str, str]]:
    """Return the counts and differences beside a published number."""
    (table,) = (name for name in paper.tables if name.startswith(title))
    lines = [line for line in paper.tables[table] if (line.number.row, line.number.column) == (row, column)]
    return [(line.counted, f"{line.difference:+.2f}") for line in lines if line.difference is not None]


def write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def solved(done: Import) -> dict[str, list[int]]:
    return {run["environment"]: run["solved"] for run in compare([done.folder]).as_json()["runs"]}


@pytest.mark.slow
def test_every_log_becomes_a_run_that_can_be_reported(imported: Import) -> None:
    assert len(imported.runs) == 31
    reports = [report_run(read_run(imported.folder / name)) for name in imported.runs]
    assert [report.unfinished for report in reports] == [0] * 31
    curves = dict(zip(imported.runs, (report.solved for report in reports), strict=True))
    assert curves["alfworld-reflexion_run_logs"][-4:] == [130, 131, 133, 134]
    assert curves["hotpotqa-CoT-context-reflexion"] == [61, 69, 69, 70, 72, 74, 75, 75]
    assert curves["webshop-reflexion_run_logs_1"] == [33, 33, 34, 35]
    assert curves["programming-simple_test_run-simple_1_gpt-3.5-turbo_pass_at_k_1"] == [42]
    assert (imported.left_out, imported.missing) == ([], [])
    noted = {name: run.notes for name, run in imported.runs.items() if run.notes}
    parts = [f"hotpotqa-ReAct-reflexion-100_questions_{part}" for part in ("5_trials", "trials_6_to_7")]
    assert list(noted) == parts, "parts of a run"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("alfworld-base_run_logs", {"environment": "alfworld", "strategy": "retry", "model": "text-davinci-002"}),
        ("hotpotqa-CoT-context-last_trial", {"actor": "cot-gt", "strategy": "last_attempt", "memory_size": 1}),
        ("programming-reflexion_mbpp_rs", {"strategy": "reflexion", "evaluator": "tests", "max_trials": 1}),
    ],
)
def test_the_settings_are_those_of_the_log_or_of_its_code(
    imported: Import, name: str, expected: dict[str, Any]
) -> None:
    settings = read_run(imported.folder / name).settings
    assert {key: settings[key] for key in expected} == expected
    assert settings["imported"]["source"] == imported.runs[name].source


@pytest.mark.slow
def test_every_published_number_has_a_log_and_differences_beyond_rounding_are_marked(paper: Paper) -> None:
    numbers = [number for table in published_tables().values() for number in table]
    assert all(number.source.startswith(("neurips, ", "preprint, ", "both, ")) for number in numbers)
    lines = [(re.split("[,:]", title)[0], line) for title, lines in paper.tables.items() for line in lines]
    assert len(lines) >= len(numbers)
    assert [f"{line.number.row}, {line.number.column}" for _, line in lines if not line.runs] == []
    differing = Counter(table for table, line in lines if line.differs)
    assert differing == {"Table 1": 5, "Table 2": 2, "Programming": 1, "HotPotQA": 5, "WebShop": 1}


@pytest.mark.parametrize(
    ("title", "row", "column", "counted"),
    [
        ("Table 1", "HumanEval (PY)", "Reflexion", [("150/164", "+0.46")]),
        ("Table 2", "HumanEval (PY)", "TP", [("142/144", "-0.00")]),
        ("Table 3", "Test generation omission", "reflection alone", [("26/50", "+0.00")]),
        ("Programming, in the text", "MBPP (PY)", "false positives", [("47/289", "-0.04")]),
        ("ALFWorld", "Reflexion over ReAct", "%, trial 12", [("130/134 - 101/134", "-0.36")]),
        ("ALFWorld", "ReAct", "gain, trial 6 to 7", [("101/134 - 101/134", "+0.00")]),
        ("HotPotQA", "ReAct + Reflexion", "%, trial 5", [("51/100", "+0.00")]),
        ("HotPotQA", "Reflexion over ReAct", "%, trial 5", [("51/100 - 34/100", "+0.00")]),
        ("WebShop", "ReAct + Reflexion", "%, trial 4", [("35/100", "+0.00"), ("35/100", "+0.00")]),
    ],
)
def test_a_published_number_is_compared_with_the_count(
    paper: Paper, title: str, row: str, column: str, counted: list[tuple[str, str]]
) -> None:
    assert value(paper, title, row, column) == counted


def test_a_moved_log_is_known_by_its_content_and_altered_rows_change_its_counts(tmp_path: Path, clone: Path) -> None:
    log = clone / PROGRAMS / "reflexion_humaneval_py_pass_at_1" / "reflexion_humaneval_py_pass_at_1.jsonl"
    write(tmp_path / "mine" / "log.jsonl", log.read_bytes().replace(b"\n", b"\r\n"))
    done = import_logs(tmp_path / "mine", tmp_path / "out", known(clone))
    assert value(compare([done.folder]), "Table 1", "HumanEval (PY)", "Reflexion") == [("150/164", "+0.46")]
    [trials] = done.folder.glob("*/trials.jsonl")
    trials.write_bytes(trials.read_bytes().replace(b'"success": true', b'"success": false', 1))
    altered = compare([done.folder])
    assert value(altered, "Table 1", "HumanEval (PY)", "Reflexion") == [("149/164", "-0.15")]
    assert value(altered, "Table 2", "HumanEval (PY)", "TP") == [("141/144", "-0.01")]


@pytest.mark.parametrize(("folder_name", "part"), [("reflexion_mbpp_py3", True), ("of_my_own", False)])
def test_partial_and_other_logs_are_not_compared_with_published_numbers(
    tmp_path: Path, folder_name: str, part: bool
) -> None:
    log = PROGRAMS / folder_name / "mbpp-py._reflexion_5_gpt-4_pass_at_k_1_py.jsonl"
    write_problems(tmp_path / log, with_tests(MBPP, (242, 289), (64, 108), 4))
    done = import_logs(tmp_path, tmp_path / "out", known(tmp_path) if part else None)
    assert solved(done) == {"programming": [306]}
    assert not [line for lines in compare([done.folder]).tables.values() for line in lines if line.runs]
    (run,) = done.runs.values()
    assert "not in the papers' tables" in run.notes[0]


def test_unreadable_parts_of_logs_are_named_and_the_rest_is_counted(tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    write_env_results(clone / ALFWORLD, [50, 80, 90], 134)
    results = clone / ALFWORLD / "env_results_trial_1.json"
    results.write_bytes(results.read_bytes()[:-20])
    log = write_hotpotqa(clone / HOTPOTQA, [32, 42], reflects=True)
    log.write_bytes(log.read_bytes()[:-40])
    programs = write_problems(clone / PROGRAMMING, with_tests(HUMANEVAL, (142, 144), (8, 20), 4))
    lines = programs.read_bytes().splitlines(keepends=True)
    programs.write_bytes(b"".join([*lines, lines[0], b"5\n", lines[1][:-20]]))
    write(log.with_name("a.joblib"), b"")
    done = import_logs(clone, tmp_path / "out")
    assert solved(done) == {"alfworld": [50, 50, 90], "hotpotqa": [32, 42], "programming": [150]}
    notes = "\n".join(note for run in done.runs.values() for note in run.notes)
    for said in ("trial_1.json cannot be read", "no trial 2:", "cut off", "1 problem listed twice", "line 166 "):
        assert said in notes
    assert [Path(source).name for source, _ in done.left_out] == ["a.joblib"]


@pytest.mark.parametrize(
    ("log", "content", "says"),
    [
        (ALFWORLD / "env_results_trial_5.json", b"[]", "lists no task"),
        (ALFWORLD / "env_results_trial_5.json", b"[" * 9999, "trial_5.json cannot be read"),
        (ALFWORLD / "env_results_trial_5.json", b'[{"name": "a", "is_success": "false"}]', "is_success must be"),
        (ALFWORLD / "env_results_trial_5.json", b'[{"name": "a", "is_success": true, "memory": "b"}]', "memory must"),
        (ALFWORLD / "env_results_trial_5.json", "[]".encode("utf-16"), "line 1, is not UTF-8"),
        (PROGRAMMING, b'{"task_id": "a", "is_solved": "false"}', "line 1 is left out: is_solved must be"),
        (PROGRAMMING, b'{"task_id": null, "is_solved": true}', "line 1 is left out: task_id must be"),
        (HOTPOTQA, b"BEGIN TRIAL 1\nQuestion: caf\xe9?", "line 2, is not UTF-8"),
    ],
)
def test_a_log_that_does_not_say_what_was_solved_is_refused(
    tmp_path: Path, log: Path, content: bytes, says: str
) -> None:
    write(tmp_path / "clone" / log, content)
    with pytest.raises(ConfigurationError, match=f"holds no log .*{says}"):
        import_logs(tmp_path / "clone", tmp_path / "out")


def test_tasks_that_are_listed_twice_or_not_at_all_are_noted(tmp_path: Path) -> None:
    for number, listed in ((4, "aa"), (5, "ab")):
        entries = [{"name": name, "is_success": index == 0} for index, name in enumerate(listed)]
        write(tmp_path / ALFWORLD / f"env_results_trial_{number}.json", json.dumps(entries).encode())
    (run,) = import_logs(tmp_path, tmp_path / "out").runs.values()
    assert [note.partition(":")[2][:20] for note in run.notes[:2]] == [" 1 task listed twice", " 1 task of other tri"]


def test_a_part_of_a_clone_can_be_imported_into_an_empty_folder(tmp_path: Path, clone: Path) -> None:
    part = import_logs(clone / "webshop_runs", tmp_path / "out")
    assert {run.settings["environment"] for run in part.runs.values()} == {"webshop"}
    assert part.missing == ["ALFWorld", "HotPotQA", "programming"]
    log = clone / QUESTIONS / "ReAct" / "base" / "100_questions_5_trials.txt"
    assert list(import_logs(log, tmp_path / "one").runs) == ["hotpotqa-ReAct-base"]
    with pytest.raises(ConfigurationError, match="not empty"):
        import_logs(clone / "alfworld_runs", tmp_path)


def test_an_import_that_fails_midway_leaves_nothing_and_can_be_repeated(tmp_path: Path) -> None:
    logs, out = tmp_path / "clone" / "alfworld_runs", tmp_path / "runs" / "out"
    write_env_results(logs / "base_run_logs", [1, 2], 3)
    unwritable = write_env_results(logs / ("x" * 200) / ("y" * 200), [1, 2], 3)  # too long for a folder's name
    with pytest.raises(ConfigurationError, match="cannot write"):
        import_logs(logs, out)
    assert list(out.parent.iterdir()) == []
    unwritable.rename(logs / "reflexion_run_logs")
    assert len(import_logs(logs, out).runs) == len(compare([out]).runs) == 2


def test_incomplete_imports_are_named_and_cannot_be_resumed(tmp_path: Path, clone: Path) -> None:
    done = import_logs(clone / "alfworld_runs", tmp_path / "out")
    with pytest.raises(ConfigurationError, match="imported"):
        resume(done.folder / "alfworld-base_run_logs")
    trials = done.folder / "alfworld-base_run_logs" / "trials.jsonl"
    trials.write_bytes(b"".join(trials.read_bytes().splitlines(keepends=True)[1:]))
    (done.folder / "foreign").mkdir()
    (done.folder / "foreign" / "run.json").write_text("{}")
    notes = " ".join(compare([done.folder]).notes)
    for said in ("no HotPotQA log", "1 of 134 tasks are unfinished", "Left out: "):
        assert said in notes
    with pytest.raises(ConfigurationError, match="neither a run nor an import"):
        compare([tmp_path / "none"])


def beside(path: Path) -> dict[tuple[str, str, str], Line]:
    """Return the lines of a run by table, row and column."""
    return {
        (re.split("[,:]", title)[0], line.number.row, line.number.column): line
        for title, lines in compare([path]).tables.items()
        for line in lines
        if line.runs
    }


def test_your_own_programs_are_counted_by_their_last_trial(tmp_path: Path) -> None:
    verdicts = {"a": [(False, False), (True, True)], "b": [(False, True)], "c": [(False, False), (True, False)]}
    verdicts["d"] = [(False, False)] * 2
    rows = [row(task, trial, *each) for task, tried in verdicts.items() for trial, each in enumerate(tried, 1)]
    options = {"path": "data/humaneval-rs-hardest50.jsonl.gz", "language": "rust"}
    settings: dict[str, Any] = {"environment": "programming", "split": "file", "options": options, "actor": "code"}
    lines = beside(folder(tmp_path / "own", rows, list("abcd"), evaluator="tests", max_trials=2, **settings))
    assert {name for _, name, _ in lines} == {"HumanEval (RS)", "Reflexion"}
    assert {lines["Table 2", "HumanEval (RS)", column].counted for column in ("TP", "FP", "FN", "TN")} == {"1/2"}
    assert lines["Table 3", "Reflexion", "both"].counted == "2/4"


@pytest.mark.parametrize(
    ("settings", "rows_of"),
    [
        ({"environment": "hotpotqa", "actor": "tools"}, {"ReAct + Reflexion"}),
        ({"environment": "programming", "actor": "code", "split": "own"}, set()),
    ],
)
def test_your_own_runs_are_compared_with_numbers_of_their_kind(
    tmp_path: Path, settings: dict[str, Any], rows_of: set[str]
) -> None:
    rows = [row("a", 1, True), *(row("b", trial, False) for trial in range(1, 13))]
    lines = beside(folder(tmp_path / "own", rows, ["a", "b"], **({"options": {}, "max_trials": 12} | settings)))
    assert {name for _, name, _ in lines} == rows_of
    assert not [line for line in lines.values() if line.number.unit == "tasks"], "the run has fewer tasks"


@pytest.mark.slow
def test_the_commands_import_and_compare(tmp_path: Path, clone: Path, imported: Import) -> None:
    def call(*arguments: object) -> Result:
        done = CliRunner().invoke(app, [*map(str, arguments)])
        assert done.exit_code == 0, done.output
        return done

    out, own = tmp_path / "out", folder(tmp_path / "own", [row("a", 1, True)], ["a"], max_trials=1, strategy="retry")
    done = call("import", clone / "alfworld_runs", "--out", out)
    assert "alfworld-base_run_logs: 84 94 97 98 100 101 101 of 134" in done.stdout
    assert "no WebShop log" in done.stderr
    text = call("tables", imported.folder, own).stdout
    for said in ("yours: ", "oracle", "130/134", "≠", "temperature 0.7"):
        assert said in text
    assert "no log" in call("tables", out, own).stdout
    alone = call("tables", own).stdout
    assert ("ALFWorld" in alone, "Programming" in alone) == (True, False), "nothing is printed without a row"
    assert json.loads(call("tables", out, own, "--json").stdout)["runs"][-1]["imported"] is False
