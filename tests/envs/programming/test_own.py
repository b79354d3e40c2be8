"""The project's own problems: right in both languages, open at the edges, and others under another seed."""

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from spread import needs_rust

from langgraph_reflexion.envs.programming.drawing import draw_family
from langgraph_reflexion.envs.programming.operation import library
from langgraph_reflexion.envs.programming.own import own_problems
from langgraph_reflexion.envs.programming.problems import Case, Problem
from langgraph_reflexion.errors import ConfigurationError

LANGUAGES = ["python", "rust"]
INSTALLED = ["python", pytest.param("rust", marks=needs_rust)]


def examples_of(problem: Problem) -> tuple[Case, ...]:
    """The examples in a problem's prompt, read as a person reads them."""
    lines = [re.sub(r"^\s*(/// ?)?", "", line) for line in problem.prompt.splitlines()]
    calls = [index for index, line in enumerate(lines) if line.startswith(">>> ")]
    return tuple(Case(lines[index].removeprefix(">>> "), lines[index + 1]) for index in calls)


@pytest.mark.parametrize("language", INSTALLED)
def test_the_canonical_solutions_pass_their_hidden_tests_and_the_prompts_examples(judge, language):
    problems = own_problems(language)
    assert len(problems) >= 20
    both = [replace(each, cases=(*each.cases, *examples_of(each))) for each in problems]
    with ThreadPoolExecutor(2) as threads:
        verdicts = threads.map(lambda each: judge.grade(each, each.canonical), both)
    assert {
        problem.id: verdict.reason for problem, verdict in zip(both, verdicts, strict=True) if not verdict.passed
    } == {}


@pytest.mark.parametrize("language", INSTALLED)
def test_a_solution_of_another_problem_does_not_pass(judge, language):
    one, other = [
        each for each in own_problems(language) if "(numbers: " in each.prompt and "limit" not in each.prompt
    ][:2]
    renamed = other.canonical.replace(other.entry_point, one.entry_point)
    assert not judge.grade(one, renamed).passed


def test_they_are_the_same_problems_in_both_languages():
    for python, rust in zip(*map(own_problems, LANGUAGES), strict=True):
        assert (python.id, python.entry_point, len(python.cases)) == (rust.id, rust.entry_point, len(rust.cases))
        assert python.prompt.endswith('"""\n')
        assert rust.prompt.endswith(" {\n")
        words = re.search(r"Take .*?(?=>>>)", python.prompt, re.DOTALL)[0].split()
        assert words == re.search(r"Take .*?(?=>>>)", rust.prompt.replace("///", ""), re.DOTALL)[0].split()


def test_examples_leave_open_what_hidden_tests_ask():
    nothing = ([], "", 0)
    for problem, drawn in zip(own_problems("python"), draw_family(0), strict=True):
        shown, hidden = [each[0] for each in drawn.examples], [each[0] for each in drawn.tests]
        assert 2 <= len(examples_of(problem)) <= 3
        assert len(hidden) >= 8, problem.id
        assert any(each in nothing for each in hidden), problem.id
        assert not any(each in nothing for each in shown), problem.id
        assert not [each for each in drawn.examples if each in drawn.tests], problem.id
        first = drawn.pipeline.steps[0]
        near = () if first.argument else first.operation.tempting(first.constant)
        assert not {each for value in shown if isinstance(value, list) for each in value} & set(near), problem.id


def test_every_step_of_a_problem_shows_in_its_examples():
    for drawn in draw_family(0):
        for index, step in enumerate(drawn.pipeline.steps[:-1]):
            if step.operation.takes == step.operation.gives and not step.argument:
                shorter = drawn.pipeline.without(index)
                assert any(shorter(*each) != drawn.pipeline(*each) for each in drawn.examples), drawn.pipeline.name


def test_another_seed_gives_other_problems_and_the_same_seed_the_same():
    first, other = own_problems("python", 0), own_problems("python", 1)
    assert own_problems("python", 0) == first
    names = {each.entry_point for each in first}
    assert len(names) == len(first)
    assert len(names & {each.entry_point for each in other}) < len(names) / 4
    assert not {each.id for each in first} & {each.id for each in other}


def test_the_family_uses_its_whole_library():
    used = {step.operation.name for seed in range(12) for drawn in draw_family(seed) for step in drawn.pipeline.steps}
    assert {each.name for each in library()} - used == set()


def test_a_language_without_own_problems_is_named():
    with pytest.raises(ConfigurationError, match="in go: choose one of python, rust"):
        own_problems("go")
