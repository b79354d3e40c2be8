"""The demo model on programming in Python: it searches for a program that fits the cases in the prompt.

It knows no problem, and goes by the examples:

* Writing tests, it takes every example, and adds guesses: inputs on which the readings of the examples differ. A
  guess may be wrong, because it misreads the words, miscounts, or has no reading that is right.
* Implementing, it overlooks some of the examples, and takes the first program that fits the others.
* Reflecting, it names the case that its program missed. The next trial respects the cases that the reflection names.
* With a failed test in the prompt but no reflection, it fixes the symptom: that one case.

With tools, it runs its tests before it submits a program; the reflection uses their result.
"""

import re
from collections.abc import Collection, Iterator
from random import Random
from typing import Any

from langchain_core.messages import AIMessage

from langgraph_reflexion.demo.persona import LUCK, habit
from langgraph_reflexion.demo.programming.search import Example, Program, find_programs
from langgraph_reflexion.demo.programming.task import Assignment, Case, Exercise, fenced, literal

OVERLOOKS = 0.6
"""Probability of overlooking an example other than the first."""
VAGUE = 0.25
"""Probability of a useless reflection."""

_READING = re.compile(r"reading number (?P<number>\d+)")


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
    thoughts = ["Let me think step by step.", "First, the examples of the description are tests as they stand."]
    tests = [case.example for case in exercise.shown]
    for thought, example in guess_tests(exercise):
        if example.arguments not in [each.arguments for each in tests]:
            thoughts.append(thought)
            tests.append(example)
    written = [f"assert {exercise.call(each.arguments)} == {literal(each.result)}" for each in tests]
    return "\n".join([*thoughts, "", fenced("\n".join(written))])


def _implement(assignment: Assignment, rng: Random) -> tuple[str, str]:
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
        body = programs[reading % len(programs)].write()
    else:
        body = [f"return {minded[0].expected if minded else '[]'}"]
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


def _programs(exercise: Exercise, minded: list[Case]) -> tuple[Program, ...]:
    """Return the programs for as many of the cases as possible, the oldest cases first."""
    if exercise.function is None:
        return ()
    for count in range(len(minded), 0, -1):
        examples = frozenset(case.example for case in minded[:count])
        if found := find_programs(exercise.function, examples, exercise.constants):
            return found
    return ()


def _mended(exercise: Exercise, code: str, case: Case) -> str:
    assert exercise.function is not None
    given = zip(exercise.function.arguments, case.example.arguments, strict=False)
    condition = " and ".join(f"{name} == {literal(value)}" for (name, _), value in given)
    lines = code.splitlines()
    at = next((i for i, line in enumerate(lines) if re.match(rf"\s*def {exercise.name}\b", line)), 0)
    exception = f"    if {condition}:\n        return {case.expected}"
    return "\n".join([*lines[: at + 1], exception, *lines[at + 1 :]])


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


ERRORS = {"misread": 0.15, "slip": 0.06}
"""Share of problems with each error."""
GUESSES = 2
"""Number of guesses besides the empty input."""

_NOTHING = re.compile(
    r"\b(?P<what>-?\d+|an empty \w+)\s+(?:where|for|if|when)\b[^.]*\b(?:none|nothing|empty|no \w+)", re.IGNORECASE
)
_EMPTY = {"ints": (), "strs": (), "str": "", "int": 0}
_MEANS = {
    "at least": "each >=|each\\) >=", "at most": "each <=|each\\) <=", "or more": ">=", "or fewer": "<=",
    "greater than": "each > ", "more than": "each > |each\\) > ", "less than": "each < ", "fewer than": "each\\) < ",
    "capital": "AEIOU|upper", "square": r"each \* each", "sum": r"sum\(", "total": r"sum\(", "largest": r"max\(",
    "longest": r"max\(", "smallest": r"min\(", "shortest": r"min\(", "even ": "% 2 == 0", "odd ": "% 2 == 1",
    "multiples": r"each % -?\w+ == 0", "divisors": "% n == 0", "sort": "sorted", "backwards": r"::-1",
    "repeats": "fromkeys", "how many": r"len\(", "length": r"len\(", "absolute": r"abs\(each", "digits": r"str\(abs",
    "the last": r"\[-1\]|::-1", "leave out the first": r"\[1:\]", "every other": r"::2", "multiply": r"each \* ",
    "add": r"each \+ ", "keep the first": r"\[:\w", "negative": "each < 0", "positive": "each > 0",
}  # fmt: skip
"""Words, and patterns of the code for them."""


