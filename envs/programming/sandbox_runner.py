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
from collections.abc import Sequence
from typing import Any, NoReturn

_EXACT = 1 << 53
"""Integers from this on are written as text, since JSON's numbers need not be exact there."""
_DEEPEST = 200
_MOST_COLLIDING = 64
_LONGEST = 1 << 20
"""Maximum bytes of an answer to the checks."""
_LONGEST_SHOWN = 1 << 18
"""Characters, as JSON, of the last answer that is shown."""

ENDED = "the program ended during the call"
UNCALLED = "the program ended before it was called"
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
        if -_EXACT < value < _EXACT:
            return value
        return {"int": hex(value)}
    if depth > _DEEPEST:
        raise NotPlainError("too deep")
    if kind is list:
        return [encode(each, depth + 1) for each in value]
    if kind in (tuple, set, frozenset):
        return {kind.__name__: [encode(each, depth + 1) for each in value]}
    if kind in (dict, collections.Counter, collections.defaultdict, collections.OrderedDict):
        items = dict.items(value)
        return {"dict": [[encode(key, depth + 1), encode(each, depth + 1)] for key, each in items]}
    if kind is bytes:
        return {"bytes": value.hex()}
    if kind is complex:
        return {"complex": [value.real, value.imag]}
    raise NotPlainError(kind.__name__)


def decode(data: Any, depth: int = 0) -> Any:
    """Decode a plain value; raise NotPlainError if it is malformed, or made to take long."""
    if data is None or isinstance(data, bool | int | float | str):
        return data
    if depth > _DEEPEST:
        raise NotPlainError("too deep")
    if isinstance(data, list):
        return [decode(each, depth + 1) for each in data]
    try:
        ((kind, inner),) = data.items()
        # These calls are here, and not in functions of their own: a value of the maximum depth needs many frames.
        if kind in ("tuple", "set", "frozenset"):
            items = [decode(each, depth + 1) for each in inner]
            return _container(kind, items)
        if kind == "dict":
            pairs = [(decode(key, depth + 1), decode(each, depth + 1)) for key, each in inner]
            _expect_different_hashes([key for key, _ in pairs])
            return dict(pairs)
        return _scalar(kind, inner)
    except (AttributeError, TypeError, ValueError, OverflowError) as error:
        raise NotPlainError(str(error)) from None


def _container(kind: str, items: list[Any]) -> Any:
    if kind == "tuple":
        return tuple(items)
    _expect_different_hashes(items)
    if kind == "set":
        return set(items)
    return frozenset(items)


def _scalar(kind: str, inner: Any) -> Any:
    if kind == "int":
        return int(inner, 16)
    if kind == "bytes":
        return bytes.fromhex(inner)
    if kind == "complex":
        return complex(*inner)
    raise NotPlainError(str(kind)[:100])


def _expect_different_hashes(keys: list[Any]) -> None:
    """Refuse keys of which many have the same hash: a dictionary or set of them takes quadratic time."""
    times = collections.Counter(map(hash, keys))
    if max(times.values(), default=0) > _MOST_COLLIDING:
        raise NotPlainError("keys that collide")


class Line:
    """Messages as lines of JSON, from standard input, which is empty from then on, and to a descriptor."""

    def __init__(self, writing: int) -> None:
        # Copies, since the program may close or use the originals.
        self._reading: io.BufferedReader = os.fdopen(os.dup(0), "rb")
        self._writing = os.dup(writing)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)

    def read(self, limit: int = -1) -> Any:
        """Read the next message; None at the end, or if it has more than `limit` bytes."""
        line = self._reading.readline(limit)
        if not line.endswith(b"\n"):
            return None
        return json.loads(line)

    def write(self, message: dict[str, Any]) -> None:
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
            reply = _returned(value)
        if "keep" in message:
            reply = _with_arguments(reply, args)
        line.write(reply)
    os._exit(0)


def _returned(value: Any) -> dict[str, Any]:
    """Describe a returned value, which may be anything."""
    try:
        return {"value": encode(value)}
    except BaseException as error:
        return {"odd": str(error)[:100]}


def _with_arguments(reply: dict[str, Any], args: Any) -> dict[str, Any]:
    """Add what the call left of its arguments."""
    try:
        reply["after"] = encode(args)
    except BaseException as error:
        return {"odd": f"an argument left as {str(error)[:100]}"}
    return reply


def _load(entry_point: str) -> Any:
    """Run the candidate's program, and return what it calls by the name of the function."""
    module = sys.modules["solution"] = types.ModuleType("solution")
    with open("solution.py", encoding="utf-8", errors="surrogatepass") as file:
        source = file.read()
    # As in the original code, since models leave these imports out.
    exec("from typing import *", module.__dict__)
    exec(compile(source, "solution.py", "exec"), module.__dict__)
    if entry_point in module.__dict__:
        return module.__dict__[entry_point]
    if "Solution" in module.__dict__:
        # As LeetCode asks for it.
        solution = module.__dict__["Solution"]()
        return getattr(solution, entry_point)
    raise NameError(f"it does not define {entry_point}")


