"""The program that runs Python code inside the sandbox: the candidate's side, the checks' side, plain values as JSON.

    python sandbox_runner.py candidate ENTRY_POINT DESCRIPTOR
    python sandbox_runner.py checks ENTRY_POINT

The candidate reads calls from standard input and answers on DESCRIPTOR. The checks are connected with it over their
standard inputs, and write their outcome to descriptor 3. It uses the standard library only. The agent's side imports
`encode` and `decode`; the input of `decode` is untrusted.
"""

import builtins
import collections
import contextlib
import io
import json
import os
import sys
import traceback
import types
from collections.abc import Callable
from typing import Any, NoReturn

_EXACT = 1 << 53
_DEPTH = 200
_COLLIDING = 64
_LONGEST = 1 << 20
_LONGEST_SHOWN = 1 << 18

ENDED, UNCALLED = "the program ended during the call", "the program ended before it was called"
"""Why a candidate gave no answer, unless a limit ended it."""
_MALFORMED = "its answer is malformed"


class NotPlainError(Exception):
    """A value is not one of the supported builtins, or is nested too deeply."""


def encode(value: Any, depth: int = 0) -> Any:
    """Encode a plain value as JSON that keeps its type; raise NotPlainError for any other.

    Plain are None, bool, int, float, complex, str, bytes, list, tuple, set, frozenset and dict, and the dictionaries
    of `collections` as the dict that they equal. Subclasses are not, since they define their own equality.
    """
    kind = type(value)
    if value is None or kind is bool or kind is str or kind is float:
        return value
    if kind is int:
        return value if -_EXACT < value < _EXACT else {"int": hex(value)}
    if depth > _DEPTH:
        raise NotPlainError("too deep")
    if kind is list:
        return [encode(each, depth + 1) for each in value]
    if kind in (tuple, set, frozenset):
        return {kind.__name__: [encode(each, depth + 1) for each in value]}
    if kind in (dict, collections.Counter, collections.defaultdict, collections.OrderedDict):
        return {"dict": [[encode(key, depth + 1), encode(each, depth + 1)] for key, each in dict.items(value)]}
    if kind is bytes:
        return {"bytes": value.hex()}
    if kind is complex:
        return {"complex": [value.real, value.imag]}
    raise NotPlainError(kind.__name__)


def decode(data: Any, depth: int = 0) -> Any:
    """Decode a plain value; raise NotPlainError if it is malformed, or made to take long."""
    if data is None or isinstance(data, bool | int | float | str):
        return data
    if depth > _DEPTH:
        raise NotPlainError("too deep")
    if isinstance(data, list):
        return [decode(each, depth + 1) for each in data]
    try:
        ((kind, inner),) = data.items()
        if kind == "int":
            return int(inner, 16)
        if kind == "tuple":
            return tuple([decode(each, depth + 1) for each in inner])
        if kind in ("set", "frozenset"):
            items = _without_collisions([decode(each, depth + 1) for each in inner])
            return set(items) if kind == "set" else frozenset(items)
        if kind == "dict":
            pairs = [(decode(key, depth + 1), decode(each, depth + 1)) for key, each in inner]
            _without_collisions([key for key, _ in pairs])
            return dict(pairs)
        if kind == "bytes":
            return bytes.fromhex(inner)
        if kind == "complex":
            return complex(*inner)
    except (AttributeError, TypeError, ValueError, OverflowError) as error:
        raise NotPlainError(str(error)) from None
    raise NotPlainError(str(kind)[:100])


def _without_collisions(items: list[Any]) -> list[Any]:
    # Numbers with the same hash make a dictionary take quadratic time.
    if max(collections.Counter(map(hash, items)).values(), default=0) > _COLLIDING:
        raise NotPlainError("keys that collide")
    return items


