"""Python candidates in processes of their own: calls answered one after the other, and checks in a second process."""

import contextlib
import json
import marshal
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from langgraph_reflexion.envs.programming import inside
from langgraph_reflexion.envs.programming.inside import NotPlainError, decode, encode
from langgraph_reflexion.envs.programming.limits import ended_by
from langgraph_reflexion.envs.programming.values import Answer, in_a_line, shown
from langgraph_reflexion.envs.sandbox import Limits, Result, Sandbox, WarmPython
from langgraph_reflexion.envs.sandbox.sandbox import with_wall

# The same interpreter runs inside, so that what runs beside each candidate is compiled once.
_COMPILED = marshal.dumps(compile(Path(inside.__file__).read_text(encoding="utf-8"), "inside.py", "exec"))
_PROGRAM = 'import marshal\nexec(marshal.loads(open("inside.bin", "rb").read()))\n'
_FILES: dict[str, bytes | str] = {"inside.bin": _COMPILED}
_LINE = 16 << 20
_STDIN, _RESULT = 0, 3
_ENDED = "the program ended during the call"

Call = tuple[Sequence[Any], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Checked:
    """What checks came to."""

    outcome: str
    """`passed`, `failed`, or `inexpressible`: they call the candidate with what is not plain."""
    why: str = ""
    where: str = ""
    """The line of the checks that failed."""
    last: str = ""
    """What the candidate returned last, as `repr` shows it."""


class PythonRuns:
    """Runs Python candidates in a warm interpreter. May be used by many threads at once.

    Args:
        sandbox: Where they run.
        limits: What a candidate may use.

    Raises:
        EnvironmentUnavailable: the sandbox's backend has no warm interpreter.
    """

    def __init__(self, sandbox: Sandbox, limits: Limits) -> None:
        self._warm, self._limits = WarmPython(sandbox), limits

    def answers(self, code: str, entry_point: str, calls: Sequence[Call], *, each: bool = False) -> list[Answer]:
        """What calls come to, one after the other in one process.

        Args:
            code: The program.
            entry_point: The function.
            calls: Plain arguments, and keyword arguments.
            each: Where one call ends the process, go on with the next one in a new process. Otherwise nothing comes
                of those after it.

        Raises:
            EnvironmentFault: the sandbox failed.
        """
        answers: list[Answer] = []
        while len(answers) < len(calls):
            rest = calls[len(answers) :]
            lines = "".join(json.dumps({"call": encode([list(args), kwargs])}) + "\n" for args, kwargs in rest)
            done = self._warm.run(
                f"{_PROGRAM}run_candidate({entry_point!r}, {_STDIN})",
                files={**_FILES, "solution.py": _to_file(code)},
                stdin=lines,
                limits=self._limits,
            )
            if done.status == "output" and each and len(rest) > 1:
                # Of what one of them has flooded nothing is kept.
                return answers + [self.answers(code, entry_point, [call])[0] for call in rest]
            hello, *said = done.result.split(b"\n")[: len(rest) + 1] if done.result else [b""]
            why = _why(hello, done, self._limits)
            came = [_answer(line) for line in said if line] if why is None else []
            answers += came
            if len(answers) < len(calls):
                ended = Answer(error=why or ended_by(done, self._limits) or _ENDED)
                # What could not be loaded will not be loaded the next time.
                left = len(calls) - len(answers) if why is not None or not each else 1
                answers += [ended] * left
        return answers

    def checks(self, code: str, entry_point: str, setup: str, test: str, *, call_check: bool) -> Checked:
        """Run checks in one process against a candidate in another one.

        Args:
            code: The program.
            entry_point: The function.
            setup: What the checks need beside it, as source.
            test: The checks, as source.
            call_check: Call their function `check` with the candidate.

        Raises:
            EnvironmentFault: the sandbox failed.
        """
        own: dict[str, bytes | str] = {"solution.py": _to_file(code)}
        with (
            self._talk(f"run_candidate({entry_point!r}, {_RESULT})", own, self._limits) as candidate,
            self._talk(
                f"run_checks({entry_point!r}, {call_check})",
                {"setup.py": setup, "test.py": test},
                # They wait for the candidate, and must not be what ends first.
                with_wall(self._limits, 2 * (self._limits.wall or 10)),
            ) as checks,
        ):
            return _relay(candidate, checks, self._limits)

    def close(self) -> None:
        """End the interpreter."""
        self._warm.close()

    @contextlib.contextmanager
    def _talk(self, program: str, files: dict[str, bytes | str], limits: Limits) -> "Iterator[_Talk]":
        given = {**_FILES, **files}
        talk = _Talk(lambda number: self._warm.run(f"{_PROGRAM}{program}", files=given, limits=limits, result=number))
        try:
            yield talk
        finally:
            talk.close()


class _Talk:
    """A run that is talked with, in a thread of its own."""

    def __init__(self, run: Callable[[int], Result]) -> None:
        self._ours, theirs = socket.socketpair()
        self._reading = self._ours.makefile("rb")
        self._result: Result | None = None
        self._error: Exception | None = None

        def work() -> None:
            try:
                self._result = run(theirs.fileno())
            except Exception as error:
                self._error = error
            finally:
                theirs.close()

        self._thread = threading.Thread(target=work, daemon=True)
        self._thread.start()

    def read(self) -> bytes:
        """The next line; nothing where there is none, or a longer one than anybody needs."""
        try:
            line = self._reading.readline(_LINE)
        except OSError:
            return b""
        return line if line.endswith(b"\n") else b""

    def write(self, message: dict[str, Any]) -> None:
        with contextlib.suppress(OSError):  # it has ended, which reading will tell
            self._ours.sendall(json.dumps(message).encode() + b"\n")

    def end(self) -> Result:
        """Wait until it has ended.

        Raises:
            EnvironmentFault: the sandbox failed.
        """
        self.close()
        if self._error is not None:
            raise self._error
        assert self._result is not None
        return self._result

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._ours.shutdown(socket.SHUT_RDWR)
        self._reading.close()
        self._ours.close()
        self._thread.join()


def _relay(candidate: _Talk, checks: _Talk, limits: Limits) -> Checked:
    """Carry calls from the checks to the candidate, and plain values back."""
    hello = candidate.read()
    if "ready" not in _read(hello):
        return Checked("failed", _why(hello, candidate.end(), limits) or "")
    ended = ""
    while line := checks.read():
        # Checks may be a model's own, and say anything.
        message = _read(line)
        if "outcome" in message:
            said = _outcome(message)
            # A bare `except` in the checks makes nothing of it that the candidate has gone.
            return replace(said, outcome="failed", why=ended) if ended and said.outcome == "passed" else said
        if not ended:
            candidate.write({"call": message.get("call"), "keep": True})
            if reply := candidate.read():
                checks.write(_checked(reply))
                continue
            ended = ended_by(candidate.end(), limits) or _ENDED
        checks.write({"ended": ended})
    return Checked("failed", f"the checks {ended_by(checks.end(), limits) or 'ended without an outcome'}")


def _outcome(message: dict[str, Any]) -> Checked:
    try:
        last = shown(decode(message["last"])) if "last" in message else ""
    except NotPlainError:
        last = ""
    outcome, why, where = (in_a_line(str(message.get(key, ""))) for key in ("outcome", "why", "where"))
    return Checked(outcome, why, where, last)


def _read(line: bytes) -> dict[str, Any]:
    """What a candidate said; empty where that is nothing."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return message if isinstance(message, dict) else {}


def _checked(line: bytes) -> dict[str, Any]:
    """What the candidate said, as far as it is what it may say."""
    message = _read(line)
    try:
        after = encode(decode(message.get("after", [])))
        match message:
            case {"value": value}:
                return {"value": encode(decode(value)), "after": after}
            case {"raised": [str(name), str(text), str(own)]}:
                return {"raised": [name, text, own], "after": after}
            case {"odd": str(what)}:
                return {"ended": f"it returned what is not plain: {what}"}
    except NotPlainError as error:
        return {"ended": f"it returned what is not plain: {error}"}
    return {"ended": "it said what is no answer"}


def _answer(line: bytes) -> Answer:
    message = _read(line)
    try:
        match message:
            case {"value": value}:
                return Answer(value=decode(value), returned=True)
            case {"raised": [str(name), str(text), _]}:
                return Answer(error=_told(name, text))
            case {"odd": str(what)}:
                return Answer(error=f"it returned what is not plain: {in_a_line(what)}", odd=True)
    except NotPlainError as error:
        return Answer(error=f"it returned what is not plain: {in_a_line(str(error))}")
    return Answer(error="it said what is no answer")


def _why(hello: bytes, done: Result, limits: Limits) -> str | None:
    """Why a program could not be loaded; None where it could."""
    match _read(hello):
        case {"ready": True}:
            return None
        case {"raised": [str(name), str(text), _]}:
            return _told(name, text)
    said = done.errors.strip().splitlines() or ["the program ended before it was called"]
    return ended_by(done, limits) or in_a_line(said[-1][:500])


def _told(name: str, text: str) -> str:
    return in_a_line(f"{name}: {text}").rstrip(": ")


def _to_file(code: str) -> bytes:
    return code.encode(errors="surrogatepass")
