"""The grader of Python: calls are answered one after the other in one process, checks run in a second process."""

import json
import socket
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
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
from langgraph_reflexion.envs.programming.values import ROOM, Answer, Call, as_line, ended_by, holds, shown
from langgraph_reflexion.envs.sandbox import Limits, Policy, Result, Sandbox
from langgraph_reflexion.errors import ConfigurationError, EnvironmentUnavailable

_RUNNER = "sandbox_runner.py"
_SOURCE = Path(sandbox_runner.__file__).read_bytes()
# The same order of sets in every process. The package's own problems come with their solutions.
_POLICY = Policy(fork=False, hidden=(Path(langgraph_reflexion.__file__).parent,), env={"PYTHONHASHSEED": "0"})
_STDIN, _RESULT = 0, 3


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


class PythonGrader:
    """Grades Python candidates, with this interpreter; see `Grader`."""

    def __init__(self, sandbox: Sandbox, limits: Limits) -> None:
        self._sandbox, self._limits = sandbox, limits

    def failure(self, problem: Problem, code: str) -> str | None:
        """Return the first failure of the hidden tests, perhaps without words; None if all pass."""
        calls = [call_of(case.call) for case in problem.cases]
        if calls:
            right = self._expected(problem)
            room = 2 * sum(len(json.dumps(encode(each.value))) for each in right)
            answers = self._answers(code, problem.entry_point, calls, room=room)
            for case, (args, _), answer, expected in zip(problem.cases, calls, answers, right, strict=True):
                if (why := _wrong(case, answer, expected, list(args))) is not None:
                    return f"{case.call}: {why}"
        if problem.test:
            done = self._checks(code, problem.entry_point, problem.setup, problem.test)
            if done.outcome in ("inexpressible", "vacuous"):
                raise ConfigurationError(f"{problem.id}: its tests cannot be run: {done.why}")
            if done.outcome != "passed":
                return f"{done.where}: {done.why}" if done.where else done.why
        return None

    def run_tests(self, problem: Problem, code: str, tests: Sequence[str], times: int = 1) -> list[list[TestOutcome]]:
        return [self._run_once(problem, code, tests) for _ in range(times)]

    def _run_once(self, problem: Problem, code: str, tests: Sequence[str]) -> list[TestOutcome]:
        cases = {test: case for test in tests if (case := _case(test, problem.entry_point))}
        plain = [test for test in tests if test in cases]
        answers = self._answers(code, problem.entry_point, [call_of(cases[test].call) for test in plain], each=True)
        came = dict(zip(plain, answers, strict=True))
        return [
            self._outcome(test, cases[test], came[test]) if test in came else self._checked(problem, code, test)
            for test in tests
        ]

    def valid_tests(self, problem: Problem, tests: Sequence[str]) -> list[str]:
        setup = _setup(problem)
        return [test for test in tests if valid(test, problem.entry_point, setup)]

    def _outcome(self, test: str, case: Case, answer: Answer) -> TestOutcome:
        expected = literal_of(case.expected)
        wanted = ""
        if case.comparison in ("==", "is", "truth", "close"):
            wanted = shown(expected)
        if not answer.returned:
            return TestOutcome(test, passed=False, wanted=wanted, error=answer.error)
        passed = holds(answer.value, case.comparison, expected, case.atol)
        return TestOutcome(test, passed, wanted, output=shown(answer.value))

    def _checked(self, problem: Problem, code: str, test: str) -> TestOutcome:
        """Run a test that is more than a call, in its own process."""
        done = self._checks(code, problem.entry_point, _setup(problem), test)
        passed = done.outcome in ("passed", "vacuous")
        # An AssertionError says no more than that the test failed.
        error = "" if passed or done.why.startswith("AssertionError") else done.why
        return TestOutcome(test, passed, output=done.last, error=error)

    def _expected(self, problem: Problem) -> list[Answer]:
        """Return the expected answers, if necessary by running the canonical solution."""
        if all(case.expected for case in problem.cases):
            return [Answer(value=literal_of(case.expected), returned=True) for case in problem.cases]
        if problem.canonical is None:
            raise ConfigurationError(f"{problem.id}: it has neither expected values nor a canonical solution")
        calls = [call_of(case.call) for case in problem.cases]
        right = self._answers(problem.canonical, problem.entry_point, calls, room=ROOM)
        for case, answer in zip(problem.cases, right, strict=True):
            if not answer.returned and not answer.odd:
                raise ConfigurationError(
                    f"{problem.id}: its canonical solution fails, {case.call[:200]}: {answer.error}"
                )
        return right

    def _answers(
        self, code: str, entry_point: str, calls: Sequence[Call], *, each: bool = False, room: int = 0
    ) -> list[Answer]:
        """Return the answers to calls, made one after the other in one process.

        If a call ends the process, with `each` the next one gets a new process; otherwise all later calls fail. The
        limit of results grows by `room` bytes; parsing them takes the agent's time.
        """
        answers: list[Answer] = []
        limits = replace(self._limits, result=self._limits.result + room)
        while len(answers) < len(calls):
            rest = calls[len(answers) :]
            lines = "".join(json.dumps({"call": encode([list(args), kwargs])}) + "\n" for args, kwargs in rest)
            arguments = ["candidate", entry_point, str(_RESULT)]
            done = self._run(arguments, {"solution.py": _to_file(code)}, limits, stdin=lines)
            if done.status == "output" and each and len(rest) > 1:
                # After a flood no result is kept.
                return answers + [self._answers(code, entry_point, [call], room=room)[0] for call in rest]
            hello, *said = done.result.split(b"\n")[: len(rest) + 1] if done.result else [b""]
            why = _why(hello, done, self._limits)
            came = [_answer(line) for line in said if line] if why is None else []
            answers += came
            if len(answers) < len(calls):
                ended = Answer(error=why or ended_by(done, self._limits) or ENDED)
                # A program that failed to load will fail to load again.
                left = len(calls) - len(answers) if why is not None or not each else 1
                answers += [ended] * left
        return answers

    def _checks(self, code: str, entry_point: str, setup: str, test: str) -> Checked:
        """Run checks after `setup` in one process against a candidate in another, connected by a socket."""
        # The checks wait for the candidate, and must not time out first.
        wall = self._limits.wall
        longer = replace(self._limits, wall=wall and 2 * wall, cpu=2 * self._limits.cpu)
        ours, theirs = socket.socketpair()

        def run_candidate() -> Result:
            with theirs:  # closed after the run, so that the checks read its end
                arguments, files = ["candidate", entry_point, str(_STDIN)], {"solution.py": _to_file(code)}
                return self._run(arguments, files, self._limits, stdin=theirs.fileno())

        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(run_candidate)
            with ours:
                files = {"setup.py": setup.encode(), "test.py": test.encode()}
                done = self._run(["checks", entry_point], files, longer, stdin=ours.fileno())
            candidate = running.result()
        message = _read(done.result)
        if "outcome" not in message:
            return Checked("failed", f"the checks {ended_by(done, longer) or 'ended without an outcome'}")
        outcome = _outcome(message)
        if outcome.why == UNCALLED:
            return replace(outcome, why=_why(b"", candidate, self._limits) or UNCALLED)
        why = ended_by(candidate, self._limits) if outcome.why == ENDED else ""
        return replace(outcome, why=why or outcome.why)

    def _run(self, arguments: list[str], files: Mapping[str, bytes], limits: Limits, **options: Any) -> Result:
        if self._sandbox.backend not in ("bubblewrap", "landlock"):
            raise EnvironmentUnavailable(
                f"Python programs run in bubblewrap or Landlock, and the sandbox is {self._sandbox.backend}"
            )
        argv = [sys.executable, "-s", _RUNNER, *arguments]
        return self._sandbox.run(argv, files={_RUNNER: _SOURCE, **files}, limits=limits, policy=_POLICY, **options)


