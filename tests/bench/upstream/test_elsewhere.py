"""Logs that lie elsewhere, or are altered: which run they are of, and which numbers they are compared with."""

import json
import os
import shutil
from pathlib import Path

import pytest

from langgraph_reflexion.experiments.record import read_run
from langgraph_reflexion.replication.imports import Import, import_logs
from tests.bench.upstream.clone import known, simple, write_clone, write_env_results, write_hotpotqa, write_problems
from tests.bench.upstream.logs import NAMELESS, ROOT, compared, only

HOTPOTQA = f"hotpotqa_runs/{ROOT}/ReAct"
PROGRAMMING = f"programming_runs/{ROOT}"
PUBLISHED = f"{PROGRAMMING}/reflexion_humaneval_py_pass_at_1/reflexion_humaneval_py_pass_at_1.jsonl"
OTHER_MODEL = f"{PROGRAMMING}/simple_test_run/simple_1_gpt-3.5-turbo_pass_at_k_1.jsonl"


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_clone(tmp_path_factory.mktemp("clone") / "reflexion")


def elsewhere(clone: Path, tmp_path: Path, log: str, place: str) -> Import:
    """Import a copy of a log of a clone."""
    copy = tmp_path / "copy" / place
    copy.parent.mkdir(parents=True, exist_ok=True)
    if (clone / log).is_dir():
        shutil.copytree(clone / log, copy)
    else:
        shutil.copy(clone / log, copy)
    return import_logs(copy, tmp_path / "out", known(clone))


@pytest.mark.parametrize(
    ("log", "place"),
    [
        ("webshop_runs/reflexion_run_logs_1", "mine"),
        ("webshop_runs/reflexion_run_logs_1", f"alfworld_runs/{ROOT}/base_run_logs"),
        (f"alfworld_runs/{ROOT}/reflexion_run_logs", "my_logs"),
        (f"{HOTPOTQA}/reflexion/100_questions_7_trials.txt", "ReAct-llama-70b/base/log.txt"),
        (f"{HOTPOTQA}/reflexion/100_questions_trials_6_to_7.txt", "gpt-4/100_questions_5_trials.txt"),
        (PUBLISHED, "a.jsonl"),
        (OTHER_MODEL, "a.jsonl"),
        (OTHER_MODEL, PUBLISHED),
        (f"{PROGRAMMING}/reflexion_mbpp_py/mbpp-py._reflexion_5_gpt-4_pass_at_k_1_py.jsonl", "a.jsonl"),
    ],
)
def test_a_copy_is_of_the_same_run_and_has_the_same_rows(clone: Path, tmp_path: Path, log: str, place: str) -> None:
    there = import_logs(clone / log, tmp_path / "there", known(clone))
    copied = elsewhere(clone, tmp_path, log, place)
    (settings, rows, trajectories, _), (same, *listed, notes) = only(there), only(copied)
    assert notes[:1] == [f"it is the original's log {log}"]
    assert [rows, trajectories] == listed
    assert {key: value for key, value in settings.items() if key != "imported"} == {
        key: value for key, value in same.items() if key != "imported"
    }
    assert compared(copied) == compared(there)


