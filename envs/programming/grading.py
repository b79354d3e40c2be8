"""The grader: hidden tests, self-written tests, and which of those are valid.

A candidate is judged outside the process that runs it. That process receives calls, never the expected values, and
answers with plain values, which are compared here. Checks that are not plain calls run in another process, which
calls the candidate in its own.
"""

from collections.abc import Iterable, Sequence

from langgraph_reflexion.envs.base import TestOutcome
from langgraph_reflexion.envs.programming.compiled import CompiledGrader
from langgraph_reflexion.envs.programming.languages import LANGUAGES
from langgraph_reflexion.envs.programming.problems import Problem
from langgraph_reflexion.envs.programming.python import PythonGrader
from langgraph_reflexion.envs.programming.values import CANDIDATE, as_line
from langgraph_reflexion.envs.sandbox import Limits, Sandbox
from langgraph_reflexion.errors import ConfigurationError


class Grader:
    """Grades candidates. Thread-safe.

    All methods raise `EnvironmentUnavailable` if the language's toolchain is missing, and `EnvironmentFault` if the
    sandbox failed.

    Args:
        sandbox: Where candidates run.
        limits: Resource limits of a candidate for all tests together.
    """

    def __init__(self, sandbox: Sandbox, limits: Limits = CANDIDATE) -> None:
        self._python = PythonGrader(sandbox, limits)
        self._compiled = CompiledGrader(sandbox, limits)

    def expect_toolchains(self, languages: Iterable[str]) -> None:
        """Expect the toolchains of these languages."""
        for name in sorted(languages):
            self._compiled.expect_toolchain(LANGUAGES[name])

    def failure(self, problem: Problem, code: str) -> str | None:
        """Run the hidden tests on a whole program, as `assemble` returns it.

        Returns:
            The first failure, in one line that names the test; None if all pass. Never shown to the model.

        Raises:
            ConfigurationError: the problem is not gradable.
        """
        if not problem.gradable or not (problem.cases or problem.test):
            raise ConfigurationError(f"{problem.id} has no hidden tests that can be run here: it cannot be graded")
        failure = self._of(problem).failure(problem, code)
        if failure is None:
            return None
        # Programs in some languages return any characters, such as those that a terminal obeys.
        return as_line(failure) or "it failed"

    def run_tests(
        self,
        problem: Problem,
        code: str,
        tests: Sequence[str],
        times: int = 1,
    ) -> list[list[TestOutcome]]:
        """Run self-written tests independently: one that ends the candidate does not affect the others.

        Args:
            problem: The problem.
            code: A whole program, as `assemble` returns it.
            tests: Valid tests.
            times: Number of rounds, each in new processes.

        Returns:
            For each round, the outcome of each test.

        Raises:
            ConfigurationError: self-written tests in this language are not supported.
        """
        if not tests:
            return [[] for _ in range(times)]
        return self._of(problem).run_tests(problem, code, tests, times)

    def valid_tests(self, problem: Problem, tests: Sequence[str]) -> list[str]:
        """Return the valid tests: asserts that call the requested function.

        In Python, they have to parse, without unknown names; in Rust, to compile against the prompt's signature.

        Args:
            problem: The problem.
            tests: Single asserts, as `test_extraction.tests_in` returns them.

        Raises:
            ConfigurationError: self-written tests in this language are not supported.
        """
        return self._of(problem).valid_tests(problem, tests)

    def _of(self, problem: Problem) -> PythonGrader | CompiledGrader:
        if problem.language == "python":
            return self._python
        return self._compiled