def _outcome(message: dict[str, Any]) -> Checked:
    try:
        last = shown(decode(message["last"])) if "last" in message else ""
    except NotPlainError:
        last = ""
    outcome, why, where = (as_line(str(message.get(key, ""))) for key in ("outcome", "why", "where"))
    return Checked(outcome, why, where, last)


def _read(line: bytes) -> dict[str, Any]:
    """Parse a message; empty if it is malformed."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return message if isinstance(message, dict) else {}


def _answer(line: bytes) -> Answer:
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
    said = done.errors.strip().splitlines() or [UNCALLED]
    return ended_by(done, limits) or as_line(said[-1][:500])


def _exception_line(name: str, text: str) -> str:
    return as_line(f"{name}: {text}").rstrip(": ")


def _to_file(code: str) -> bytes:
    return code.encode(errors="surrogatepass")


def _setup(problem: Problem) -> str:
    """Return the source that self-written tests have in addition to the candidate."""
    return f"import math\n{RAISES_SOURCE}\n{helpers(problem.prompt, problem.entry_point)}"


def _case(test: str, entry_point: str) -> Case | None:
    tree = parse(test)
    return case_of(tree.body[0], [entry_point]) if tree is not None and len(tree.body) == 1 else None


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
    wanted_text = shown(expected.value) if case.comparison in ("==", "evalplus", "close") else case.comparison
    return f"it returned {shown(answer.value)}, expected {wanted_text}"
