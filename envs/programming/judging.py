"""The judge: hidden tests, self-written tests, and which of those are valid.

What a candidate is worth is decided outside of the process that runs it. That process is given calls, nothing of what
is expected, and answers with plain values, which are compared here. Checks that are no such calls run in a process
of their own, which calls the candidate in its.
"""

import threading
from collections.abc import Sequence

from langgraph_reflexion.envs.programming import assembling
from langgraph_reflexion.envs.programming.compiled import CompiledJudge
from langgraph_reflexion.envs.programming.languages import language_of
from langgraph_reflexion.envs.programming.limits import CANDIDATE
from langgraph_reflexion.envs.programming.problems import Problem
from langgraph_reflexion.envs.programming.python import PythonJudge
from langgraph_reflexion.envs.programming.verdicts import Verdict
from langgraph_reflexion.envs.sandbox import Limits, Sandbox
from langgraph_reflexion.envs.tested import TestOutcome
from langgraph_reflexion.errors import ConfigurationError


class Judge:
    """Judges candidates. May be used by many threads at once; close it, or use it in a `with`.

    Args:
        sandbox: Where candidates run; one of its own unless given.
        limits: What a candidate may use for all tests together.

    Raises:
        EnvironmentUnavailable: there is no sandbox here.
    """

    def __init__(self, sandbox: Sandbox | None = None, limits: Limits = CANDIDATE) -> None:
        self._sandbox, self._limits = sandbox or Sandbox(), limits
        self._lock = threading.Lock()
        self._judges: dict[str, PythonJudge | CompiledJudge] = {}

    def grade(self, problem: Problem, code: str) -> Verdict:
        """Run the hidden tests.

        Args:
            problem: The problem.
            code: A whole program, as `assemble` makes it.

        Raises:
            ConfigurationError: the problem is not gradable.
            EnvironmentUnavailable: the language's toolchain is missing.
            EnvironmentFault: the sandbox failed.
        """
        if not problem.gradable:
            raise ConfigurationError(f"{problem.id} has no hidden tests that can be run here: it cannot be graded")
        if not problem.cases and not problem.test:
            raise ConfigurationError(f"{problem.id} has no hidden tests")
        return self._of(problem).grade(problem, code)

    def run_tests(self, problem: Problem, code: str, tests: Sequence[str], times: int = 1) -> list[list[TestOutcome]]:
        """Run self-written tests, each by itself: one that ends the candidate takes none of the others with it.

        Args:
            problem: The problem.
            code: A whole program, as `assemble` makes it.
            tests: Tests that are valid.
            times: How often all of them are run, each time in new processes.

        Returns:
            For each time, one outcome for each test, in order.

        Raises:
            ConfigurationError: the language has no self-written tests.
            EnvironmentUnavailable: the language's toolchain is missing.
            EnvironmentFault: the sandbox failed.
        """
        return self._of(problem).run_tests(problem, code, tests, times) if tests else [[] for _ in range(times)]

    def valid_tests(self, problem: Problem, tests: Sequence[str]) -> list[str]:
        """The tests that a language's syntax filter lets through: asserts that call the function that is asked for.

        Python's must parse, and know every name in them; Rust's must compile against the prompt's signature.

        Args:
            problem: The problem.
            tests: Single asserts, as `written.tests_in` finds them.

        Returns:
            Those that are valid, in order.

        Raises:
            ConfigurationError: the language has no self-written tests.
            EnvironmentUnavailable: the language's toolchain is missing.
            EnvironmentFault: the sandbox failed.
        """
        return self._of(problem).valid_tests(problem, tests)

    def assemble(self, problem: Problem, completion: str) -> str:
        """The whole program that a completion stands for; see `assembling`."""
        return assembling.assemble(problem, completion)

    def close(self) -> None:
        """End what the judge keeps running."""
        with self._lock:
            for judge in self._judges.values():
                judge.close()
            self._judges.clear()

    def __enter__(self) -> "Judge":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _of(self, problem: Problem) -> PythonJudge | CompiledJudge:
        kind = "python" if language_of(problem.language) == "python" else "compiled"
        with self._lock:
            if kind not in self._judges:
                made = PythonJudge if kind == "python" else CompiledJudge
                self._judges[kind] = made(self._sandbox, self._limits)
            return self._judges[kind]
