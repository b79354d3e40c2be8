"""The grader of every language but Python: candidates are compiled once with all their calls."""

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import langgraph_reflexion
from langgraph_reflexion.envs.base import TestOutcome
from langgraph_reflexion.envs.programming import rust_values
from langgraph_reflexion.envs.programming.assemble import assemble
from langgraph_reflexion.envs.programming.languages import LANGUAGES, Language
from langgraph_reflexion.envs.programming.problems import Case, Problem
from langgraph_reflexion.envs.programming.rust_source import call_in, cases_in, inner_call
from langgraph_reflexion.envs.programming.values import (
    COMPILER,
    LONGEST,
    Answer,
    as_line,
    ended_by,
    holds,
    hurried,
    is_late,
)
from langgraph_reflexion.envs.sandbox import Limits, Policy, Result, Sandbox
from langgraph_reflexion.envs.sandbox.limits import MB
from langgraph_reflexion.errors import ConfigurationError, EnvironmentUnavailable

_MADE = "made.tar"
_UNPACK = ("sh", "-c", f'tar -xf {_MADE} && exec "$@"', "sh")
"""The command that unpacks what was compiled, and runs the command that follows it."""

Files = Mapping[str, str | bytes]
"""The contents of files by name."""


class CompiledGrader:
    """Grades candidates that are compiled, or run by another interpreter; see `Grader`."""

    def __init__(self, sandbox: Sandbox, limits: Limits) -> None:
        self._sandbox = sandbox
        self._limits = limits

    def expect_toolchain(self, language: Language) -> None:
        """Expect the programs that compile and run a candidate; raise `EnvironmentUnavailable` if one is missing."""
        with _explained(language):
            for argv in (language.compile, language.run):
                if argv:
                    self._sandbox.expect_program(argv[0])

    def failure(self, problem: Problem, code: str) -> str | None:
        """Return the first failure of the hidden tests, which share one compilation; None if all pass."""
        language = LANGUAGES[problem.language]
        calls = [case.call for case in problem.cases]
        built, error = self.build(language, code, calls)
        if error:
            return error
        # A candidate may write its answers at more length than the right ones, but not at any length.
        length = sum(len(case.expected) for case in problem.cases)
        room = 4 * length
        answers = self._answers(language, built, len(calls), room=room)
        for case, answer in zip(problem.cases, answers, strict=True):
            if not answer.returned:
                return f"{case.call}: {answer.error}"
            if not _holds(language, case, answer.value):
                return f"{case.call}: it returned {answer.value[:LONGEST]}, expected {case.expected}"
        return None

    def run_tests(
        self,
        problem: Problem,
        code: str,
        tests: Sequence[str],
        times: int = 1,
    ) -> list[list[TestOutcome]]:
        """See `Grader.run_tests`; all tests share one compilation."""
        language = _tested(problem)
        cases = [cases_in(test, problem.entry_point)[0] for test in tests]
        calls = [case.call for case in cases]
        # If a test is more than a call, the value of the call says more than that the test is false.
        inner = [inner_call(case.call, problem.entry_point) for case in cases]
        calls.extend(filter(None, inner))
        built, error = self.build(language, code, calls)
        if error:
            failed = [TestOutcome(test, passed=False, error=error) for test in tests]
            return [failed] * times
        rounds = []
        for _ in range(times):
            answers = self._answers(language, built, len(calls), each=True)
            rounds.append(_outcomes(language, tests, cases, inner, answers))
        return rounds

    def valid_tests(self, problem: Problem, tests: Sequence[str]) -> list[str]:
        """Return the asserts, each in one line, that compile against the prompt's signature.

        All are compiled together, and those with errors are removed until none is left. Errors in the prompt, which
        may leave something to the candidate, keep all.
        """
        language = _tested(problem)
        tests = [test for test in tests if call_in(test, problem.entry_point)]
        stub = assemble(problem, "    unimplemented!()\n}\n")
        head = f"{stub}\n#[allow(unused_imports)]\nuse std::collections::*;\n"
        first_line = head.count("\n") + 1
        while tests:
            # One line for each test, so that the line of an error tells the test.
            lines = [f"fn test_{number}() {{ {test} }}" for number, test in enumerate(tests)]
            source = head + "\n".join(lines) + "\n"
            done = self._run(language, _type_check(language), {language.file: source}, COMPILER)
            if done.status == "ok":
                break
            wrong_lines = set(_lines_with_errors(done.errors, language.file))
            left = [test for line, test in enumerate(tests, first_line) if line not in wrong_lines]
            if len(left) == len(tests):
                # The prompt itself does not compile.
                break
            tests = left
        return tests

    def build(self, language: Language, code: str, calls: Sequence[str]) -> tuple[Files, str]:
        """Compile the program around a candidate, and return its files and the first error, in one line."""
        sources = language.sources(code, calls)
        files = {name: text.encode(errors="replace") for name, text in sources.items()}
        if not language.compile:
            return files, ""
        done = self._run(language, language.compile, files, COMPILER, collect=language.made)
        if done.status == "ok":
            return {_MADE: done.collected}, ""
        limit = ended_by(done, COMPILER)
        complaint = language.complaint(f"{done.errors}\n{done.text}")
        return {}, limit or complaint or "it does not compile"

    def _answers(
        self,
        language: Language,
        built: Files,
        count: int,
        *,
        each: bool = False,
        room: int = 0,
    ) -> list[Answer]:
        """Return the answers to the calls of a program.

        If a call ends the program, with `each` the next one gets a new run, and less time if that call was late;
        otherwise all later calls fail.
        """
        answers: list[Answer] = []
        # Runtimes reserve more memory than they use.
        memory = max(self._limits.memory, language.memory * MB)
        # The archive lies beside what is unpacked.
        disk = self._limits.disk + len(built.get(_MADE, b""))
        limits = replace(self._limits, memory=memory, disk=disk, result=self._limits.result + room)
        whole = limits
        while len(answers) < count:
            first_call = len(answers)
            argv = [*language.run, str(first_call)]
            if _MADE in built:
                argv = [*_UNPACK, *argv]
            done = self._run(language, argv, built, limits)

            # What follows the last line end is not a whole answer.
            lines = done.result.decode(errors="replace").split("\n")[:-1]
            # A candidate may write further lines: only one for each call counts.
            answers += [_answer(line) for line in lines[: count - first_call]]

            missing = count - len(answers)
            if missing == 0:
                break
            ended = Answer(error=ended_by(done, limits) or _ended(language, done))
            if each:
                answers.append(ended)
                if is_late(done):
                    # The calls that are left share one run.
                    limits = hurried(whole, tests=missing - 1)
            else:
                answers += [ended] * missing
        return answers

    def _run(
        self,
        language: Language,
        argv: Sequence[str],
        files: Files,
        limits: Limits,
        collect: Sequence[str] = (),
    ) -> Result:
        policy = Policy(env=language.env, hidden=(Path(langgraph_reflexion.__file__).parent,))
        with _explained(language):
            return self._sandbox.run(argv, files=files, collect=collect, limits=limits, policy=policy)


