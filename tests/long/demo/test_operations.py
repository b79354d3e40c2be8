"""What the demo model writes down does what it has in mind, operation by operation and in both languages."""

from dataclasses import replace

import pytest

from langgraph_reflexion.demo.programming.operations import FOLDS, NAMES, OTHERS, Program, Step
from langgraph_reflexion.demo.programming.search import Function
from langgraph_reflexion.demo.programming.task import Exercise
from langgraph_reflexion.envs.programming.grading import Grader
from langgraph_reflexion.envs.programming.problems import Case, Problem

VALUES = {
    "int": [205, -12, 0, 1],
    "ints": [(), (3, -4, 0, 7, 7), (-3,)],
    "str": ["", "An Otter  bites", " x"],
    "strs": [(), ("Otter", "be", "apple", "Under", "be"), ("",)],
}


def function_of(index, operation, language):
    """A function that does the operation, and the calls of it with what should come out."""
    program = Program("x", (Step(operation, 3),))
    takes, gives = NAMES[language][operation.takes], NAMES[language][operation.gives]
    word = {"python": "def", "rust": "fn"}[language]
    head = f"{word} f{index}(x: {takes}) -> {gives}" + (":" if language == "python" else "")
    exercise = Exercise(language, f"f{index}", head, Function((("x", operation.takes),), operation.gives), "", ())
    cases = [
        Case(exercise.call((value,)), exercise.literal(program.run({"x": value})))
        for value in VALUES[operation.takes]
    ]
    return exercise.whole(program.write(language)), cases


@pytest.mark.parametrize(
    "language",
    [
        pytest.param("python", marks=pytest.mark.needs("sandbox")),
        pytest.param("rust", marks=pytest.mark.needs("sandbox", "Rust")),
    ],
)
def test_every_operation_is_written_as_it_is_meant(language):
    written = [function_of(index, each, language) for index, each in enumerate((*OTHERS, *FOLDS))]
    code = "\n".join(source for source, _ in written)
    problems = [Problem(f"{i}", "own", language, "", f"f{i}", tuple(cases)) for i, (_, cases) in enumerate(written)]
    if language == "rust":
        # One compilation is enough: its calls may be of any function.
        problems = [replace(problems[0], cases=tuple(case for each in problems for case in each.cases))]
    with Grader() as grader:
        assert [reason for each in problems if (reason := grader.grade(each, code).reason)] == []
        one, other, *_ = problems[0].cases
        assert not grader.grade(replace(problems[0], cases=(replace(one, expected=other.expected),)), code).passed
