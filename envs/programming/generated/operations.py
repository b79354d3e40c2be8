"""The library of operations of generated problems: as a description, in Python and in Rust."""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from string import Template
from typing import Any, Literal

Type = Literal["number", "numbers", "text", "words"]
"""The type of a value, and the name of its variable."""

TYPES: dict[str, dict[Type, str]] = {
    "python": {"number": "int", "numbers": "list[int]", "text": "str", "words": "list[str]"},
    "rust": {"number": "i64", "numbers": "Vec<i64>", "text": "String", "words": "Vec<String>"},
}
"""The types in each language."""


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One step of a function, from one value to another. `operations.toml` explains the fields."""

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
        """Whether it makes sense after a step of a kind, empty for the first step."""
        return kind != self.kind and (not self.after or kind in self.after)

    def describe(self, constant: int | str) -> str:
        """Return the description with its constant."""
        return Template(self.words).substitute(c=constant)

    def write(self, language: str, constant: int | str) -> str:
        """Return the expression over the variable of its type."""
        code = self.python if language == "python" else self.rust
        return Template(code).substitute(x=self.takes, c=constant)

    def tempting(self, constant: int) -> tuple[int | str, ...]:
        """Return the elements on which a hasty reading goes wrong."""
        if self.takes == "words":
            return (*("abcdefghijklm"[: constant + off] for off in self.near), *self.edge)
        return (*(constant + off for off in self.near), *self.edge)


@cache
def library() -> tuple[Operation, ...]:
    """Return all operations."""
    content = tomllib.loads((Path(__file__).parent / "operations.toml").read_text(encoding="utf-8"))
    return tuple(_operation(entry) for entry in content["operation"])


def _operation(entry: dict[str, Any]) -> Operation:
    values: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}
    return Operation(**values)
