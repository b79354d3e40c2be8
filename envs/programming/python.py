"""The grader of Python."""

import json
from collections.abc import Sequence

from langgraph_reflexion.envs.base import TestOutcome
from langgraph_reflexion.envs.programming.problems import Case, Problem
from langgraph_reflexion.envs.programming.python_runs import PythonRuns
from langgraph_reflexion.envs.programming.python_source import (
    call_of,
    case_of,
    helpers,
    literal_of,
    parse,
    valid,
)
from langgraph_reflexion.envs.programming.sandbox_runner import encode
from langgraph_reflexion.envs.programming.values import Answer, holds, shown
from langgraph_reflexion.envs.sandbox import Limits, Sandbox
from langgraph_reflexion.errors import ConfigurationError


class PythonGrader:
    """Grades Python candidates; see `Grader`."""

    def __init__(self, sandbox: Sandbox, limits: Limits) -> None:
        self._runs = PythonRuns(sandbox, limits)

    def failure(self, problem: Problem, code: str) -> str | None:
        """Return the first failure of the hidden tests, perhaps without words; None if all pass."""
        calls = [call_of(case.call) for case in problem.cases]
        if calls:
            right = [literal_of(case.expected) for case in problem.cases]
            room = 2 * sum(len(json.dumps(encode(each))) for each in right)
            answers = self._runs.answers(code, problem.entry_point, calls, room=room)
            for case, answer, expected in zip(problem.cases, answers, right, strict=True):
                if not answer.returned:
                    return f"{case.call}: {answer.error}"
                if not holds(answer.value, case.comparison, expected, case.atol):
                    wanted = shown(expected) if case.comparison in ("==", "close") else case.comparison
                    return f"{case.call}: it returned {shown(answer.value)}, expected {wanted}"
        if problem.test:
            call_check = not problem.self_calling
            done = self._runs.checks(code, problem.entry_point, problem.setup, problem.test, call_check=call_check)
            if done.outcome == "inexpressible":
                raise ConfigurationError(f"{problem.id}: its tests cannot be run: {done.why}")
            if done.outcome != "passed":
                return f"{done.where}: {done.why}" if done.where else done.why
        return None

    def run_tests(self, problem: Problem, code: str, tests: Sequence[str], times: int = 1) -> list[list[TestOutcome]]:
        return [self._run_once(problem, code, tests) for _ in range(times)]

    def _run_once(self, problem: Problem, code: str, tests: Sequence[str]) -> list[TestOutcome]:
        cases = {test: case for test in tests if (case := _read(test, problem.entry_point))}
        plain = [test for test in tests if test in cases]
        answers = self._runs.answers(
            code, problem.entry_point, [call_of(cases[test].call) for test in plain], each=True
        )
        came = dict(zip(plain, answers, strict=True))
        return [
            self._outcome(test, cases[test], came[test]) if test in came else self._checked(problem, code, test)
            for test in tests
        ]

    def valid_tests(self, problem: Problem, tests: Sequence[str]) -> list[str]:
        setup = _setup(problem)
        return [test for test in tests if valid(test, problem.entry_point, setup)]

    def _outcome(self, test: str, case: Case, answer: Answer) -> TestOutcome:
        if not answer.returned:
            return TestOutcome(test, passed=False, error=answer.error)
        passed = holds(answer.value, case.comparison, literal_of(case.expected), case.atol)
        return TestOutcome(test, passed, output=shown(answer.value))

    def _checked(self, problem: Problem, code: str, test: str) -> TestOutcome:
        """Run a test that is more than a call, in its own process."""
        done = self._runs.checks(code, problem.entry_point, _setup(problem), test, call_check=False)
        passed = done.outcome == "passed"
        # An AssertionError says no more than that the test failed.
        error = "" if passed or done.why.startswith("AssertionError") else done.why
        return TestOutcome(test, passed, output=done.last, error=error)


def _setup(problem: Problem) -> str:
    """Return the source that self-written tests have in addition to the candidate."""
    return f"import math\n{helpers(problem.prompt, problem.entry_point)}"


def _read(test: str, entry_point: str) -> Case | None:
    tree = parse(test)
    return case_of(tree.body[0], [entry_point]) if tree is not None and len(tree.body) == 1 else None
