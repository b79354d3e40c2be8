"""What a call came to, and whether that is what was expected. All of it plain values, in the agent's process."""

import math
import operator
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

LONGEST = 1000
"""So many characters of a value are shown."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What one call came to."""

    value: Any = None
    returned: bool = False
    error: str = ""
    """What was raised, or ended the program, in one line; empty where it returned a plain value."""
    odd: bool = False
    """It returned something, which is not plain."""


def shown(value: Any) -> str:
    """A plain value as `repr` shows it, sets in an order of their own, shortened where it is long."""
    try:
        text = _written(value)
    except ValueError:  # Python refuses to write out the longest numbers
        return f"a number of {sys.int_info.default_max_str_digits} digits or more"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}... ({len(text)} characters)"


def _written(value: Any) -> str:
    match value:
        case set() | frozenset() if value:
            # Their own order is another one in every process.
            inner = ", ".join(sorted(map(_written, value), key=lambda each: (len(each), each)))
            return f"{{{inner}}}" if isinstance(value, set) else f"frozenset({{{inner}}})"
        case list():
            return f"[{', '.join(map(_written, value))}]"
        case tuple():
            return f"({', '.join(map(_written, value))}{',' if len(value) == 1 else ''})"
        case dict():
            return f"{{{', '.join(f'{_written(key)}: {_written(each)}' for key, each in value.items())}}}"
    return repr(value)


def in_a_line(text: str) -> str:
    """What a program said, as one line that any file and any terminal takes."""
    return "".join(each if each.isprintable() else " " for each in text).strip()


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
    """Whether a test holds, as its own operator says: `True == 1` does, `(1, 2) == [1, 2]` does not.

    Args:
        got: What came out; a plain value.
        comparison: One of `COMPARISONS`.
        expected: What it is compared with.
        atol: The absolute tolerance of `close`.
    """
    try:
        if comparison == "close":
            difference = abs(got - expected)
            return bool(difference < atol) and not math.isnan(difference)
        return bool(_OPERATORS[comparison](got, expected))
    except (TypeError, ValueError, OverflowError, RecursionError):
        return False  # as the test would raise
