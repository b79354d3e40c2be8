"""The library of operations that the project's own problems are composed of: in words, in Python and in Rust."""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from string import Template
from typing import Any, Literal

Type = Literal["number", "numbers", "text", "words"]
"""What a value is. The names are those of the variables, too."""

TYPES: dict[str, dict[Type, str]] = {
    "python": {"number": "int", "numbers": "list[int]", "text": "str", "words": "list[str]"},
    "rust": {"number": "i64", "numbers": "Vec<i64>", "text": "String", "words": "Vec<String>"},
}
"""How a type is written in each language."""


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One step of a problem: takes one value, and gives one.

    Attributes:
        name: Its part of the function's name.
        takes: What it takes.
        gives: What it gives.
        kind: Steps of one kind do not follow on each other; a `fold` ends a problem.
        words: What it does, as an instruction; `$c` is its constant.
        python: An expression over `$x` and `$c`.
        rust: The same in Rust, where `$x` may be consumed.
        constants: What `$c` can be; without any, it has none.
        argument: Whether the constant may be an argument of the function instead.
        after: The kinds of steps after which it is of use, the empty one being none; any where there are none.
        near: Elements that examples do not show, as distances from the constant; for words, from it in length.
        edge: Elements that examples do not show.
    """

    name: str
    takes: Type
    gives: Type
    kind: str
    words: str
    python: str
    rust: str
    constants: tuple[int, ...] = ()
    argument: bool = False
    after: tuple[str, ...] = ()
    near: tuple[int, ...] = ()
    edge: tuple[int | str, ...] = ()

    def follows(self, kind: str) -> bool:
        """Whether it makes sense after a step of a kind; the empty one is none."""
        return kind != self.kind and (not self.after or kind in self.after)

    def say(self, constant: int | str) -> str:
        """The instruction, with its constant in it."""
        return Template(self.words).substitute(c=constant)

    def write(self, language: str, constant: int | str) -> str:
        """The expression, over the variable that is named after what it takes."""
        code = self.python if language == "python" else self.rust
        return Template(code).substitute(x=self.takes, c=constant)

    def tempting(self, constant: int) -> tuple[int | str, ...]:
        """The elements on which a hasty reading goes wrong."""
        if self.takes == "words":
            return (*("abcdefghijklm"[: constant + off] for off in self.near), *self.edge)
        return (*(constant + off for off in self.near), *self.edge)


@cache
def library() -> tuple[Operation, ...]:
    """All operations."""
    content = tomllib.loads((Path(__file__).parent / "operations.toml").read_text(encoding="utf-8"))
    return tuple(_operation(entry) for entry in content["operation"])


def _operation(entry: dict[str, Any]) -> Operation:
    values: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}
    return Operation(**values)
