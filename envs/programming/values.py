"""The outcome of a call as a plain value, and its comparison with the expected one, in the agent's process."""

import math
import operator
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

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


def shown(value: Any) -> str:
    """Return the `repr` of a plain value, with sets in a fixed order, truncated if it is long."""
    try:
        text = _written(value)
    except ValueError:  # Python refuses to print the largest integers
        return f"a number of {sys.int_info.default_max_str_digits} digits or more"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}... ({len(text)} characters)"


def _written(value: Any) -> str:
    match value:
        case set() | frozenset() if value:
            # Their iteration order differs between processes.
            inner = ", ".join(sorted(map(_written, value), key=lambda each: (len(each), each)))
            return f"{{{inner}}}" if isinstance(value, set) else f"frozenset({{{inner}}})"
        case list():
            return f"[{', '.join(map(_written, value))}]"
        case tuple():
            return f"({', '.join(map(_written, value))}{',' if len(value) == 1 else ''})"
        case dict():
            return f"{{{', '.join(f'{_written(key)}: {_written(each)}' for key, each in value.items())}}}"
    return repr(value)


def one_line(text: str) -> str:
    """Return a program's output as one printable line."""
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
    """Whether a test holds by its own operator: `True == 1` does, `(1, 2) == [1, 2]` does not."""
    try:
        if comparison == "close":
            difference = abs(got - expected)
            return bool(difference < atol) and not math.isnan(difference)
        return bool(_OPERATORS[comparison](got, expected))
    except (TypeError, ValueError, OverflowError, RecursionError):
        return False  # the test itself would raise
