"""The `grade` command, and `grade_file` behind it: files of solutions as benchmarks write them."""

import json

import pytest

from langgraph_reflexion.envs.programming.solutions import grade_file
from tests.support.cli import call, one_line
from tests.support.programming.graded import PROBLEMS, UNGRADABLE, write

pytestmark = pytest.mark.needs("sandbox")

RIGHT, WRONG = "    return n + n\n", "    return n\n"
OFF_BY_TWO = "candidate(3): it returned 2, expected 4"


@pytest.fixture
def problems(tmp_path):
    return write(tmp_path / "problems.jsonl.gz", [*PROBLEMS, UNGRADABLE])


@pytest.mark.slow
def test_json(problems, tmp_path):
    rows = [
        # Samples of HumanEval, and of EvalPlus.
        {"task_id": "Mine/twice", "completion": RIGHT, "result": "passed"},
        {"task_id": "Mine/next", "solution": "def next(n):\n    return n - 1\n"},
        {"task_id": "leet", "completion": "return 1"},
    ]
    solutions = write(tmp_path / "solutions.jsonl", rows)
    status, out, err = call(tmp_path, "grade", str(problems), str(solutions), "--json", "--concurrency", "2")
    assert (status, err) == (0, "")
    assert json.loads(out) == {
        "pass@1": 0.5,
        "n": 2,
        "c": 1,
        "problems": [
            {"id": "Mine/twice", "n": 1, "c": 1, "samples": [{"passed": True, "reason": None}]},
            {"id": "Mine/next", "n": 1, "c": 0, "samples": [{"passed": False, "reason": OFF_BY_TWO}]},
        ],
        "missing": [],
        "ungradable": ["leet"],
    }


@pytest.mark.slow
def test_text(problems, tmp_path):
    rows = [{"task_id": "Mine/next", "samples": ["    return n + 1\n", "    return n - 1\n"]}]
    solutions = write(tmp_path / "solutions.jsonl", rows)
    status, out, _ = call(tmp_path, "grade", str(problems), str(solutions), "--ignore-incomplete")
    assert status == 0
    assert out.splitlines() == [
        f"Mine/next, sample 2: {OFF_BY_TWO}",
        "pass@1 50.0%",
        "1 of 2 solutions passed; problems: 1",
        "left out, without a solution: Mine/twice",
        "left out, without hidden tests that run here: leet",
    ]


def test_an_error_is_one_line(problems, tmp_path):
    solutions = write(tmp_path / "solutions.jsonl", [{"task_id": "Mine/twice", "completion": RIGHT}])
    status, out, err = call(tmp_path, "grade", str(problems), str(solutions))
    assert (status, out) == (2, "")
    assert "no solution of 1 problem (Mine/next)" in one_line(err)


@pytest.mark.slow
def test_several_rows_are_several_samples(problems, tmp_path):
    rows = [{"task_id": "Mine/twice", "completion": code} for code in (RIGHT, *[WRONG] * 3, *[RIGHT] * 6)]
    rows += [{"task_id": "Mine/next", "completions": [WRONG] * 12}]
    seen = []
    solutions = write(tmp_path / "solutions.jsonl", rows)
    grades = grade_file(problems, solutions, on_sample=lambda done, total: seen.append((done, total)))
    assert [(each.n, each.c) for each in grades.problems] == [(10, 7), (12, 0)]
    assert grades.rates() == {"pass@1": pytest.approx(0.35), "pass@10": pytest.approx(0.5)}
    assert seen == [(done, 22) for done in range(1, 23)]


def test_a_folder_of_multipl_e(tmp_path):
    test = (
        "def check(candidate):\n    assert candidate(3) == 6\n\ndef test_check():\n    check(twice)\n\ntest_check()\n"
    )
    problem = {"name": "HumanEval_0_twice", "language": "py", "prompt": "def twice(n: int) -> int:\n", "test": test}
    problem |= {"entry_point": "twice", "stop_tokens": ["\ndef"]}
    folder = tmp_path / "humaneval-py-mine-0.2-reworded"
    folder.mkdir()
    row = {"name": problem["name"], "language": "py", "prompt": problem["prompt"], "completions": [RIGHT, WRONG]}
    write(folder / f"{problem['name']}.json.gz", [row])
    write(folder / f"{problem['name']}.results.json.gz", [{"name": problem["name"], "results": []}])
    grades = grade_file(write(tmp_path / "humaneval-py.jsonl", [problem]), folder)
    assert (grades.n, grades.c, grades.pass_at()) == (2, 1, 0.5)


@pytest.mark.parametrize("name", [7, "7", "mbpp/7", "Mbpp/7"])
def test_mbpp_numbers_its_problems(name, tmp_path):
    problem = {"task_id": 7, "text": "Double.", "code": "def twice(n):\n    return 2 * n\n"}
    problem |= {"test_list": ["assert twice(3) == 6", "assert twice(0) == 0"]}
    solutions = write(tmp_path / "solutions.jsonl", [{"task_id": name, "solution": problem["code"]}])
    assert grade_file(write(tmp_path / "mbpp.jsonl", [problem]), solutions).pass_at() == 1.0
