"""The outcome of a call as a plain value, its comparison with the expected one, and the limits of candidates."""

import math
import operator
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from langgraph_reflexion.envs.sandbox import Limits, Result
from langgraph_reflexion.envs.sandbox.limits import MB

LONGEST = 1000
"""Maximum characters of a value that are shown."""


Call = tuple[Sequence[Any], dict[str, Any]]
"""The arguments of a call in Python."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The outcome of one call."""

    value: Any = None
    """A plain value in Python; its text in other languages."""
    returned: bool = False
    error: str = ""
    """What was raised, or ended the program, in one line; empty if it returned a plain value."""
    odd: bool = False
    """It returned a value that is not plain."""
    late: bool = False
    """It used up its time."""


def shown(value: Any) -> str:
    """Return the `repr` of a plain value, with sets in a fixed order, truncated if it is long."""
    try:
        text = _written(value)
    except ValueError:
        # Python refuses to print the largest integers.
        return f"a number of {sys.int_info.default_max_str_digits} digits or more"
    if len(text) > LONGEST:
        return f"{text[:LONGEST]}... ({len(text)} characters)"
    return text


def _written(value: Any) -> str:
    """Return the `repr` of a plain value, with sets in a fixed order."""
    match value:
        case set() | frozenset() if value:
            inner = ", ".join(sorted(map(_written, value), key=_shortest_first))
            if isinstance(value, set):
                return f"{{{inner}}}"
            return f"frozenset({{{inner}}})"
        case list():
            inner = ", ".join(map(_written, value))
            return f"[{inner}]"
        case tuple():
            inner = ", ".join(map(_written, value))
            if len(value) == 1:
                return f"({inner},)"
            return f"({inner})"
        case dict():
            pairs = []
            for key, each in value.items():
                pairs.append(f"{_written(key)}: {_written(each)}")
            inner = ", ".join(pairs)
            return f"{{{inner}}}"
    # An empty set, too: `repr` writes `set()`.
    return repr(value)


def _shortest_first(text: str) -> tuple[int, str]:
    """Return what the elements of a set are sorted by, as their own order differs between processes."""
    return len(text), text


def as_line(text: str) -> str:
    """Return a program's output as one printable line."""
    return "".join(map(_printable, text)).strip()


def _printable(character: str) -> str:
    if character.isprintable():
        return character
    return " "


_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "is": operator.is_,
    "is not": operator.is_not,
    "in": lambda got, expected: got in expected,
    "not in": lambda got, expected: got not in expected,
    "truth": lambda got, expected: bool(got) is bool(expected),
}
COMPARISONS = frozenset(_OPERATORS) | {"close"}


def holds(got: Any, comparison: str, expected: Any, atol: float = 0.0) -> bool:
    """Whether a test holds by its own operator: `True == 1` does, `(1, 2) == [1, 2]` does not."""
    try:
        if comparison == "close":
            difference = abs(got - expected)
            # An infinity minus itself is not a number.
            return bool(difference < atol) and not math.isnan(difference)
        return bool(_OPERATORS[comparison](got, expected))
    except (TypeError, ValueError, OverflowError, RecursionError):
        # The test itself would raise.
        return False


CANDIDATE = Limits(wall=120, cpu=20, memory=1024 * MB, result=MB)
"""The limits of a candidate for all its tests together. They count CPU, so that a verdict does not depend on what
else the machine does, and are twice the original code's ten seconds, which a logged solution (HumanEval/129) nearly
needs. A candidate that only waits is ended after two minutes."""

HURRY = 10
"""How many times less time a self-written test has after one that used up all of it, as more tests are likely to."""

ROOM = 16 * MB
"""Bytes of the answers of a canonical solution."""

COMPILER = Limits(wall=60, cpu=120, memory=4096 * MB, processes=256, descriptors=1024, disk=512 * MB)
"""The limits of compiling a candidate."""


def is_late(done: Result) -> bool:
    """Return whether a run has used up its time."""
    return done.status in ("timeout", "cpu")


def hurried(limits: Limits, tests: int = 1) -> Limits:
    """Return the limits of some further self-written tests, after a late one: at most half of what they were."""
    share = min(0.5, tests / HURRY)
    shorter = replace(limits, cpu=limits.cpu * share)
    if limits.wall is not None:
        shorter = replace(shorter, wall=limits.wall * share)
    return shorter


def ended_by(done: Result, limits: Limits) -> str:
    """Return which limit ended a run; empty if none did."""
    match done.status:
        case "timeout":
            return f"took longer than {limits.wall:g} s"
        case "cpu":
            return f"took more than {limits.cpu:g} s of CPU"
        case "memory":
            return f"used more than {limits.memory // MB} MB of memory"
        case "output":
            return "wrote too much"
        case "files":
            return "made too many files"
    return ""
