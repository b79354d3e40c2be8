"""The canonical solutions of generated problems pass their hidden tests, and no others do."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from langgraph_reflexion.envs.programming.generated import generated_problems
from tests.support.programming.spread import examples_of, needs_rust

INSTALLED = ["python", pytest.param("rust", marks=needs_rust)]


@pytest.mark.parametrize("language", INSTALLED)
def test_canonical_solutions_pass(grader, language):
    problems = generated_problems(language)
    assert len(problems) >= 20
    if language == "rust":
        problems = problems[::3]  # half a second each to compile
    both = [replace(each, cases=(*each.cases, *examples_of(each))) for each in problems]
    with ThreadPoolExecutor(2) as threads:
        verdicts = threads.map(lambda each: grader.grade(each, each.canonical), both)
    assert {
        problem.id: verdict.reason for problem, verdict in zip(both, verdicts, strict=True) if not verdict.passed
    } == {}


@pytest.mark.parametrize("language", INSTALLED)
def test_solution_of_another_problem_fails(grader, language):
    one, other = [
        each for each in generated_problems(language) if "(numbers: " in each.prompt and "limit" not in each.prompt
    ][:2]
    renamed = other.canonical.replace(other.entry_point, one.entry_point)
    assert not grader.grade(one, renamed).passed
