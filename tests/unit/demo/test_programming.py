"""The demo model's search: the shortest program first, others that fit beside it, and an end to its effort."""

import pytest
from langchain_core.messages import HumanMessage, SystemMessage

from langgraph_reflexion.demo.programming.search import Example, Function, find_programs
from langgraph_reflexion.demo.programming.task import read_assignment, read_exercise
from langgraph_reflexion.envs.programming.generated import generated_problems

LIST_TO_NUMBER = Function((("numbers", "ints"),), "int")


def search(function, cases, constants=(0, 1)):
    return find_programs(function, frozenset(Example(*case) for case in cases), constants)


def test_what_the_examples_leave_open_is_kept_as_alternatives_until_a_case_decides():
    cases = [(((5, 1, 7),), 2), (((9, 0),), 1)]
    lines = {program.write()[0] for program in search(LIST_TO_NUMBER, cases, (4,))}
    assert {
        "result = [each for each in numbers if each > 4]",
        "result = [each for each in numbers if each >= 4]",
    } <= lines
    decided = {program.write()[0] for program in search(LIST_TO_NUMBER, [*cases, (((4, 2, 1),), 1)], (4,))}
    assert decided == {"result = [each for each in numbers if each >= 4]"}


def test_every_program_that_it_finds_does_what_was_asked():
    function = Function((("words", "strs"), ("limit", "int")), "str")
    cases = [((("ab", "cde", "fghi"), 2), "cde-fghi"), ((("xyz", "a", "bc"), 1), "xyz-bc")]
    found = search(function, cases)
    assert found
    for program in found:
        assert [program.run({"words": words, "limit": limit}) for (words, limit), _ in cases] == [r for _, r in cases]


@pytest.mark.parametrize(
    ("prompt", "known", "shown"),
    [
        ('def f(a: list[int], k: int) -> int:\n    """Say.\n\n    >>> f([1], 2)\n    3\n    """\n', True, 1),
        ('def f(a: List[str]) -> str:\n    """Say.\n    >>> f(["a"])\n    \'a\'\n    """\n', True, 1),
        ('def f(a: float) -> float:\n    """Say.\n\n    >>> f(1.5)\n    2.0\n    """\n', False, 1),
        ('def f(a: dict[str, int]) -> int:\n    """Say.\n\n    >>> f({"a": 1})\n    1\n    """\n', False, 0),
    ],
)
def test_a_signature_of_other_types_is_read_and_not_searched(prompt, known, shown):
    exercise = read_exercise(prompt)
    assert exercise.name == "f"
    assert (exercise.function is not None) is known
    assert len(exercise.shown) == shown


def test_a_test_says_what_a_reflection_names():
    problem = generated_problems("python")[0]
    exercise = read_exercise(problem.prompt)
    lesson = f"- Trial 1: It misses `{exercise.call(((1, 2),))} == [9]`.\n\n"
    read = read_assignment([SystemMessage("s"), HumanMessage(f"{lesson}{problem.prompt}")])
    assert [case.example.result for case in exercise.cases(read.lesson)] == [(9,)]
