"""The tests that the demo model writes for a problem: the docstring's examples, and guesses of its own.

It thinks of inputs at which the ways to read the examples part, and works out in its head what should come of them.
A guess can be wrong for these reasons:

* `nothing`: where the words do not say what comes of nothing at all, it takes what is usual.
* `misread`: it takes the first reading that comes to mind, whatever the words say.
* `slip`: it miscounts.
* None of its readings is what is meant.
"""

import re
from collections.abc import Iterator
from typing import Any

from langgraph_reflexion.demo.exercise import Exercise
from langgraph_reflexion.demo.habits import habit
from langgraph_reflexion.demo.programs import Program
from langgraph_reflexion.demo.searching import Example, find_programs

ERRORS = {"misread": 0.15, "slip": 0.06}
"""At how many problems it makes each error."""
GUESSES = 2
"""How many guesses it makes besides that of nothing at all."""

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
"""Words, and what a programmer writes for them."""


def guess_tests(exercise: Exercise) -> Iterator[tuple[str, Example]]:
    """Guesses, each with the thought behind it.

    Args:
        exercise: The problem.
    """
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
            result = _miscounted(result)
        yield f"`{exercise.call(arguments)}`: by my reading, {exercise.literal(result)}.", Example(arguments, result)


def _of_nothing(returns: str, told: re.Match[str] | None) -> Any:
    number = told is not None and told["what"].lstrip("-").isdigit() and returns == "int"
    return int(told["what"]) if told is not None and number else _EMPTY[returns]


def _meant(exercise: Exercise, readings: tuple[Program, ...]) -> Program:
    """Of the ways to read the examples, the one that the words speak for most."""
    if habit(exercise.head, "misread") < ERRORS["misread"]:
        return readings[0]
    meanings = [meaning for word, meaning in _MEANS.items() if word in exercise.words.lower()]
    if told := _NOTHING.search(exercise.words):
        meanings.append(f"(default=|else ){told['what']}\\b")

    def spoken_for(reading: Program) -> int:
        code = " ; ".join(reading.write("python"))
        return sum(re.search(meaning, code) is not None for meaning in meanings)

    return max(readings, key=spoken_for)


def _inputs(exercise: Exercise, kind: str) -> list[tuple[Any, ...]]:
    """Inputs that it thinks of."""
    inputs = []
    for arguments in (case.example.arguments for case in exercise.shown):
        value, *rest = arguments
        numbers = [each for each in rest if isinstance(each, int)] or list(exercise.constants)
        inputs += [(each, *rest) for each in _varied(value, kind, numbers)]
    return [each for each in dict.fromkeys(inputs) if each not in {c.example.arguments for c in exercise.shown}]


def _varied(value: Any, kind: str, numbers: list[int]) -> Iterator[Any]:
    """One input changed a little: what lies on a boundary, another order, less of it."""
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


def _miscounted(value: Any) -> Any:
    return value + 1 if isinstance(value, int) else value[:-1]
