"""Programming problems in one form, whatever their source."""

from dataclasses import dataclass
from typing import ClassVar

from pydantic import ConfigDict


@dataclass(frozen=True, slots=True)
class Case:
    """One call and its expected value, as source in the problem's language.

    The process that runs a candidate only ever sees `call`.
    """

    call: str
    """The call with literal arguments: `running_total([1, 2])`, `running_total(vec![1, 2])`. In compiled languages,
    any expression."""
    expected: str
    """A literal: `[1, 3]`, `vec![1, 3]`; JSON for languages other than Python and Rust. Empty if it is what the
    canonical solution returns."""
    comparison: str = "=="
    """How the value, on the left, compares with it: Python's comparison operators, `truth` (compare Python's `bool`
    of the value), `close` (within `atol`), or one of EvalPlus's rules."""
    atol: float = 0.0
    """The absolute tolerance of `close`, and of floats in EvalPlus's rules."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem: its prompt, and the hidden tests that decide whether a candidate is right."""

    __pydantic_config__: ClassVar = ConfigDict(extra="forbid")

    id: str
    language: str
    """One of `languages.LANGUAGES`, such as `python` or `rust`."""
    prompt: str
    """The beginning of a program: signature and description. A completion may continue it."""
    entry_point: str
    """The name of the requested function."""
    cases: tuple[Case, ...] = ()
    """The hidden tests that are calls with plain values."""
    test: str = ""
    """Python: other hidden tests, as source that runs in its own process, where `candidate` is the function."""
    setup: str = ""
    """Python: source that those tests need in addition to the candidate."""
    stop_tokens: tuple[str, ...] = ()
    """Where to cut a completion that does not end with the function."""
    canonical: str | None = None
    """A correct solution as a whole program, if there is one."""
    gradable: bool = True
    """Whether there are hidden tests that can be run here. Other problems count in no rate."""
    visible_tests: tuple[str, ...] = ()
    """Tests in the prompt, as source."""
