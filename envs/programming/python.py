"""The grader of Python: calls are answered one after the other in one process, checks run in a second process."""

import contextlib
import json
import socket
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import langgraph_reflexion
from langgraph_reflexion.envs.base import TestOutcome
from langgraph_reflexion.envs.programming import evalplus, sandbox_runner
from langgraph_reflexion.envs.programming.problems import Case, Problem
from langgraph_reflexion.envs.programming.python_source import (
    call_of,
    case_of,
    helpers,
    literal_of,
    parse,
    valid,
)
from langgraph_reflexion.envs.programming.sandbox_runner import ENDED, UNCALLED, NotPlainError, decode, encode
from langgraph_reflexion.envs.programming.unittest_source import RAISES_SOURCE
from langgraph_reflexion.envs.programming.values import (
    ROOM,
    Answer,
    Call,
    as_line,
    ended_by,
    holds,
    hurried,
    is_late,
    shown,
)
from langgraph_reflexion.envs.sandbox import Limits, Policy, Result, Sandbox
from langgraph_reflexion.errors import ConfigurationError, EnvironmentUnavailable

_RUNNER = "sandbox_runner.py"
# Read once: every run gets it, beside the candidate.
_SOURCE = Path(sandbox_runner.__file__).read_bytes()
_POLICY = Policy(
    fork=False,
    # The package's own problems come with their solutions.
    hidden=(Path(langgraph_reflexion.__file__).parent,),
    # The same order of sets in every process.
    env={"PYTHONHASHSEED": "0"},
)
_STDIN = 0
_RESULT = 3
"""The descriptor that the sandbox collects results from."""


@dataclass(frozen=True, slots=True)
class Checked:
    """The outcome of checks."""

    outcome: str
    """`passed`, `failed`, `vacuous` if they never call the candidate, or `inexpressible` if they call it with a value
    that is not plain."""
    why: str = ""
    where: str = ""
    """The line of the checks that failed."""
    last: str = ""
    """The last value that the candidate returned, as `repr` shows it."""
    late: bool = False
    """The checks or the candidate used up their time."""


