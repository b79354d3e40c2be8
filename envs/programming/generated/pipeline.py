"""The library of operations of generated problems, and functions as sequences of them, in Python and in Rust."""

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
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
    entries: list[dict[str, Any]] = [
        {key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}
        for entry in content["operation"]
    ]
    return tuple(Operation(**entry) for entry in entries)


ARGUMENT = "limit"
"""The name of a constant that is an argument."""


@dataclass(frozen=True)
class Step:
    """An operation with its constant, which may be an argument of the function."""

    operation: Operation
    constant: int = 0
    argument: bool = False

    @property
    def written(self) -> int | str:
        """The constant in description and code."""
        return ARGUMENT if self.argument else self.constant


@dataclass(frozen=True)
class Pipeline:
    """The steps of a function; the last one is a fold."""

    steps: tuple[Step, ...]

    @property
    def source(self) -> Type:
        """The type of its first argument."""
        return self.steps[0].operation.takes

    @property
    def gives(self) -> Type:
        """The type of its result."""
        return self.steps[-1].operation.gives

    @property
    def argument(self) -> Step | None:
        """The step whose constant is an argument, if any."""
        return next((step for step in self.steps if step.argument), None)

    @property
    def name(self) -> str:
        """The function's name: the last operation first."""
        last, *before = (step.operation.name for step in reversed(self.steps))
        return "_".join([last, *before])

    def words(self) -> str:
        """Return the description."""
        given = {"number": "the number", "numbers": "the list of numbers", "text": "the text", "words": "the words"}
        said = [Template(step.operation.words).substitute(c=step.written) for step in self.steps]
        begin = f"Take {given[self.source]}"
        sentences = [f"{said[0][0].upper()}{said[0][1:]}", *(f"Then {each}" for each in said[1:])]
        return ". ".join([begin, *sentences]) + "."

    def signature(self, language: str) -> str:
        """Return the function's first line without the beginning of its body."""
        types = TYPES[language]
        arguments = [f"{self.source}: {types[self.source]}"]
        if self.argument:
            arguments.append(f"{ARGUMENT}: {types['number']}")
        word = {"python": "def", "rust": "fn"}[language]
        return f"{word} {self.name}({', '.join(arguments)}) -> {types[self.gives]}"

    def body(self, language: str) -> str:
        """Return the canonical solution's indented body."""
        *steps, fold = self.steps
        lines = []
        for step in steps:
            code, to = step.operation.write(language, step.written), step.operation.gives
            lines.append(f"{to} = {code}" if language == "python" else f"let {to}: {TYPES['rust'][to]} = {code};")
        last = fold.operation.write(language, fold.written)
        lines.append(f"return {last}" if language == "python" else last)
        return "".join(f"    {line}\n" for line in lines)

    def __call__(self, *arguments: Any) -> Any:
        """Run the canonical solution in Python."""
        return self._function(*arguments)

    @cached_property
    def _function(self) -> Callable[..., Any]:
        scope: dict[str, Any] = {}
        # The code comes from this package's library of operations.
        exec(f"{self.signature('python')}:\n{self.body('python')}", scope)
        function: Callable[..., Any] = scope[self.name]
        return function

    def without(self, index: int) -> "Pipeline":
        """Return the function without one step."""
        return Pipeline(self.steps[:index] + self.steps[index + 1 :])