@contextlib.contextmanager
def _explained(language: Language) -> Iterator[None]:
    try:
        yield
    except EnvironmentUnavailable as error:
        raise EnvironmentUnavailable(f"{language.name}: {error}; {language.fix}") from None


def _tested(problem: Problem) -> Language:
    if problem.language != "rust":
        raise ConfigurationError(
            f"self-written tests are supported in Python and Rust, but {problem.id} is {problem.language}"
        )
    return LANGUAGES["rust"]


def _type_check(language: Language) -> list[str]:
    """Return the command that reports the errors of a program in JSON, without making anything."""
    return [
        "rustc",
        "--edition=2021",
        "--crate-type=lib",
        "--emit=metadata",
        "--error-format=json",
        "-Awarnings",
        language.file,
    ]


def _outcomes(
    language: Language,
    tests: Sequence[str],
    cases: Sequence[Case],
    inner: Sequence[str],
    answers: Sequence[Answer],
) -> list[TestOutcome]:
    """Return the outcomes of self-written tests from the answers to them, which the answers to `inner` follow."""
    inner_answers = iter(answers[len(cases) :])
    outcomes = []
    for test, case, answer, call in zip(tests, cases, answers, inner, strict=False):
        shown = answer
        if call:
            shown = next(inner_answers)
        outcomes.append(_outcome(language, test, case, answer, shown))
    return outcomes


