"""Episodes at a problem: a program is tried out on the self-written tests, and handed in."""

import re
from collections.abc import Callable, Sequence
from typing import Annotated, Any

from langgraph_reflexion.envs.base import Action, Episode, StepResult, action
from langgraph_reflexion.envs.tested import TestOutcome, tests_told

HANDED_IN = "The program was handed in."
OVER = "A program was handed in already: the trial is over."
NO_TESTS = "There are no tests to run: hand the program in when you think that it is right."

_BLOCK = re.compile(
    r"^(?P<indent>[ \t]*)(?P<fence>`{3,}|~{3,})[ \t]*(?P<language>[\w+#]*)[^\n`]*\n"
    # What is indented further, as in a docstring, closes nothing; the last block may be left open.
    r"(?P<code>.*?)(?:^(?P=indent)? {0,3}(?P=fence)[ \t]*$|\Z)",
    re.DOTALL | re.MULTILINE,
)

Try = Callable[[str], Sequence[TestOutcome]]
"""Runs the task's self-written tests on a program."""


class CodeEpisode(Episode):
    """One program, and the trial is over.

    Args:
        problem: What is asked for: signature and description.
        over: Whether a program was handed in.
    """

    def __init__(self, problem: str, over: bool = False) -> None:
        self.observation = problem
        self._over = over

    def step(self, action: Action) -> StepResult:
        """Take one action; nothing happens after the end."""
        return StepResult(OVER, terminated=True) if self._over else super().step(action)

    @action("submit\n{code}")
    def submit(self, code: Annotated[str, "the whole program"]) -> StepResult:
        """Hand in the whole program, with its imports and helpers, and end the trial."""
        if not program_in(code):
            return StepResult(self.invalid("submit wants a program"))
        self._over = True
        return StepResult(HANDED_IN, terminated=True)

    def snapshot(self) -> dict[str, Any]:
        """Whether it is over: programs need not be run again to know how the trial stands."""
        return {"over": self._over}


class ProgrammingEpisode(CodeEpisode):
    """Programs may be tried out before one is handed in.

    Args:
        problem: What is asked for.
        try_out: Runs the task's tests; None where it has none.
        over: Whether a program was handed in.
    """

    def __init__(self, problem: str, try_out: Try | None, over: bool = False) -> None:
        super().__init__(problem, over)
        self._try = try_out

    @action("run_tests\n{code}")
    def run_tests(self, code: Annotated[str, "the whole program"]) -> str:
        """Run the tests that you have written for this task on a program, and see which of them fail."""
        if self._try is None:
            return NO_TESTS
        program = program_in(code)
        return tests_told(self._try(program)) if program else self.invalid("run_tests wants a program")


class OneShotEpisode(CodeEpisode):
    """A single turn: whatever is done ends it, so what is no program leaves the problem unsolved."""

    def step(self, action: Action) -> StepResult:
        """Take the one action; see `Episode.step`."""
        result = super().step(action)
        self._over = True
        return StepResult(result.observation, terminated=True)


def program_in(text: str) -> str:
    """The program in a text: the block of code that it begins with, or all of it; empty where there is none."""
    block = block_in(text) if text.lstrip().startswith(("```", "~~~")) else ""
    return block or (text.strip("\n") if text.strip() else "")


def block_in(text: str, *names: str) -> str:
    """The code of the first block that bears one of these names, or else of the first block; empty without any."""
    blocks = [
        (match["language"].lower(), re.sub(f"^{match['indent']}", "", match["code"], flags=re.MULTILINE).strip("\n"))
        for match in _BLOCK.finditer(text.replace("\r\n", "\n"))
    ]
    named = [code for language, code in blocks if language in names]
    return next(iter([*named, *(code for _, code in blocks)]), "")
