"""Python candidates judged."""

from collections.abc import Sequence
from typing import Any

from langgraph_reflexion.envs.programming import evalplus
from langgraph_reflexion.envs.programming.problems import Case, Problem
from langgraph_reflexion.envs.programming.python_runs import Call, PythonRuns
from langgraph_reflexion.envs.programming.python_source import (
    NotLiteralError,
    call_of,
    case_of,
    helpers,
    literal_of,
    parse,
    valid,
)
from langgraph_reflexion.envs.programming.values import COMPARISONS, Answer, holds, shown
from langgraph_reflexion.envs.programming.verdicts import Verdict
from langgraph_reflexion.envs.sandbox import Limits, Sandbox
from langgraph_reflexion.envs.tested import TestOutcome
from langgraph_reflexion.errors import ConfigurationError


class PythonJudge:
    """Judges Python candidates; see `Judge`.

    Args:
        sandbox: Where candidates run.
        limits: What a candidate may use.
    """

    def __init__(self, sandbox: Sandbox, limits: Limits) -> None:
        self._runs = PythonRuns(sandbox, limits)
        self._right: dict[tuple[str, str | None], list[Answer]] = {}

    def grade(self, problem: Problem, code: str) -> Verdict:
        """As `Judge.grade`."""
        calls = [_call(problem, case) for case in problem.cases]
        if calls:
            right = self._expected(problem)
            answers = self._runs.answers(code, problem.entry_point, calls)
            for case, (args, _), answer, expected in zip(problem.cases, calls, answers, right, strict=True):
                if why := _wrong(case, answer, expected, list(args)):
                    return Verdict(passed=False, reason=f"{case.call}: {why}")
        if problem.test:
            done = self._runs.checks(
                code, problem.entry_point, problem.setup, problem.test, call_check=not problem.self_calling
            )
            if done.outcome == "inexpressible":
                raise ConfigurationError(f"{problem.id}: its tests cannot be run: {done.why}")
            if done.outcome != "passed":
                return Verdict(passed=False, reason=f"{done.where}: {done.why}" if done.where else done.why)
        return Verdict(passed=True)

    def run_tests(self, problem: Problem, code: str, tests: Sequence[str], times: int = 1) -> list[list[TestOutcome]]:
        """As `Judge.run_tests`."""
        return [self._run_once(problem, code, tests) for _ in range(times)]

    def _run_once(self, problem: Problem, code: str, tests: Sequence[str]) -> list[TestOutcome]:
        cases = {test: case for test in tests if (case := _read(test, problem.entry_point))}
        plain = [test for test in tests if test in cases]
        answers = self._runs.answers(
            code, problem.entry_point, [_call(problem, cases[test]) for test in plain], each=True
        )
        came = dict(zip(plain, answers, strict=True))
        return [
            self._outcome(test, cases[test], came[test]) if test in came else self._checked(problem, code, test)
            for test in tests
        ]

    def valid_tests(self, problem: Problem, tests: Sequence[str]) -> list[str]:
        """As `Judge.valid_tests`."""
        setup = _setup(problem)
        return [test for test in tests if valid(test, problem.entry_point, setup)]

    def close(self) -> None:
        """End the interpreter."""
        self._runs.close()

    def _outcome(self, test: str, case: Case, answer: Answer) -> TestOutcome:
        if not answer.returned:
            return TestOutcome(test, passed=False, error=answer.error)
        passed = holds(answer.value, case.comparison, literal_of(case.expected), case.atol)
        return TestOutcome(test, passed, output=shown(answer.value))

    def _checked(self, problem: Problem, code: str, test: str) -> TestOutcome:
        """A test that is more than a call: in a process of its own."""
        done = self._runs.checks(code, problem.entry_point, _setup(problem), test, call_check=False)
        passed = done.outcome == "passed"
        # What an assert says of itself is no more than that it failed.
        error = "" if passed or done.why.startswith("AssertionError") else done.why
        return TestOutcome(test, passed, output=done.last, error=error)

    def _expected(self, problem: Problem) -> list[Answer]:
        """What each case expects. Where that is what the canonical solution returns, it runs once, by itself."""
        if all(case.expected for case in problem.cases):
            try:
                return [Answer(value=literal_of(case.expected), returned=True) for case in problem.cases]
            except NotLiteralError as error:
                raise ConfigurationError(f"{problem.id}: what is expected is no literal: {error}") from None
        if problem.canonical is None:
            raise ConfigurationError(f"{problem.id}: nothing is expected, and there is no canonical solution")
        key = (problem.id, problem.canonical)
        if key not in self._right:
            calls = [_call(problem, case) for case in problem.cases]
            right = self._runs.answers(problem.canonical, problem.entry_point, calls)
            for case, answer in zip(problem.cases, right, strict=True):
                if not answer.returned and not answer.odd:
                    raise ConfigurationError(
                        f"{problem.id}: its canonical solution fails, {case.call[:200]}: {answer.error}"
                    )
            self._right[key] = right
        return self._right[key]


def _setup(problem: Problem) -> str:
    """What a self-written test has beside the candidate."""
    return f"import math\n{helpers(problem.prompt, problem.entry_point)}"


def _call(problem: Problem, case: Case) -> Call:
    try:
        return call_of(case.call)
    except NotLiteralError as error:
        raise ConfigurationError(
            f"{problem.id}: {case.call[:200]} is no call with plain arguments: {error}"
        ) from None


def _read(test: str, entry_point: str) -> Case | None:
    tree = parse(test)
    return case_of(tree.body[0], [entry_point]) if tree is not None and len(tree.body) == 1 else None


def _wrong(case: Case, answer: Answer, expected: Answer, args: list[Any]) -> str:
    """What is wrong with an answer; empty where nothing is."""
    if case.comparison in evalplus.RULES:
        wanted = (
            (expected.odd or expected.value is not None) if case.comparison.endswith("-something") else expected.value
        )
        if (answer.returned or answer.odd) and evalplus.holds(
            case.comparison, answer.value, wanted, case.atol, args, odd=answer.odd
        ):
            return ""
    elif case.comparison not in COMPARISONS:
        raise ConfigurationError(f"no comparison {case.comparison!r}: one of {', '.join(sorted(COMPARISONS))}")
    elif answer.returned and holds(answer.value, case.comparison, expected.value, case.atol):
        return ""
    if not answer.returned:
        return answer.error
    wanted_text = shown(expected.value) if case.comparison in ("==", "evalplus", "close") else case.comparison
    return f"it gave {shown(answer.value)}, expected {wanted_text}"