def _raised(error: BaseException) -> dict[str, Any]:
    """Describe an exception: its name, its message, and the builtin exception that it is."""
    # The class may be the candidate's own, and its name or its message raise another exception.
    try:
        own = _builtin_base(type(error))
        return {"raised": [type(error).__name__, str(error)[:500], own]}
    except BaseException:
        return {"raised": ["Exception", "", "Exception"]}


def _builtin_base(kind: type) -> str:
    """Return the name of the first builtin class that a class is, or is derived from."""
    for each in kind.__mro__:
        name: str = each.__name__
        if getattr(builtins, name, None) is each:
            return name
    raise LookupError("no builtin class")


class _Ended(BaseException):
    """The candidate cannot answer any more; only a bare `except` in a check catches this."""

    def __init__(self, outcome: str, why: str) -> None:
        super().__init__(outcome, why)
        self.outcome = outcome
        self.why = why


Reply = tuple[Exception | None, Any, Sequence[Any]]
"""The exception that a call raised, or the value that it returned, and its arguments as it left them."""


class Remote:
    """The candidate as seen by the checks: a function whose calls another process answers."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self.last: Any = None
        self.called = False
        self.answered = False
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
        self.answered = True
        self.last = value
        return value

    def _read(self, at_the_end: str = ENDED) -> Any:
        try:
            message = self._line.read(_LONGEST)
        except (ValueError, RecursionError):
            raise _Ended("failed", _MALFORMED) from None
        if message is None:
            raise _Ended("failed", at_the_end)
        return message

    def _reply(self, call: Any) -> Reply:
        """Read the candidate's answer, which may be anything."""
        try:
            self._line.write({"call": call, "keep": True})
            return _reply_in(self._read())
        except NotPlainError as error:
            raise _Ended("failed", f"it returned a value that is not plain: {error}") from None
        except OSError:
            raise _Ended("failed", ENDED) from None


def _reply_in(message: Any) -> Reply:
    match message:
        case {"odd": what}:
            raise NotPlainError(str(what))
        case {"raised": [str(name), str(text), str(own)]}:
            error = _exception(name, text, own)
            return error, None, _arguments_in(message)
        case {"value": value}:
            decoded = decode(value)
            return None, decoded, _arguments_in(message)
    raise _Ended("failed", _MALFORMED)


def _arguments_in(message: dict[str, Any]) -> Sequence[Any]:
    """Return the arguments as the call left them; nothing if they are malformed."""
    after = decode(message.get("after", []))
    if isinstance(after, list | tuple):
        return after
    return []


def _exception(name: str, text: str, own: str) -> Exception:
    """Recreate the candidate's exception as a builtin one."""
    kind: Any = getattr(builtins, own, None)
    other = RuntimeError(f"{name}: {text}")
    # In the checks, a StopIteration would end the loop that calls the candidate.
    not_recreated = (Exception, StopIteration, StopAsyncIteration)
    if not isinstance(kind, type) or not issubclass(kind, Exception) or kind in not_recreated:
        return other
    for each in kind.__mro__:
        # Some cannot be made from a message alone, but a base class can.
        with contextlib.suppress(TypeError):
            made: Exception = each(text)
            return made
    return other


def _update(mine: Any, theirs: Any) -> None:
    """Change a list, dictionary or set in place to its new value."""
    if type(mine) is not type(theirs):
        return
    if isinstance(mine, list | tuple) and len(mine) == len(theirs):
        for index, (one, other) in enumerate(zip(mine, theirs, strict=True)):
            _update(one, other)
            if isinstance(mine, tuple):
                continue
            # `True == 1`, but a check may tell them apart.
            if one != other or type(one) is not type(other):
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
    test = _text_of("test.py")
    try:
        remote.begin()
        setup = _text_of("setup.py")
        exec(compile(setup, "setup.py", "exec"), space)
        space["candidate"] = remote
        space[entry_point] = remote
        exec(compile(test, "test.py", "exec"), space)
        if not remote.called:
            raise _Ended("vacuous", "they never call the candidate")
        if remote.ended is not None:
            raise remote.ended
        outcome = {"outcome": "passed"}
    except _Ended as ended:
        outcome = {"outcome": ended.outcome, "why": ended.why}
    except BaseException as error:
        said = f"{type(error).__name__}: {error}".rstrip(": ")
        where = _failed_line(error, test)
        outcome = {"outcome": "failed", "why": said[:500], "where": where[:500]}
    if remote.answered:
        last = encode(remote.last)
        if len(json.dumps(last)) < _LONGEST_SHOWN:
            outcome["last"] = last
    Line(3).write(outcome)
    # To return would run what a test has registered for the end.
    os._exit(0)


def _text_of(name: str) -> str:
    with open(name, encoding="utf-8") as file:
        return file.read()


def _failed_line(error: BaseException, test: str) -> str:
    """Return the innermost line of the checks from which an exception came; empty if it came from elsewhere."""
    number = None
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.filename == "test.py":
            number = frame.lineno or 0
    if number is None:
        return ""
    return test.splitlines()[number - 1].strip()


if __name__ == "__main__":
    if sys.argv[1] == "candidate":
        run_candidate(sys.argv[2], int(sys.argv[3]))
    run_checks(sys.argv[2])