class PythonGrader:
    """Grades Python candidates, with this interpreter; see `Grader`."""

    def __init__(self, sandbox: Sandbox, limits: Limits) -> None:
        self._sandbox = sandbox
        self._limits = limits

    def failure(self, problem: Problem, code: str) -> str | None:
        """Return the first failure of the hidden tests, perhaps without words; None if all pass."""
        failure = self._failed_case(problem, code)
        if failure is None and problem.test:
            failure = self._failed_checks(problem, code)
        return failure

    def run_tests(
        self,
        problem: Problem,
        code: str,
        tests: Sequence[str],
        times: int = 1,
    ) -> list[list[TestOutcome]]:
        return [self._run_once(problem, code, tests) for _ in range(times)]

    def valid_tests(self, problem: Problem, tests: Sequence[str]) -> list[str]:
        setup = _setup(problem)
        return [test for test in tests if valid(test, problem.entry_point, setup)]

    def _failed_case(self, problem: Problem, code: str) -> str | None:
        """Return the first hidden test, of those that are calls, that a candidate fails, and why; None if none."""
        calls = [call_of(case.call) for case in problem.cases]
        if not calls:
            return None
        right = self._expected(problem)
        # A candidate may write its answers at more length than the right ones, but not at any length.
        room = 2 * _length_as_json(right)
        answers = self._answers(code, problem.entry_point, calls, room=room)
        for case, call, answer, expected in zip(problem.cases, calls, answers, right, strict=True):
            args, _ = call
            why = _wrong(case, answer, expected, list(args))
            if why is not None:
                return f"{case.call}: {why}"
        return None

    def _failed_checks(self, problem: Problem, code: str) -> str | None:
        """Return where and why a candidate fails the hidden tests that are source; None if it passes."""
        done = self._checks(code, problem.entry_point, problem.setup, problem.test, self._limits)
        if done.outcome in ("inexpressible", "vacuous"):
            raise ConfigurationError(f"{problem.id}: its tests cannot be run: {done.why}")
        if done.outcome == "passed":
            return None
        if done.where:
            return f"{done.where}: {done.why}"
        return done.why

    def _run_once(self, problem: Problem, code: str, tests: Sequence[str]) -> list[TestOutcome]:
        """Run self-written tests: those that are calls in one process, each of the others in its own."""
        cases: dict[str, Case] = {}
        for test in tests:
            case = _case(test, problem.entry_point)
            if case is not None:
                cases[test] = case
        # A call that raises or ends the process affects no other, so that all of them can share one.
        plain = [test for test in tests if test in cases]
        calls = [call_of(cases[test].call) for test in plain]
        answers = self._answers(code, problem.entry_point, calls, each=True)
        answer_to = dict(zip(plain, answers, strict=True))
        late = any(answer.late for answer in answers)
        outcomes = []
        for test in tests:
            if test in answer_to:
                outcomes.append(_compared(test, cases[test], answer_to[test]))
                continue
            limits = self._limits
            if late:
                limits = hurried(limits)
            done = self._checks(code, problem.entry_point, _setup(problem), test, limits)
            late = late or done.late
            outcomes.append(_checked(test, done))
        return outcomes

    def _expected(self, problem: Problem) -> list[Answer]:
        """Return the expected answers, if necessary by running the canonical solution."""
        if all(case.expected for case in problem.cases):
            return [Answer(value=literal_of(case.expected), returned=True) for case in problem.cases]
        if problem.canonical is None:
            raise ConfigurationError(f"{problem.id}: it has neither expected values nor a canonical solution")
        calls = [call_of(case.call) for case in problem.cases]
        right = self._answers(problem.canonical, problem.entry_point, calls, room=ROOM)
        for case, answer in zip(problem.cases, right, strict=True):
            # A value that is not plain is an answer, too: one rule of EvalPlus asks for no more.
            if not answer.returned and not answer.odd:
                raise ConfigurationError(
                    f"{problem.id}: its canonical solution fails, {case.call[:200]}: {answer.error}"
                )
        return right

    def _answers(
        self,
        code: str,
        entry_point: str,
        calls: Sequence[Call],
        *,
        each: bool = False,
        room: int = 0,
        late: bool = False,
    ) -> list[Answer]:
        """Return the answers to calls, made one after the other in one process.

        If a call ends the process, with `each` the next one gets a new process; otherwise all later calls fail. Once
        a call was `late`, each gets a process of its own, and less time. The limit of results grows by `room` bytes;
        parsing them takes the agent's time.
        """
        answers: list[Answer] = []
        limits = replace(self._limits, result=self._limits.result + room)
        whole = limits
        while len(answers) < len(calls):
            rest = calls[len(answers) :]
            if late:
                rest = rest[:1]
                limits = hurried(whole)
            done = self._run_candidate(code, entry_point, rest, limits)
            if done.status == "output" and each and len(rest) > 1:
                # After a flood no result is kept.
                for call in rest:
                    [answer] = self._answers(code, entry_point, [call], room=room, late=late)
                    late = late or answer.late
                    answers.append(answer)
                return answers

            # A candidate may write further lines: only one for each call counts.
            hello, *lines = done.result.split(b"\n")[: len(rest) + 1]
            why_not_loaded = _why(hello, done, limits)
            came: list[Answer] = []
            if why_not_loaded is None:
                came = [_answer(line) for line in lines if line]
            answers += came
            if len(came) == len(rest):
                continue

            missing = len(calls) - len(answers)
            ended = Answer(error=why_not_loaded or ended_by(done, limits) or ENDED, late=is_late(done))
            # A program that failed to load will fail to load again.
            again = each and why_not_loaded is None
            if again:
                answers.append(ended)
                late = late or ended.late
            else:
                answers += [ended] * missing
        return answers

    def _run_candidate(
        self,
        code: str,
        entry_point: str,
        calls: Sequence[Call],
        limits: Limits,
    ) -> Result:
        """Run a candidate that answers calls on the result descriptor."""
        lines = []
        for args, kwargs in calls:
            message = {"call": encode([list(args), kwargs])}
            lines.append(json.dumps(message) + "\n")
        arguments = ["candidate", entry_point, str(_RESULT)]
        return self._run(arguments, {"solution.py": _to_file(code)}, limits, stdin="".join(lines))

    def _checks(self, code: str, entry_point: str, setup: str, test: str, limits: Limits) -> Checked:
        """Run checks after `setup` in one process against a candidate in another, which has these limits."""
        longer = _longer(limits)
        done, candidate = self._run_both(code, entry_point, setup, test, limits, longer)
        late = is_late(done) or is_late(candidate)
        message = _read(done.result)
        if "outcome" not in message:
            how = ended_by(done, longer) or "ended without an outcome"
            return Checked("failed", f"the checks {how}", late=late)
        outcome = replace(_outcome(message), late=late)
        # The checks only see that the candidate is gone. Its own process says why.
        if outcome.why == UNCALLED:
            why_not_loaded = _why(b"", candidate, limits)
            return replace(outcome, why=why_not_loaded or UNCALLED)
        if outcome.why == ENDED:
            limit = ended_by(candidate, limits)
            return replace(outcome, why=limit or ENDED)
        return outcome

    def _run_both(
        self,
        code: str,
        entry_point: str,
        setup: str,
        test: str,
        limits: Limits,
        limits_of_checks: Limits,
    ) -> tuple[Result, Result]:
        """Run checks and a candidate at the same time, connected by a socket; return the result of each."""
        ours, theirs = socket.socketpair()

        def run_candidate() -> Result:
            arguments = ["candidate", entry_point, str(_STDIN)]
            files = {"solution.py": _to_file(code)}
            # Closed after the run, so that the checks read the end of what the candidate sent.
            with theirs:
                return self._run(arguments, files, limits, stdin=theirs.fileno())

        with ThreadPoolExecutor(1) as pool:
            # With the context, which says whether the run has been called off.
            running = pool.submit(copy_context().run, run_candidate)
            files = {"setup.py": setup.encode(), "test.py": test.encode()}
            with ours:
                checks = self._run(["checks", entry_point], files, limits_of_checks, stdin=ours.fileno())
            candidate = running.result()
        return checks, candidate

    def _run(
        self,
        arguments: list[str],
        files: Mapping[str, bytes],
        limits: Limits,
        stdin: str | int,
    ) -> Result:
        """Run the program of the sandbox's side, with files beside it."""
        if self._sandbox.backend not in ("bubblewrap", "landlock"):
            raise EnvironmentUnavailable(
                f"Python programs run in bubblewrap or Landlock, and the sandbox is {self._sandbox.backend}"
            )
        argv = [sys.executable, "-s", _RUNNER, *arguments]
        all_files = {_RUNNER: _SOURCE}
        all_files.update(files)
        return self._sandbox.run(argv, files=all_files, stdin=stdin, limits=limits, policy=_POLICY)


