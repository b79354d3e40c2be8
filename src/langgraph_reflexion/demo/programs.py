"""The demo model's programs: chains of small operations, which it can run in its head and write down."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from string import Template
from typing import Any

NAMES = {
    "python": {"int": "int", "ints": "list[int]", "str": "str", "strs": "list[str]"},
    "rust": {"int": "i64", "ints": "Vec<i64>", "str": "String", "strs": "Vec<String>"},
}
"""How it writes the types that it knows."""


@dataclass(frozen=True)
class Operation:
    """One operation.

    Attributes:
        takes: The type of what it takes.
        gives: The type of what it gives.
        run: What it gives, for a value and a constant. Lists are tuples here.
        python: An expression over `$x` and `$c`.
        rust: The same in Rust, where `$x` may be consumed.
        numbered: Whether it has a constant.
    """

    takes: str
    gives: str
    run: Callable[[Any, Any], Any]
    python: str
    rust: str
    numbered: bool = False


@dataclass(frozen=True)
class Step:
    """An operation with its constant: a number, or the name of an argument."""

    operation: Operation
    constant: int | str = 0


@dataclass(frozen=True)
class Program:
    """A chain of operations on one argument.

    Attributes:
        argument: The name of the argument that it begins with.
        steps: What is done with it, in order.
    """

    argument: str
    steps: tuple[Step, ...]

    def run(self, arguments: Mapping[str, Any]) -> Any:
        """What it returns."""
        value = arguments[self.argument]
        for step in self.steps:
            constant = arguments[step.constant] if isinstance(step.constant, str) else step.constant
            value = step.operation.run(value, constant)
        return value

    def write(self, language: str) -> list[str]:
        """The lines of a function's body, the indentation apart."""
        lines, x = [], self.argument
        for step in self.steps:
            operation = step.operation
            code = operation.python if language == "python" else operation.rust
            given = NAMES[language][operation.gives]
            kind = "" if language == "python" else f"let result: {given} = "
            lines.append(kind + Template(code).substitute(x=x, c=step.constant))
            x = "result"
        return _statements(lines, language) if lines else [f"return {x}" if language == "python" else x]


def _statements(lines: Sequence[str], language: str) -> list[str]:
    *before, last = lines
    if language == "python":
        return [*(f"result = {line}" for line in before), f"return {last}"]
    return [*(f"{line};" for line in before), last.partition(" = ")[2]]
