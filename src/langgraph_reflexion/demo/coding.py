"""The demo model at programming: it looks for a program that does what the cases before it say.

It holds no problem. It understands next to nothing of a description, and goes by the examples:

* Writing tests, it takes every example, and adds guesses of its own (see `guessing`).
* Implementing, it overlooks some of the examples, and takes the first program that comes to mind for the others.
* Reflecting, it says which case its program missed. The next trial minds the cases that the reflection names.
* With a failed test before it, but no reflection on it, it mends the symptom: that one case, and nothing else.

With tools, it runs its tests before it hands a program in; what they show is for the reflection to take up.
"""

import re
from collections.abc import Collection
from random import Random

from langchain_core.messages import AIMessage

from langgraph_reflexion.demo.assignment import Assignment
from langgraph_reflexion.demo.exercise import Case, Exercise
from langgraph_reflexion.demo.guessing import guess_tests
from langgraph_reflexion.demo.habits import LUCK, habit
from langgraph_reflexion.demo.programs import Program
from langgraph_reflexion.demo.searching import find_programs

OVERLOOKS = 0.6
"""How often it overlooks an example other than the first."""
VAGUE = 0.25
"""How often a reflection holds nothing of use."""

_READING = re.compile(r"reading number (?P<number>\d+)")


def answer(assignment: Assignment, *, seed: int, allowed: Collection[str], in_text: bool) -> AIMessage:
    """Answer a prompt about a function to be written.

    Args:
        assignment: What the prompt asks for.
        seed: Which sample is drawn where the rules leave a choice.
        allowed: The names of the actions that there are; without any, the program itself is the answer.
        in_text: Whether an action is written as text; otherwise it is a tool call.
    """
    rng = Random(seed)
    if assignment.role == "tests":
        return AIMessage(_tests(assignment.exercise))
    if assignment.role == "reflect":
        return AIMessage(_reflect(assignment, rng))
    thought, code = _implement(assignment, rng)
    if "submit" not in allowed:
        return AIMessage(f"{thought}\n\n{assignment.exercise.fenced(code)}")
    name = "submit" if assignment.begun or "run_tests" not in allowed else "run_tests"
    if in_text:
        return AIMessage(f"Thought: {thought}\nAction: {name}\n{code}")
    return AIMessage(
        thought, tool_calls=[{"name": name, "args": {"code": code}, "id": f"demo_{name}", "type": "tool_call"}]
    )


def _tests(exercise: Exercise) -> str:
    thoughts = ["Let me think step by step.", "First, the examples of the description are tests as they stand."]
    tests = [case.example for case in exercise.shown]
    for thought, example in guess_tests(exercise):
        if example.arguments not in [each.arguments for each in tests]:
            thoughts.append(thought)
            tests.append(example)
    returns = exercise.function.returns if exercise.function else ""
    written = [
        exercise.assertion(exercise.call(each.arguments), exercise.literal(each.result, returns)) for each in tests
    ]
    return "\n".join([*thoughts, "", exercise.fenced("\n".join(written))])


def _implement(assignment: Assignment, rng: Random) -> tuple[str, str]:
    """A thought, and a program."""
    exercise = assignment.exercise
    noticed = _noticed(exercise, rng)
    told = exercise.cases(assignment.lesson)
    reading = _reading(assignment.lesson)
    if exercise.function and not assignment.lesson and assignment.failed and assignment.code:
        case = assignment.failed[0]
        return f"`{case.call}` has to be {case.expected}. I see to that.", _mended(exercise, assignment.code, case)
    minded = [*noticed, *(case for case in told if case.call not in [each.call for each in noticed])]
    programs = _programs(exercise, minded)
    if programs:
        body = programs[reading % len(programs)].write(exercise.language)
    else:
        body = [_returned(exercise, minded[0].expected if minded else exercise.literal(()))]
    cases = " and ".join(f"`{case.call}`" for case in minded) or "the description"
    return f"I go by {cases}.", exercise.whole(body)


def _noticed(exercise: Exercise, rng: Random) -> list[Case]:
    """The examples that it does not overlook. Which it does is the same in every trial, but for a little luck."""
    lucky = rng.random() < LUCK
    return [
        case
        for index, case in enumerate(exercise.shown)
        if index == 0 or lucky or habit(exercise.head, f"overlooks {index}") >= OVERLOOKS
    ]


def _programs(exercise: Exercise, minded: list[Case]) -> tuple[Program, ...]:
    """The programs for the cases that it minds; where there are none, it minds one case less, the newest first."""
    if exercise.function is None:
        return ()
    for count in range(len(minded), 0, -1):
        examples = frozenset(case.example for case in minded[:count])
        if found := find_programs(exercise.function, examples, exercise.constants):
            return found
    return ()


def _mended(exercise: Exercise, code: str, case: Case) -> str:
    """The same code with an exception at its head for one case."""
    assert exercise.function is not None
    given = zip(exercise.function.arguments, case.example.arguments, strict=False)
    condition = {"python": " and ", "rust": " && "}[exercise.language].join(
        f"{name} == {exercise.literal(value, kind)}" for (name, kind), value in given
    )
    lines = code.splitlines()
    at = next((i for i, line in enumerate(lines) if re.match(rf"\s*(?:pub )?(?:def|fn) {exercise.name}\b", line)), 0)
    exception = {
        "python": f"    if {condition}:\n        return {case.expected}",
        "rust": f"    if {condition} {{\n        return {case.expected};\n    }}",
    }[exercise.language]
    return "\n".join([*lines[: at + 1], exception, *lines[at + 1 :]])


def _returned(exercise: Exercise, value: str) -> str:
    return f"return {value}" if exercise.language == "python" else value


def _reading(lesson: str) -> int:
    found = _READING.search(lesson)
    return int(found["number"]) - 1 if found else 0


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
        said.append(
            f"I cannot see from the tests which case my `{exercise.name}` misses. There is more than one way to "
            f"read it: next time I will try reading number {_reading(assignment.lesson) + 2}."
        )
    if before:
        said.append("Still true: " + ", ".join(f"`{case.call} == {case.expected}`" for case in before) + ".")
    return " ".join(said)
