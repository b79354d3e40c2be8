"""Programming problems in one form, wherever they come from."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from typing import Any, ClassVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from langgraph_reflexion.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Case:
    """One call, and what it has to come to. Source text in the problem's language.

    Only `call` is ever shown to the process that runs a candidate.
    """

    call: str
    """The call, with literal arguments: `running_total([1, 2])`, `running_total(vec![1, 2])`. In languages that are
    compiled, any expression."""
    expected: str
    """A literal: `[1, 3]`, `vec![1, 3]`; JSON for languages other than Python and Rust. Empty where it is what the
    canonical solution returns."""
    comparison: str = "=="
    """How the outcome, on the left, compares with it: Python's comparison operators, `truth` (Python's `bool` of the
    outcome is what is expected), `close` (within `atol`), or one of EvalPlus's own rules."""
    atol: float = 0.0
    """The absolute tolerance of `close`, and of floats in EvalPlus's rules."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem: what a candidate is told, and the hidden tests that decide whether it is right."""

    __pydantic_config__: ClassVar = ConfigDict(extra="forbid")

    id: str
    source: str
    """Where it comes from: `humaneval`, `mbpp`, `multipl-e`, `humaneval+`, `mbpp+`, `leetcode` or `own`."""
    language: str
    """One of `languages.LANGUAGES`, such as `python` or `rust`."""
    prompt: str
    """The beginning of a program: signature and description. A completion may go on after it."""
    entry_point: str
    """The name of the function that is asked for."""
    cases: tuple[Case, ...] = ()
    """The hidden tests, as far as they are calls with plain values."""
    test: str = ""
    """Python: hidden tests that are no such calls, as source that runs in a process of its own."""
    setup: str = ""
    """Python: what those tests need beside the candidate, as source."""
    self_calling: bool = False
    """Whether `test` runs its checks by itself; otherwise its `check` is called with the candidate."""
    stop_tokens: tuple[str, ...] = ()
    """Where a completion ends that ran on."""
    canonical: str | None = None
    """A right solution as a whole program, where there is one."""
    gradable: bool = True
    """Whether there are hidden tests that can be run here. What is not gradable counts for no rate."""
    visible_tests: tuple[str, ...] = ()
    """Tests that the prompt itself shows, as source text."""
    raw: Mapping[str, Any] = field(default_factory=dict)
    """What else the file says of it."""

    def as_json(self) -> dict[str, Any]:
        """The problem as plain JSON, which `from_json` reads."""
        return {**asdict(self), "raw": dict(self.raw)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Problem":
        """The problem that `as_json` wrote, before or after it went through JSON.

        Raises:
            ConfigurationError: it is none.
        """
        try:
            return _reader().validate_python(data)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            raise ConfigurationError(f"this is no programming problem: {where}: {first['msg']}") from None


@cache
def _reader() -> TypeAdapter[Problem]:
    return TypeAdapter(Problem)
