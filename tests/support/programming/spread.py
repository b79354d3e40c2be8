"""A small problem with each kind of hidden tests: calls, checks, and another language."""

import re
from dataclasses import replace

import pytest

from langgraph_reflexion.envs.programming.problems import Case, Problem

PROMPT = '''from typing import List


def spread(numbers: List[int]) -> int:
    """How far the largest of some numbers is from the smallest; 0 where there are none."""
'''
ANSWERS = {"[3, 1, 9]": 8, "[]": 0, "[-2, 5, 5]": 7, "[4]": 0, "[10, -10, 3, 2]": 20}
CALLS = Problem(
    id="spread/calls",
    language="python",
    prompt=PROMPT,
    entry_point="spread",
    cases=tuple(Case(f"spread({given})", str(answer)) for given, answer in ANSWERS.items()),
)
CHECKS = replace(
    CALLS,
    id="spread/checks",
    cases=(),
    test="def check(candidate):\n    for given, answer in " + str([(eval(g), a) for g, a in ANSWERS.items()]) + ":\n"
    "        assert candidate(given) == answer\n"
    "    assert sorted([candidate([1, 3]), candidate([5])]) == [0, 2]\n"
    "check(candidate)\n",
)
RUST = Problem(
    id="spread/rust",
    language="rust",
    prompt="/// How far the largest of some numbers is from the smallest.\nfn spread(numbers: Vec<i64>) -> i64 {\n",
    entry_point="spread",
    cases=tuple(Case(f"spread(vec!{given})", str(answer)) for given, answer in ANSWERS.items()),
)

needs_rust = pytest.mark.needs("Rust")


def examples_of(problem):
    """Read the examples in a problem's prompt."""
    lines = [re.sub(r"^\s*(/// ?)?", "", line) for line in problem.prompt.splitlines()]
    calls = [index for index, line in enumerate(lines) if line.startswith(">>> ")]
    return tuple(Case(lines[index].removeprefix(">>> "), lines[index + 1]) for index in calls)