def _longer(limits: Limits) -> Limits:
    """Return the limits of checks, which wait for the candidate, and must not time out first."""
    longer = replace(limits, cpu=2 * limits.cpu)
    if limits.wall is not None:
        longer = replace(longer, wall=2 * limits.wall)
    return longer


def _length_as_json(answers: Sequence[Answer]) -> int:
    length = 0
    for each in answers:
        length += len(json.dumps(encode(each.value)))
    return length


def _compared(test: str, case: Case, answer: Answer) -> TestOutcome:
    """Return the outcome of a self-written test that is a call."""
    expected = literal_of(case.expected)
    wanted = ""
    if case.comparison in ("==", "is", "truth", "close"):
        wanted = shown(expected)
    if not answer.returned:
        return TestOutcome(test, passed=False, wanted=wanted, error=answer.error)
    passed = holds(answer.value, case.comparison, expected, case.atol)
    return TestOutcome(test, passed, wanted, output=shown(answer.value))


def _checked(test: str, done: Checked) -> TestOutcome:
    """Return the outcome of a test that is more than a call."""
    passed = done.outcome in ("passed", "vacuous")
    error = ""
    # An AssertionError says no more than that the test failed.
    if not passed and not done.why.startswith("AssertionError"):
        error = done.why
    return TestOutcome(test, passed, output=done.last, error=error)


def _outcome(message: dict[str, Any]) -> Checked:
    """Return what the process of the checks says; a test may have written the message itself."""
    last = ""
    if "last" in message:
        with contextlib.suppress(NotPlainError):
            last = shown(decode(message["last"]))
    return Checked(_line(message, "outcome"), _line(message, "why"), _line(message, "where"), last)


def _line(message: dict[str, Any], key: str) -> str:
    return as_line(str(message.get(key, "")))


def _read(line: bytes) -> dict[str, Any]:
    """Parse a message; empty if it is malformed."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(message, dict):
        return {}
    return message


def _answer(line: bytes) -> Answer:
    """Return what a line of a candidate's process says; the candidate may have written it itself."""
    message = _read(line)
    try:
        match message:
            case {"value": value}:
                return Answer(value=decode(value), returned=True)
            case {"raised": [str(name), str(text), _]}:
                return Answer(error=_exception_line(name, text))
            case {"odd": str(what)}:
                return Answer(error=f"it returned a value that is not plain: {as_line(what)}", odd=True)
    except NotPlainError as error:
        return Answer(error=f"it returned a value that is not plain: {as_line(str(error))}")
    return Answer(error="its answer is malformed")


def _why(hello: bytes, done: Result, limits: Limits) -> str | None:
    """Return why a program failed to load; None if it loaded."""
    match _read(hello):
        case {"ready": True}:
            return None
        case {"raised": [str(name), str(text), _]}:
            return _exception_line(name, text)
    limit = ended_by(done, limits)
    if limit:
        return limit
    lines = done.errors.strip().splitlines()
    if not lines:
        return UNCALLED
    return as_line(lines[-1][:500])


def _exception_line(name: str, text: str) -> str:
    return as_line(f"{name}: {text}").rstrip(": ")


def _to_file(code: str) -> bytes:
    # A model may write half of a surrogate pair. Python reports it as an error of the program.
    return code.encode(errors="surrogatepass")


def _setup(problem: Problem) -> str:
    """Return the source that self-written tests have in addition to the candidate."""
    # Models use `math` in tests without importing it.
    return f"import math\n{RAISES_SOURCE}\n{helpers(problem.prompt, problem.entry_point)}"


def _case(test: str, entry_point: str) -> Case | None:
    """Return a self-written test as a call with its expected value; None if it is something else."""
    tree = parse(test)
    if tree is None or len(tree.body) != 1:
        return None
    return case_of(tree.body[0], [entry_point])


def _wrong(case: Case, answer: Answer, expected: Answer, args: list[Any]) -> str | None:
    """Return why an answer is wrong; None if it is right."""
    if case.comparison in evalplus.RULES:
        right = evalplus.holds(case.comparison, answer, expected, case.atol, args)
    else:
        right = answer.returned and holds(answer.value, case.comparison, expected.value, case.atol)
    if right:
        return None
    if not answer.returned:
        return answer.error
    wanted = case.comparison
    if case.comparison in ("==", "evalplus", "close"):
        wanted = shown(expected.value)
    return f"it returned {shown(answer.value)}, expected {wanted}"
