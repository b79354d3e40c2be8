"""Grading files of solutions in several formats."""

import gzip
import json
import os
from pathlib import Path

import pytest

from langgraph_reflexion.envs.programming.formats import load_problems
from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.experiments.grade import grade
from tests.support.cli import call

pytestmark = pytest.mark.needs("bubblewrap")

PROBLEMS = [
    {
        "task_id": f"Mine/{name}",
        "prompt": f'def {name}(n: int) -> int:\n    """{said}"""\n',
        "entry_point": name,
        "canonical_solution": f"    return {body}\n",
        "test": f"def check(candidate):\n    assert candidate(3) == {answer}\n    assert candidate(0) == {zero}\n",
    }
    for name, said, body, answer, zero in [("twice", "Double.", "2 * n", 6, 0), ("next", "One more.", "n + 1", 4, 1)]
]
LEET = {"task_id": "leet", "prompt": "# Input: n = 1\n# Output: 1\n", "entry_point": "f", "test": ""}


def write(path: Path, rows) -> Path:
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


@pytest.fixture
def problems(tmp_path: Path) -> Path:
    return write(tmp_path / "problems.jsonl.gz", [*PROBLEMS, LEET])


def test_completions_and_whole_functions_are_graded_under_either_name(problems, tmp_path):
    solutions = write(
        tmp_path / "solutions.jsonl",
        [
            {"task_id": "Mine/twice", "completion": "    return n + n\n"},
            {"name": "Mine/next", "solution": "def next(n):\n    return n - 1\n"},
            {"task_id": "leet", "completion": "return 1"},
        ],
    )
    status, out, err = call(tmp_path, "grade", str(problems), str(solutions), "--json", "--jobs", "2")
    assert status == 0, err
    printed = json.loads(out)
    assert (printed["passed"], printed["total"]) == (1, 2)
    assert printed["failures"] == [{"task_id": "Mine/next", "reason": "candidate(3): it returned 2, expected 4"}]
    assert printed["ungradable"] == ["leet"]
    assert call(tmp_path, "grade", str(problems), str(solutions))[1].splitlines() == [
        "Mine/next: candidate(3): it returned 2, expected 4",
        "1 of 2 passed (pass@1 50.0 %)",
        "not gradable on this machine, not counted: leet",
    ]


def test_several_samples_for_a_task_give_pass_at_k(problems, tmp_path):
    right, wrong = "    return n + n\n", "    return n\n"
    codes = [right, wrong, wrong, wrong]
    rows = [{"task_id": "Mine/twice", "completion": code} for code in codes]
    rows += [{"task_id": "Mine/next", "completion": code} for code in (wrong, wrong)]
    grades = grade(problems, write(tmp_path / "solutions.jsonl", rows))
    assert grades.pass_at() == {1: pytest.approx(0.125), 2: pytest.approx(0.25)}


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"completion": "x"}, "line 1: a solution names its problem"),
        ({"task_id": "other", "completion": "x"}, 'has no problem "other"'),
        ({"task_id": "Mine/next"}, "line 1: a solution has its code as 'completion' or 'solution'"),
    ],
)
def test_a_wrong_line_is_named(problems, tmp_path, row, said):
    with pytest.raises(ConfigurationError, match=said):
        grade(problems, write(tmp_path / "solutions.jsonl", [row]))


def sample(name: str) -> Path:
    path = Path(os.environ.get("PROGRAMMING_SAMPLE") or "nowhere") / name
    if not path.exists():
        pytest.skip(f"PROGRAMMING_SAMPLE names no folder with {name}")
    return path


@pytest.mark.long
def test_the_canonical_solutions_of_humaneval_pass(tmp_path):
    path = sample("HumanEval.jsonl.gz")
    problems = load_problems(path)[:: 1 if os.environ.get("REPLAY_ALL_SOLUTIONS") else 4]
    rows = [{"task_id": each.id, "completion": each.canonical[len(each.prompt) :]} for each in problems]
    grades = grade(path, write(tmp_path / "canonical.jsonl.gz", rows))
    assert grades.passed == len(grades.rows) == len(problems), [row for row in grades.rows if not row.verdict.passed]