def test_line_ends_of_another_system_make_no_other_log(clone: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes((clone / PUBLISHED).read_bytes().replace(b"\n", b"\r\n"))
    done = import_logs(copy, tmp_path / "out", known(clone))
    assert compared(done)["Table 1", "HumanEval (PY)", "Reflexion"] == "150/164"


def test_a_log_has_its_place_whatever_path_led_to_it(
    clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "link").symlink_to(clone / HOTPOTQA)
    monkeypatch.chdir(clone / HOTPOTQA / "base")
    told = [
        [run.source for run in import_logs(path, tmp_path / "out", known(clone)).runs.values()]
        for path in (clone / HOTPOTQA, Path(os.pardir), Path(os.pardir, os.pardir, "ReAct"), tmp_path / "link")
    ]
    assert told[0][0] == f"{HOTPOTQA}/base/100_questions_5_trials.txt"
    assert told == [told[0]] * 4


@pytest.mark.parametrize(
    ("log", "lines", "why"),
    [
        (PUBLISHED, 40, NAMELESS),
        (PUBLISHED, 163, NAMELESS),
        (
            f"{PROGRAMMING}/simple_mbpp_py/mbpp-py._simple_1_gpt-4_pass_at_k_1_py.jsonl",
            40,
            "in none of the papers' tables, as it is not whole",
        ),
    ],
)
def test_the_first_lines_of_a_log_at_its_own_path_are_compared_with_no_number(
    clone: Path, tmp_path: Path, log: str, lines: int, why: str
) -> None:
    path = tmp_path / "reflexion" / log
    path.parent.mkdir(parents=True)
    text = (clone / log).read_text(encoding="utf-8")
    path.write_text("".join(text.splitlines(keepends=True)[:lines]), encoding="utf-8")
    done = import_logs(tmp_path / "reflexion", tmp_path / "out", known(clone))
    assert only(done)[3][-1] == why
    assert compared(done) == {}


def test_another_run_is_compared_if_it_names_its_model_and_is_whole(tmp_path: Path) -> None:
    names = ("simple_1_gpt-4_pass_at_k_1.jsonl", "simple_1_gpt-4o_pass_at_k_1.jsonl", "simple.jsonl")
    counted = []
    for name in names:
        path = write_problems(tmp_path / "logs" / name, simple("HumanEval/{}", 100, 164))
        counted.append(compared(import_logs(path, tmp_path / "out")).get(("Table 1", "HumanEval (PY)", "base")))
    assert counted == ["100/164", None, None]


def test_problems_in_a_language_that_the_papers_do_not_have_are_imported(tmp_path: Path) -> None:
    path = write_problems(tmp_path / "mbpp-go_simple_1_gpt-4_pass_at_k_1_go.jsonl", simple("mbpp_{}", 20, 40))
    done = import_logs(path, tmp_path / "out")
    assert only(done)[0]["imported"]["benchmark"] == "mbpp-go"
    assert compared(done) == {}


def test_forty_problems_of_any_name_are_not_leetcodes(tmp_path: Path) -> None:
    rows = simple("mine-{}", 20, 40)
    own = write_problems(tmp_path / "mine_simple_1_gpt-4_pass_at_k_1_py.jsonl", rows)
    assert compared(import_logs(own, tmp_path / "out")) == {}
    leetcode = write_problems(tmp_path / "leetcode-hard-py_simple_1_gpt-4_pass_at_k_1_py.jsonl", rows)
    assert compared(import_logs(leetcode, tmp_path / "out")) == {("Table 1", "Leetcode Hard (PY)", "base"): "20/40"}


@pytest.mark.parametrize("name", ["a.jsonl", "humaneval-py._reflexion_3_gpt-4_pass_at_k_1_py.jsonl"])
def test_verdicts_are_not_made_up_where_it_is_not_known_how_many_reflections_were_allowed(
    clone: Path, tmp_path: Path, name: str
) -> None:
    path = tmp_path / name
    shutil.copy(clone / PUBLISHED, path)
    done = import_logs(path, tmp_path / "out")
    assert {row["verdict"] for row in only(done)[1]} == {None}
    assert not {column for _, _, column in compared(done)} & {"TP", "FN", "FP", "TN", "false positives"}


@pytest.mark.parametrize(
    ("place", "tasks", "environment"),
    [
        ("mine", 134, "alfworld"),
        ("mine", 100, "webshop"),
        ("webshop_runs/mine", 57, "webshop"),
        (f"alfworld_runs/{ROOT}/mine", 100, "alfworld"),
    ],
)
def test_results_of_environments_are_known_by_their_folder_or_their_number(
    tmp_path: Path, place: str, tasks: int, environment: str
) -> None:
    done = import_logs(write_env_results(tmp_path / place, [30, 40], tasks), tmp_path / "out")
    settings, _, _, notes = only(done)
    assert {settings["environment"], settings["imported"]["benchmark"]} == {environment}
    assert (settings["model"], settings["strategy"]) == ("not logged", "not logged")
    assert notes[-1] == NAMELESS
    assert compared(done) == {}


def test_results_of_an_unknown_environment_are_left_out(tmp_path: Path) -> None:
    write_env_results(tmp_path / "logs" / "mine", [30], 57)
    done = import_logs(tmp_path / "logs", tmp_path / "out")
    assert done.left_out == [("mine", "57 environments, not known of what: ALFWorld has 134, WebShop 100")]
    assert done.runs == {}


@pytest.mark.parametrize(
    ("folder", "model"),
    [
        ("base", "not logged"),
        ("ReAct-llama-70b", "not logged"),
        ("reflexion_gpt-4", "gpt-4"),
        ("gpt-3.5-turbo", "gpt-3.5-turbo"),
        ("gpt-4o", "not logged"),
        ("gpt-4-turbo", "not logged"),
        ("gpt-4.1", "not logged"),
        ("minigpt4", "not logged"),
    ],
)
def test_the_model_of_a_text_is_what_its_folder_says(tmp_path: Path, folder: str, model: str) -> None:
    path = write_hotpotqa(tmp_path / HOTPOTQA / folder / "100_questions_1_trials.txt", [34])
    done = import_logs(path, tmp_path / "out")
    assert only(done)[0]["model"] == model
    assert compared(done) == {}


def test_a_run_with_the_right_answer_as_evaluator_says_nothing_of_self_written_tests(
    clone: Path, tmp_path: Path
) -> None:
    done = import_logs(clone / PUBLISHED, tmp_path / "out", known(clone))
    assert compared(done)["Table 2", "HumanEval (PY)", "TP"] == "142/144"
    (name,) = done.runs
    run = read_run(done.folder / name)
    info = json.loads((run.folder / "run.json").read_text(encoding="utf-8"))
    info["settings"]["evaluator"] = "environment"
    (run.folder / "run.json").write_text(json.dumps(info), encoding="utf-8")
    assert ("Table 2", "HumanEval (PY)", "TP") not in compared(done)
