"""The grader of every language but Python."""

import json
import math
from collections.abc import Sequence
from typing import Any

from langgraph_reflexion.envs.base import TestOutcome
from langgraph_reflexion.envs.programming import rust_values
from langgraph_reflexion.envs.programming.compiled_runs import CompiledRuns
from langgraph_reflexion.envs.programming.languages import LANGUAGES, Language, language_of
from langgraph_reflexion.envs.programming.problems import Case, Problem
from langgraph_reflexion.envs.programming.rust_tests import cases_in, inner_call, valid_tests
from langgraph_reflexion.envs.programming.values import LONGEST, Answer
from langgraph_reflexion.envs.sandbox import Limits, Sandbox
from langgraph_reflexion.errors import ConfigurationError


class CompiledGrader:
    """Grades candidates that are compiled, or run by another interpreter; see `Grader`."""

    def __init__(self, sandbox: Sandbox, limits: Limits) -> None:
        self._runs = CompiledRuns(sandbox, limits)

    def failure(self, problem: Problem, code: str) -> str:
        """Return the first failure of the hidden tests, which share one compilation; empty if all pass."""
        language = LANGUAGES[language_of(problem.language)]
        calls = [case.call for case in problem.cases]
        built = self._runs.build(language, code, calls)
        if built.error:
            return built.error
        answers = self._runs.answers(language, built, len(calls))
        for case, answer in zip(problem.cases, answers, strict=True):
            if answer.error:
                return f"{case.call}: {answer.error}"
            if not _holds(language, case, answer.value):
                return f"{case.call}: it returned {answer.value[:LONGEST]}, expected {case.expected}"
        return ""

    def run_tests(self, problem: Problem, code: str, tests: Sequence[str], times: int = 1) -> list[list[TestOutcome]]:
        """See `Grader.run_tests`; all tests share one compilation."""
        language = _tested(problem)
        cases = [cases_in(test, problem.entry_point)[0] for test in tests]
        # If a test is more than a call, the value of the call says more than that the test is false.
        inner = [inner_call(case.call, problem.entry_point) for case in cases]
        calls = [*(case.call for case in cases), *(call for call in inner if call)]
        built = self._runs.build(language, code, calls)
        if built.error:
            return [[TestOutcome(test, passed=False, error=built.error) for test in tests] for _ in range(times)]
        rounds = []
        for _ in range(times):
            answers = self._runs.answers(language, built, len(calls), each=True)
            inner_answers = iter(answers[len(cases) :])
            rounds.append(
                [
                    _outcome(language, test, case, answer, next(inner_answers) if call else answer)
                    for test, case, answer, call in zip(tests, cases, answers, inner, strict=False)
                ]
            )
        return rounds

    def valid_tests(self, problem: Problem, tests: Sequence[str]) -> list[str]:
        """See `Grader.valid_tests`."""
        return valid_tests(self._runs, _tested(problem), problem, tests)


def _tested(problem: Problem) -> Language:
    if problem.language != "rust":
        raise ConfigurationError(
            f"self-written tests are read in Python and Rust, and {problem.id} is {problem.language}"
        )
    return LANGUAGES["rust"]


def _outcome(language: Language, test: str, case: Case, answer: Answer, shown: Answer) -> TestOutcome:
    passed = not answer.error and _holds(language, case, answer.value)
    return TestOutcome(test, passed, output=shown.value[:LONGEST] if shown.returned else "", error=answer.error)


def _holds(language: Language, case: Case, printed: str) -> bool:
    """Whether the value that a program printed is the expected one."""
    if case.comparison not in ("==", "!=", "close"):
        raise ConfigurationError(f"no comparison {case.comparison!r} in {language.name}: one of ==, !=, close")
    try:
        if language.values == "debug":
            got, expected = rust_values.read_value(printed), rust_values.read_value(case.expected)
            if case.comparison == "close":
                return rust_values.close(got, expected, case.atol)
            return rust_values.same(got, expected) is (case.comparison == "==")
        value, wanted = json.loads(printed), json.loads(case.expected)
    except (ValueError, RecursionError):
        return False
    if case.comparison == "close":
        return type(value) in (int, float) and abs(value - wanted) < case.atol
    return _same(value, wanted) is (case.comparison == "==")


def _same(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal; true is not a number."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    return bool(one == other) and not (isinstance(one, float) and math.isnan(one))