def _outcome(
    language: Language,
    test: str,
    case: Case,
    answer: Answer,
    shown: Answer,
) -> TestOutcome:
    passed = not answer.error and _holds(language, case, answer.value)
    output = ""
    if shown.returned:
        output = shown.value[:LONGEST]
    # If the test is more than a call, the value that is shown is not the one that is compared.
    wanted = ""
    if shown is answer and case.comparison == "==":
        wanted = case.expected[:LONGEST]
    return TestOutcome(test, passed, wanted, output, answer.error)


def _holds(language: Language, case: Case, printed: str) -> bool:
    """Whether a printed value is right; a value that cannot be read is not."""
    if case.comparison not in ("==", "!=", "close"):
        raise ConfigurationError(
            f"no comparison {case.comparison!r} in {language.name}: choose one of ==, != and close"
        )
    if language.values == "debug":
        # Rust has no JSON without a library.
        return _holds_in_rust(case, printed)
    return _holds_in_json(case, printed)


def _holds_in_rust(case: Case, printed: str) -> bool:
    try:
        got = rust_values.read_value(printed)
        expected = rust_values.read_value(case.expected)
        if case.comparison == "close":
            return rust_values.close(got, expected, case.atol)
        equal = got == expected
    except (ValueError, RecursionError):
        return False
    return equal is (case.comparison == "==")


def _holds_in_json(case: Case, printed: str) -> bool:
    try:
        got = json.loads(printed)
        expected = json.loads(case.expected)
    except (ValueError, RecursionError):
        return False
    if case.comparison == "close":
        # True is not a number.
        return type(got) in (int, float) and holds(got, "close", expected, case.atol)
    return _same(got, expected) is (case.comparison == "==")


def _same(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal; true is not a number."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        if one.keys() != other.keys():
            return False
        return all(_same(one[key], other[key]) for key in one)
    return bool(one == other)


def _lines_with_errors(printed: str, file: str) -> Iterator[int]:
    """Yield the lines of a file with errors, from the compiler's messages in JSON."""
    for line in printed.splitlines():
        # Among the messages there may be lines of another kind.
        message: Any = None
        with contextlib.suppress(ValueError):
            message = json.loads(line)
        if not isinstance(message, dict) or message.get("level") != "error":
            continue
        for span in message["spans"]:
            if not span["is_primary"]:
                continue
            # An error in a macro is where the macro is called.
            while span["file_name"] != file and span.get("expansion"):
                span = span["expansion"]["span"]
            if span["file_name"] == file:
                yield span["line_start"]


def _answer(line: str) -> Answer:
    """Return what a line of the program says: `=` and a value, or `!` and an error."""
    match line[:1]:
        case "=":
            return Answer(value=line[1:], returned=True)
        case "!":
            return Answer(error=as_line(line[1:501]) or "it failed")
    return Answer(error="its answer is malformed")


def _ended(language: Language, done: Result) -> str:
    how = f"exit status {done.exit_code}"
    # As in a shell, 128 plus the number of a signal.
    if done.exit_code > 128:
        how = f"signal {done.exit_code - 128}"
    said = language.complaint(done.errors)
    if said:
        how = f"{how}: {said}"
    return f"the program ended during the call ({how})"
