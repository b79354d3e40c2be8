"""Episodes of a programming problem: a program is run on tests that the model may see, and submitted."""

import re
from collections.abc import Callable, Sequence
from typing import Annotated, Any

from langgraph_reflexion.envs.base import Action, Episode, StepResult, TestOutcome, action, render_tests

HANDED_IN = "The program was handed in."
OVER = "A program was handed in already: the trial is over."
NO_TESTS = (
    "There are no tests to run: when you think that the program is right, hand it in by submit, "
    "with the whole program below it."
)

NOT_YET = "The program has not been handed in yet: submit does that."

_BLOCK = re.compile(
    r"^(?P<indent>[ \t]*+)(?P<fence>`{3,}+|~{3,}+)[ \t]*+(?P<language>[\w+#]*+)[^\n`]*+\n"
    # A fence that is indented further, as in a docstring, does not close; the last block may be open.
    r"(?P<code>.*?)(?:^(?P=indent)? {0,3}(?P=fence)[ \t]*$|\Z)",
    re.DOTALL | re.MULTILINE,
)

_FENCE = re.compile(r"^[ \t]*+(?:```|~~~)[ \t]*+$", re.MULTILINE)
_ANY_FENCE = re.compile(r"^[ \t]*+(?:```|~~~)", re.MULTILINE)
# Not one that is indented as deeply as code is, such as in a docstring.
_OUTER_FENCE = re.compile(r"^ {0,3}(?:```|~~~)", re.MULTILINE)
CODE_BEGINS = re.compile(
    r"^(?:(?:from|import|def|async|class|use|pub|fn|func|function|package|public)\b|#include|@)", re.MULTILINE
)
"""Beginnings of a line of code."""
# Stricter, as a line of prose may begin with `class`.
_DEFINITION = re.compile(
    r"^(?:(?:async[ \t]++def|def|pub|fn)[ \t]++\w|class[ \t]++\w++[ \t]*+[(:{\[]|pub\(|impl[ \t<])", re.MULTILINE
)

Try = Callable[[str], Sequence[TestOutcome]]
"""Runs a task's tests that the model may see on a program; returns nothing if there are none."""


class CodeEpisode(Episode):
    """An episode that ends with the submission of a program."""

    def __init__(self, problem: str, over: bool = False) -> None:
        self.observation = problem
        self._over = over

    def step(self, action: Action) -> StepResult:
        if self._over:
            return StepResult(OVER, terminated=True)
        result: StepResult = super().step(action)
        return result

    @action("submit\n{code}")
    def submit(self, code: Annotated[str, "the whole program"]) -> StepResult:
        """Hand in the whole program, with its imports and helpers, and end the trial."""
        if not program_in(code):
            return StepResult(self.invalid("submit needs a program"))
        self._over = True
        return StepResult(HANDED_IN, terminated=True)

    def snapshot(self) -> dict[str, Any]:
        return {"over": self._over}


class ProgrammingEpisode(CodeEpisode):
    """An episode in which programs may be tested before submission."""

    def __init__(self, problem: str, try_out: Try, over: bool = False) -> None:
        super().__init__(problem, over)
        self._try = try_out

    @action("run_tests\n{code}")
    def run_tests(self, code: Annotated[str, "the whole program"]) -> str:
        """Run your tests for this task on a program, or else the examples in the description, and see which fail."""
        program = program_in(code)
        if not program:
            return self.invalid("run_tests needs a program")
        outcomes = self._try(program)
        if not outcomes:
            return NO_TESTS
        seen = render_tests(outcomes)
        if all(outcome.passed for outcome in outcomes):
            # A small model takes the tests for the end of the task.
            return f"{seen}\n{NOT_YET}"
        return seen


class OneShotEpisode(CodeEpisode):
    """An episode of a single step: any action ends it, and an invalid one leaves the problem unsolved."""

    def step(self, action: Action) -> StepResult:
        result = super().step(action)
        self._over = True
        return StepResult(result.observation, terminated=True)


def program_in(text: str) -> str:
    """Return the program in a text: all of it if it begins as code does, else its first code block, or all of it.

    Empty if there is none.
    """
    if _shows_block(text):
        block = block_in(text)
        if block:
            return block
    if not text.strip():
        return ""
    return text.strip("\n")


def _shows_block(text: str) -> bool:
    """Return whether a text begins with a code block, or has one after a line that is not code."""
    if text.lstrip().startswith(("```", "~~~")):
        return True
    if looks_like_code(text) or _OUTER_FENCE.search(text) is None:
        return False
    # Code may begin with a docstring, whose example is such a block.
    outside = _BLOCK.sub("", text.replace("\r\n", "\n"))
    return _DEFINITION.search(outside) is None


def block_in(text: str, *names: str) -> str:
    """Return the first code block in one of these languages, or else the first; empty if there is none."""
    blocks = blocks_in(text, *names)
    if not blocks:
        return ""
    return blocks[0]


def blocks_in(text: str, *names: str) -> list[str]:
    """Return the code blocks in a text: those in one of these languages, or else all.

    A first fence that follows code, and that no code follows, closes a block whose opening fence is missing. The last
    block may be left open.
    """
    unopened = _before_closing_fence(text)
    if unopened is not None:
        return [unopened]
    blocks = []
    in_language = []
    for match in _BLOCK.finditer(text.replace("\r\n", "\n")):
        code = _outdented(match["code"], match["indent"]).strip("\n")
        blocks.append(code)
        if match["language"].lower() in names:
            in_language.append(code)
    return in_language or blocks


def _outdented(code: str, indent: str) -> str:
    """Return code without the indentation of its fence, as a block in a list is indented as a whole."""
    lines = code.split("\n")
    # A reply may begin with a blank, which then precedes the fence alone.
    if not all(line.startswith(indent) for line in lines if line.strip()):
        return code
    return "\n".join(line.removeprefix(indent) for line in lines)


def _before_closing_fence(text: str) -> str | None:
    """Return the code before a first fence that closes it; None if the fence opens a block, or there is none."""
    fence = _FENCE.search(text)
    if fence is None:
        return None
    before = text[: fence.start()]
    after = text[fence.end() :]
    if _ANY_FENCE.search(before):
        return None
    if not looks_like_code(before) or looks_like_code(after):
        return None
    return bare_code(before)


def looks_like_code(text: str) -> bool:
    """Return whether the first line with text is indented, as the body of a function is, or begins as code does."""
    first_character = len(text) - len(text.lstrip())
    line_start = text.rfind("\n", 0, first_character) + 1
    indentation = text[line_start:first_character]
    # Some models begin every reply with one blank.
    if indentation not in ("", " "):
        return True
    return CODE_BEGINS.match(text[first_character:]) is not None


def bare_code(text: str) -> str:
    """Return code that is in no block, without empty lines around it, and without one blank at its beginning."""
    code = text.strip("\n")
    if code.startswith("  "):
        return code
    return code.removeprefix(" ")
