"""The original repository's logs, in the folder UPSTREAM_LOGS."""

import json
import os
from itertools import pairwise
from pathlib import Path

import pytest

from langgraph_reflexion.lab.experiments.diagnostics import diagnose
from langgraph_reflexion.lab.experiments.runs import read_run
from langgraph_reflexion.support.copies import repeats
from tests.replication.imports import import_logs
from tests.replication.logs import originals
from tests.replication.paper import compare
from tests.replication.replay import replay
from tests.support.upstream_clone import known, write_clone

REAL = Path(os.environ.get("UPSTREAM_LOGS", "none"))

pytestmark = pytest.mark.skipif(not REAL.is_dir(), reason="UPSTREAM_LOGS names no folder with the original's logs")
whole = pytest.mark.skipif(not (REAL / "README.md").is_file(), reason="UPSTREAM_LOGS is a part of the repository")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return import_logs(REAL, tmp_path_factory.mktemp("real") / "out").folder


@pytest.fixture(scope="module")
def paper(folder):
    return compare([folder]).as_json()


def trials_of(folder, name):
    return [json.loads(line) for line in (folder / name / "trials.jsonl").read_text().splitlines()]


SOLVED = {
    "alfworld-base_run_logs": (134, [84, 94, 97, 98, 100, 101, 101]),
    "hotpotqa-CoT-no_context-base": (100, [32, 33, 33, 33, 33]),
    "hotpotqa-ReAct-base": (100, [34, 34, 34, 34, 34]),
    "programming-immediate_reflexion_humaneval_rs_hardest50": (50, [26]),
    "programming-simple_humaneval_py_hardest50": (50, [35]),
    "programming-simple_humaneval_rs_hard50": (50, [30]),
    "programming-simple_mbpp_py": (397, [318]),
}


def test_original_logs_are_imported(paper):
    found = {run["name"]: (run["tasks"], run["solved"]) for run in paper["runs"]}
    assert {name: found.get(name) for name in SOLVED} == SOLVED


@whole
def test_original_repository_contains_the_listed_logs_and_every_number(paper, tmp_path):
    real = {run["source"]: run for run in paper["runs"]}
    assert set(real) == {run["path"] for run in originals().values()}
    numbers = [number for table in paper["tables"] for number in table["numbers"]]
    assert [f"{number['row']}, {number['column']}" for number in numbers if not number["runs"]] == []
    clone = write_clone(tmp_path / "clone")
    invented = compare([import_logs(clone, tmp_path / "out", known(clone)).folder]).as_json()
    about = ("trials", "solved", "verdicts", "environment", "actor", "strategy", "model", "benchmark")
    for run in invented["runs"]:
        assert {key: real[run["source"]][key] for key in about} == {key: run[key] for key in about}


def test_original_logs_of_questions_are_replayed_as_logged():
    logs = REAL / "hotpotqa_runs" / "root"
    replays = {str(log.relative_to(logs)): replay(log) for log in logs.rglob("100_questions*.txt")}
    counts = {name: [tuple(each) for each in replayed.replayed] for name, replayed in replays.items()}
    assert counts["ReAct/base/100_questions_5_trials.txt"] == [
        (34, 56, 10),
        (34, 57, 9),
        (34, 56, 10),
        (34, 57, 9),
        (34, 56, 10),
    ]
    assert counts["CoT/no_context/base/100_questions_5_trials.txt"] == [(32, 68, 0), *[(33, 67, 0)] * 4]
    for each in replays.values():
        assert each.replayed == [trial.counts for trial in each.log.trials], each.log.path


@whole
@pytest.mark.parametrize(
    ("name", "reflections", "repeated"),
    [
        ("CoT-no_context-reflexion", 251, 26),
        ("CoT-no_context-last_trial_and_reflexion", 332, 50),
        ("CoT-context-last_trial_and_reflexion", 121, 19),
    ],
)
def test_every_reflection_is_read_once_and_alone(folder, name, reflections, repeated):
    rows = trials_of(folder, f"hotpotqa-{name}")
    written = [(row["task_id"], row["reflection"]) for row in rows if row["reflection"]]
    assert len(written) == reflections
    assert sum(one == other for one, other in pairwise(written)) == repeated
    assert not any(one[1] in other[1] for one, other in pairwise(written) if one[0] == other[0] and one != other)


@whole
def test_no_verdicts_are_invented_for_tests_that_were_not_logged(folder):
    rows = trials_of(folder, "programming-immediate_refinement_humaneval_rs_hardest50")
    assert ({row["verdict"] for row in rows}, sum(row["success"] for row in rows)) == ({None}, 30)


@whole
@pytest.mark.parametrize(
    ("name", "repeated", "later", "after_repeated", "after_others"),
    [
        ("alfworld-reflexion_run_logs", 90, 150, (17, 90), (14, 60)),
        # Its actor never saw the reflections, which so describe the same failure again and again.
        ("webshop-reflexion_run_logs_1", 166, 198, (2, 102), (0, 31)),
    ],
)
def test_repeated_reflections_are_counted_in_logs_of_trials(
    folder, name, repeated, later, after_repeated, after_others
):
    found = diagnose([read_run(folder / name)])
    sign = found.repeated
    assert (sign.found, sign.of) == (repeated, later)
    assert (sign.solved_after, sign.tried_after) == after_repeated
    assert (sign.solved_otherwise, sign.tried_otherwise) == after_others
    assert "grounded" not in found.signs()


@whole
def test_repeated_reflections_are_counted_in_logs_of_programs(folder):
    repeated = 0
    later = 0
    for log in sorted(folder.glob("programming-*")):
        for row in trials_of(folder, log.name):
            # A program's thought is the reflection before it.
            written = [step["thought"] for step in row["steps"][1:]]
            later += max(0, len(written) - 1)
            repeated += sum(repeats(note, written[:number]) for number, note in enumerate(written))
    assert (repeated, later) == (333, 2573)
