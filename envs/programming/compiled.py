"""Candidates judged in every language but Python."""

import json
import math
from collections.abc import Sequence
from typing import Any

from langgraph_reflexion.envs.programming import rust_values
from langgraph_reflexion.envs.programming.compiled_runs import CompiledRuns, Printed
from langgraph_reflexion.envs.programming.languages import LANGUAGES, Language, language_of
from langgraph_reflexion.envs.programming.problems import Case, Problem
from langgraph_reflexion.envs.programming.rust_tests import cases_in, inner_call, valid_tests
from langgraph_reflexion.envs.programming.values import LONGEST
from langgraph_reflexion.envs.programming.verdicts import Verdict
from langgraph_reflexion.envs.sandbox import Limits, Sandbox
from langgraph_reflexion.envs.tested import TestOutcome
from langgraph_reflexion.errors import ConfigurationError


class CompiledJudge:
    """Judges candidates that are compiled, or run by an interpreter of their own; see `Judge`.

    Args:
        sandbox: Where candidates are compiled and run.
        limits: What a candidate may use.
    """

    def __init__(self, sandbox: Sandbox, limits: Limits) -> None:
        self._runs = CompiledRuns(sandbox, limits)

    def grade(self, problem: Problem, code: str) -> Verdict:
        """As `Judge.grade`: one compilation, all tests in it."""
        language = LANGUAGES[language_of(problem.language)]
        built, answers = self._runs.all_at_once(language, code, [case.call for case in problem.cases])
        if built.error:
            return Verdict(passed=False, reason=built.error)
        for case, answer in zip(problem.cases, answers, strict=True):
            if answer.error:
                return Verdict(passed=False, reason=f"{case.call}: {answer.error}")
            if not _holds(language, case, answer.value):
                value = answer.value[:LONGEST]
                return Verdict(passed=False, reason=f"{case.call}: it gave {value}, expected {case.expected}")
        return Verdict(passed=True)

    def run_tests(self, problem: Problem, code: str, tests: Sequence[str], times: int = 1) -> list[list[TestOutcome]]:
        """As `Judge.run_tests`: one compilation, all tests in it."""
        language = _tested(problem)
        cases = [cases_in(test, problem.entry_point)[0] for test in tests]
        # Of a test that is more than a call, what the call came to tells more than that it is false.
        inner = [inner_call(case.call, problem.entry_point) for case in cases]
        calls = [*(case.call for case in cases), *(call for call in inner if call)]
        built = self._runs.build(language, code, calls)
        if built.error:
            return [[TestOutcome(test, passed=False, error=built.error) for test in tests] for _ in range(times)]
        rounds = []
        for _ in range(times):
            answers = self._runs.answers(language, built, len(calls), each=True)
            told = iter(answers[len(cases) :])
            rounds.append(
                [
                    _outcome(language, test, case, answer, next(told) if call else answer)
                    for test, case, answer, call in zip(tests, cases, answers, inner, strict=False)
                ]
            )
        return rounds

    def valid_tests(self, problem: Problem, tests: Sequence[str]) -> list[str]:
        """As `Judge.valid_tests`."""
        return valid_tests(self._runs, _tested(problem), problem, tests)

    def close(self) -> None:
        """Nothing is kept running."""


def _tested(problem: Problem) -> Language:
    if problem.language != "rust":
        raise ConfigurationError(
            f"self-written tests are read in Python and Rust, and {problem.id} is {problem.language}"
        )
    return LANGUAGES["rust"]


def _outcome(language: Language, test: str, case: Case, answer: Printed, told: Printed) -> TestOutcome:
    passed = not answer.error and _holds(language, case, answer.value)
    return TestOutcome(test, passed, output=told.value[:LONGEST], error=answer.error)


def _holds(language: Language, case: Case, printed: str) -> bool:
    """Whether what a program wrote is what is expected."""
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
    """Whether two values from JSON are equal; numbers are one kind, and true is no number."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    return bool(one == other) and not (isinstance(one, float) and math.isnan(one))
