"""A generated function: a sequence of operations, as a description, in Python and in Rust."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from langgraph_reflexion.envs.programming.generated.operations import TYPES, Operation, Type

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
        said = [step.operation.describe(step.written) for step in self.steps]
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