class Line:
    """Messages as lines of JSON, from standard input, which is empty from then on, and to a descriptor."""

    def __init__(self, writing: int) -> None:
        self._reading: io.BufferedReader = os.fdopen(os.dup(0), "rb")
        self._writing = os.dup(writing)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)

    def read(self, limit: int = -1) -> Any:
        """Read the next message; None at the end, or if it has more than `limit` bytes."""
        line = self._reading.readline(limit)
        return json.loads(line) if line.endswith(b"\n") else None

    def write(self, message: dict[str, Any]) -> None:
        """Send a message."""
        data = memoryview(json.dumps(message).encode() + b"\n")
        while data:
            data = data[os.write(self._writing, data) :]


def run_candidate(entry_point: str, answering: int) -> NoReturn:
    """Load `solution.py`, and answer the calls from standard input on descriptor `answering`."""
    line = Line(answering)
    try:
        function = _load(entry_point)
    except BaseException as error:
        line.write(_raised(error))
        os._exit(1)
    line.write({"ready": True})
    while (message := line.read()) is not None:
        args, kwargs = decode(message["call"])
        try:
            value = function(*args, **kwargs)
        except BaseException as error:
            reply = _raised(error)
        else:
            try:
                reply = {"value": encode(value)}
            except BaseException as error:
                reply = {"odd": str(error)[:100]}
        if "keep" in message:
            try:
                reply["after"] = encode(args)
            except BaseException as error:
                reply = {"odd": f"an argument left as {str(error)[:100]}"}
        line.write(reply)
    os._exit(0)


def _load(entry_point: str) -> Callable[..., Any]:
    module = sys.modules["solution"] = types.ModuleType("solution")
    with open("solution.py", encoding="utf-8", errors="surrogatepass") as file:
        source = file.read()
    # As in the original code, since models leave these imports out.
    exec("from typing import *", module.__dict__)
    exec(compile(source, "solution.py", "exec"), module.__dict__)
    if entry_point not in module.__dict__ and "Solution" in module.__dict__:
        return getattr(module.__dict__["Solution"](), entry_point)  # type: ignore[no-any-return]
    if entry_point not in module.__dict__:
        raise NameError(f"it does not define {entry_point}")
    return module.__dict__[entry_point]  # type: ignore[no-any-return]


def _raised(error: BaseException) -> dict[str, Any]:
    """Describe an exception: its name, its message, and the builtin exception that it is."""
    try:
        own = next(each for each in type(error).__mro__ if getattr(builtins, each.__name__, None) is each)
        return {"raised": [type(error).__name__, str(error)[:500], own.__name__]}
    except BaseException:
        return {"raised": ["Exception", "", "Exception"]}


class _Ended(BaseException):
    """The candidate cannot answer any more; only a bare `except` in a check catches this."""


class Remote:
    """The candidate as seen by the checks: a function whose calls another process answers."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self.last: Any = None
        self.called = self.answered = False
        self.ended: _Ended | None = None
        """Why it cannot answer; a bare `except` in a check may have caught this."""

    def begin(self) -> None:
        """Wait until the candidate is loaded."""
        match self._read(UNCALLED):
            case {"ready": True}:
                return
            case {"raised": [str(name), str(text), _]}:
                raise _Ended("failed", f"{name}: {text}".rstrip(": "))
        raise _Ended("failed", _MALFORMED)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the candidate, and apply its changes to the arguments."""
        self.called = True
        if self.ended is not None:
            raise self.ended
        try:
            call = encode([args, kwargs])
        except NotPlainError as error:
            raise _Ended("inexpressible", f"a call with {error}") from None
        try:
            raised, value, after = self._reply(call)
        except _Ended as ended:
            self.ended = ended
            raise
        for mine, theirs in zip(args, after, strict=False):
            _update(mine, theirs)
        if raised is not None:
            raise raised
        self.answered, self.last = True, value
        return value

    def _read(self, at_the_end: str = ENDED) -> Any:
        try:
            message = self._line.read(_LONGEST)
        except (ValueError, RecursionError):
            raise _Ended("failed", _MALFORMED) from None
        if message is None:
            raise _Ended("failed", at_the_end)
        return message

    def _reply(self, call: Any) -> tuple[Exception | None, Any, list[Any] | tuple[Any, ...]]:
        """Read the candidate's answer, which may be anything: its exception or value, and the arguments it left."""
        try:
            self._line.write({"call": call, "keep": True})
            match self._read():
                case {"odd": what}:
                    raise NotPlainError(str(what))
                case {"raised": [str(name), str(text), str(own)], **rest}:
                    answer: tuple[Exception | None, Any] = _exception(name, text, own), None
                case {"value": value, **rest}:
                    answer = None, decode(value)
                case _:
                    raise _Ended("failed", _MALFORMED)
            after = decode(rest.get("after", []))
        except NotPlainError as error:
            raise _Ended("failed", f"it returned a value that is not plain: {error}") from None
        except OSError:
            raise _Ended("failed", ENDED) from None
        return (*answer, after if isinstance(after, list | tuple) else [])


