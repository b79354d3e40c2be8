"""The demo model on programming in Python: it searches for a program that fits the cases in the prompt.

It knows no problem, and goes by the examples:

* Writing tests, it takes every example.
* Implementing, it overlooks some of the examples, and takes the first program that fits the others.
* Reflecting, it names the case that its program missed. The next trial respects the cases that the reflection names.
* With a failed test in the prompt but no reflection, it fixes the symptom: that one case.

With tools, it runs its tests before it submits a program; the reflection uses their result.
"""

import re
from collections.abc import Collection
from random import Random

from langchain_core.messages import AIMessage

from langgraph_reflexion.demo.persona import LUCK, habit
from langgraph_reflexion.demo.programming import Assignment, Case, Exercise, fenced, literal
from langgraph_reflexion.demo.programming.search import Program, find_program

OVERLOOKS = 0.8
"""Probability of overlooking an example other than the first."""
VAGUE = 0.25
"""Probability of a useless reflection."""


def answer(assignment: Assignment, rng: Random, *, allowed: Collection[str], in_text: bool) -> AIMessage:
    """Answer a prompt about programming."""
    if assignment.role == "tests":
        return AIMessage(_tests(assignment.exercise))
    if assignment.role == "reflect":
        return AIMessage(_reflect(assignment, rng))
    thought, code = _implement(assignment, rng)
    if "submit" not in allowed:
        return AIMessage(f"{thought}\n\n{fenced(code)}")
    name = "submit" if assignment.begun or "run_tests" not in allowed else "run_tests"
    if in_text:
        return AIMessage(f"Thought: {thought}\nAction: {name}\n{code}")
    return AIMessage(
        thought, tool_calls=[{"name": name, "args": {"code": code}, "id": f"demo_{name}", "type": "tool_call"}]
    )


def _tests(exercise: Exercise) -> str:
    written = [f"assert {case.call} == {case.expected}" for case in exercise.shown]
    return f"The examples of the description are tests as they stand.\n\n{fenced(chr(10).join(written))}"


def _implement(assignment: Assignment, rng: Random) -> tuple[str, str]:
    exercise = assignment.exercise
    noticed = _noticed(exercise, rng)
    told = exercise.cases(assignment.lesson)
    if exercise.function and not assignment.lesson and assignment.failed and assignment.code:
        case = assignment.failed[0]
        return f"`{case.call}` has to be {case.expected}. I see to that.", _mended(exercise, assignment.code, case)
    minded = [*noticed, *(case for case in told if case.call not in [each.call for each in noticed])]
    program = _program(exercise, minded)
    body = program.write() if program else [f"return {minded[0].expected if minded else '[]'}"]
    cases = " and ".join(f"`{case.call}`" for case in minded) or "the description"
    return f"I go by {cases}.", exercise.whole(body)


def _noticed(exercise: Exercise, rng: Random) -> list[Case]:
    """Return the examples that it does not overlook: the same in every trial, but for a little luck."""
    lucky = rng.random() < LUCK
    return [
        case
        for index, case in enumerate(exercise.shown)
        if index == 0 or lucky or habit(exercise.head, f"overlooks {index}") >= OVERLOOKS
    ]


def _program(exercise: Exercise, minded: list[Case]) -> Program | None:
    """Return the program for as many of the cases as possible, the oldest cases first."""
    if exercise.function is None:
        return None
    for count in range(len(minded), 0, -1):
        examples = frozenset(case.example for case in minded[:count])
        if found := find_program(exercise.function, examples, exercise.constants):
            return found
    return None


def _mended(exercise: Exercise, code: str, case: Case) -> str:
    assert exercise.function is not None
    given = zip(exercise.function.arguments, case.example.arguments, strict=False)
    condition = " and ".join(f"{name} == {literal(value)}" for (name, _), value in given)
    lines = code.splitlines()
    at = next((i for i, line in enumerate(lines) if re.match(rf"\s*def {exercise.name}\b", line)), 0)
    exception = f"    if {condition}:\n        return {case.expected}"
    return "\n".join([*lines[: at + 1], exception, *lines[at + 1 :]])


def _reflect(assignment: Assignment, rng: Random) -> str:
    exercise = assignment.exercise
    before = exercise.cases(assignment.lesson)
    known = [case.call for case in before]
    new = next((case for case in assignment.failed if case.call not in known), None)
    said = []
    if rng.random() < VAGUE:
        said.append(f"My `{exercise.name}` was not right. Next time I will read its description more carefully.")
        new = None
    elif new is not None:
        said.append(
            f"My `{exercise.name}` went by too few cases: it misses `{new.call} == {new.expected}`. Mending that one "
            "case is not enough, the rule was wrong. Next time I will look for one rule that does it, too."
        )
    else:
        said.append(f"I cannot see from the tests which case my `{exercise.name}` misses.")
    if before:
        said.append("Still true: " + ", ".join(f"`{case.call} == {case.expected}`" for case in before) + ".")
    return " ".join(said)
