import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from langgraph_reflexion.envs.programming.environment import Programming
from langgraph_reflexion.envs.programming.solutions import grade_file
from langgraph_reflexion.support.files import read_rows
from tests.support.programming.graded import write
from tests.support.programming.spread import examples_of, needs_rust
from tests.support.tools import need

HUMANEVAL = Path(os.environ.get("PROGRAMMING_SAMPLE", "nowhere"), "HumanEval.jsonl.gz")


def failures(grader, problems):
    with ThreadPoolExecutor(2) as threads:
        return list(filter(None, threads.map(lambda each: grader.failure(each, each.canonical), problems)))


@pytest.mark.parametrize(("language", "every"), [("python", 1), pytest.param("rust", 3, marks=needs_rust)])
def test_own_problems(grader, language, every):
    problems = list(Programming(language=language).problems.values())
    assert len(problems) == 32
    both = [replace(each, cases=(*each.cases, *examples_of(each))) for each in problems[::every]]
    assert min(len(each.cases) for each in both) >= 10
    assert failures(grader, both) == []


@pytest.fixture
def humaneval():
    need("sandbox")
    if not HUMANEVAL.exists():
        pytest.skip("PROGRAMMING_SAMPLE names no folder with HumanEval.jsonl.gz")
    return HUMANEVAL


def test_humaneval(humaneval, tmp_path):
    rows = [{"task_id": row["task_id"], "completion": row["canonical_solution"]} for _, row in read_rows(humaneval)]
    grades = grade_file(humaneval, write(tmp_path / "samples.jsonl", rows), concurrency=2)
    assert [each for each in grades.problems if each.c < each.n] == []
    assert (grades.n, grades.pass_at()) == (164, 1.0)


def test_broken_solutions_of_humaneval(humaneval, tmp_path):
    rows = [{"task_id": row["task_id"], "completion": "    pass\n"} for _, row in read_rows(humaneval)][::8]
    solutions = write(tmp_path / "samples.jsonl", rows)
    grades = grade_file(humaneval, solutions, concurrency=2, ignore_incomplete=True)
    assert (grades.n, grades.pass_at(), len(grades.missing)) == (21, 0.0, 143)