def _exception(name: str, text: str, own: str) -> Exception:
    """Recreate the candidate's exception as a builtin one."""
    kind: Any = getattr(builtins, own, None)
    # In the checks, a StopIteration would end the loop that calls the candidate.
    plain = (Exception, StopIteration, StopAsyncIteration)
    if not isinstance(kind, type) or not issubclass(kind, Exception) or kind in plain:
        return RuntimeError(f"{name}: {text}")
    for each in kind.__mro__:
        # Some cannot be made from a message alone, but a base class can.
        with contextlib.suppress(TypeError):
            made: Exception = each(text)
            return made
    return RuntimeError(f"{name}: {text}")


def _update(mine: Any, theirs: Any) -> None:
    """Change a list, dictionary or set in place to its new value."""
    if type(mine) is not type(theirs):
        return
    if isinstance(mine, list | tuple) and len(mine) == len(theirs):
        for index, (one, other) in enumerate(zip(mine, theirs, strict=True)):
            _update(one, other)
            if isinstance(mine, list) and (one != other or type(one) is not type(other)):
                mine[index] = other
    elif isinstance(mine, list):
        mine[:] = theirs
    elif isinstance(mine, dict | set) and mine != theirs:
        mine.clear()
        mine.update(theirs)


def run_checks(entry_point: str) -> NoReturn:
    """Run the checks in `test.py`, after `setup.py`, against a candidate behind standard input."""
    remote = Remote(Line(0))
    space: dict[str, Any] = {"__name__": "checks"}
    with open("test.py", encoding="utf-8") as file:
        test = file.read()
    try:
        remote.begin()
        with open("setup.py", encoding="utf-8") as file:
            exec(compile(file.read(), "setup.py", "exec"), space)
        space.update({"candidate": remote, entry_point: remote})
        exec(compile(test, "test.py", "exec"), space)
        if not remote.called:
            raise _Ended("vacuous", "they never call the candidate")
        if remote.ended is not None:
            raise remote.ended
        outcome = {"outcome": "passed"}
    except _Ended as error:
        outcome = {"outcome": error.args[0], "why": error.args[1]}
    except BaseException as error:
        lines = [
            frame.lineno or 0 for frame in traceback.extract_tb(error.__traceback__) if frame.filename == "test.py"
        ]
        where = test.splitlines()[lines[-1] - 1].strip() if lines else ""
        said = f"{type(error).__name__}: {error}".rstrip(": ")
        outcome = {"outcome": "failed", "why": said[:500], "where": where[:500]}
    if remote.answered and len(json.dumps(last := encode(remote.last))) < _LONGEST_SHOWN:
        outcome["last"] = last
    Line(3).write(outcome)
    os._exit(0)


if __name__ == "__main__":
    if sys.argv[1] == "candidate":
        run_candidate(sys.argv[2], int(sys.argv[3]))
    run_checks(sys.argv[2])