def guess_tests(exercise: Exercise) -> Iterator[tuple[str, Example]]:
    """Yield guessed tests with the thoughts behind them."""
    function = exercise.function
    if function is None or not exercise.shown:
        return
    first = exercise.shown[0].example.arguments
    told = _NOTHING.search(exercise.words)
    why = f"the words say {told['what']} for that" if told else "nothing should come of it"
    yield (
        f"Nothing at all: {why}.",
        Example((_EMPTY[function.arguments[0][1]], *first[1:]), _of_nothing(function.returns, told)),
    )
    names = [name for name, _ in function.arguments]
    readings = find_programs(function, frozenset(case.example for case in exercise.shown), exercise.constants)
    if not readings:
        return

    def outcome(reading: Program, arguments: tuple[Any, ...]) -> Any:
        return reading.run(dict(zip(names, arguments, strict=True)))

    meant = _meant(exercise, readings)
    inputs = sorted(
        _inputs(exercise, function.arguments[0][1]),
        key=lambda each: -len({outcome(reading, each) for reading in readings}),
    )
    for arguments in inputs[:GUESSES]:
        result = outcome(meant, arguments)
        if habit(exercise.head, f"slip {arguments}") < ERRORS["slip"]:
            result = result + 1 if isinstance(result, int) else result[:-1]
        yield f"`{exercise.call(arguments)}`: by my reading, {literal(result)}.", Example(arguments, result)


def _of_nothing(returns: str, told: re.Match[str] | None) -> Any:
    number = told is not None and told["what"].lstrip("-").isdigit() and returns == "int"
    return int(told["what"]) if told is not None and number else _EMPTY[returns]


def _meant(exercise: Exercise, readings: tuple[Program, ...]) -> Program:
    """Return the reading of the examples that the words suggest most."""
    if habit(exercise.head, "misread") < ERRORS["misread"]:
        return readings[0]
    meanings = [meaning for word, meaning in _MEANS.items() if word in exercise.words.lower()]
    if told := _NOTHING.search(exercise.words):
        meanings.append(f"(default=|else ){told['what']}\\b")

    def spoken_for(reading: Program) -> int:
        code = " ; ".join(reading.write())
        return sum(re.search(meaning, code) is not None for meaning in meanings)

    return max(readings, key=spoken_for)


def _inputs(exercise: Exercise, kind: str) -> list[tuple[Any, ...]]:
    inputs = []
    for arguments in (case.example.arguments for case in exercise.shown):
        value, *rest = arguments
        numbers = [each for each in rest if isinstance(each, int)] or list(exercise.constants)
        inputs += [(each, *rest) for each in _varied(value, kind, numbers)]
    return [each for each in dict.fromkeys(inputs) if each not in {c.example.arguments for c in exercise.shown}]


def _varied(value: Any, kind: str, numbers: list[int]) -> Iterator[Any]:
    """Yield variations of an input: on a boundary, in another order, smaller."""
    if kind == "int":
        yield from (*numbers, value + 1, -value)
    elif kind == "str":
        yield from (value[::-1], f"{value} {value.title()}", f" {value}", value.partition(" ")[0])
    else:
        for number in numbers:
            each = "abcdefghijkl"[: max(number, 1)] if kind == "strs" else number
            yield from ((*value, each), (each, *value))
        yield from (value[::-1], value[:1], value + value[:1])
        if kind == "strs":
            yield tuple(each.title() for each in value)
