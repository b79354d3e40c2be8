"""One run from the agent's side: starts the helper, and reads the streams and the report within limits."""

from __future__ import annotations

import ast
import contextlib
import os
import selectors
import socket
import subprocess
import sys
import tempfile
import time
from typing import Any

from langgraph_reflexion.envs.sandbox.helper import bootstrap, protocol
from langgraph_reflexion.envs.sandbox.helper.supervisor import START_SECONDS
from langgraph_reflexion.envs.sandbox.limits import Limits
from langgraph_reflexion.envs.sandbox.types import Result, Status
from langgraph_reflexion.errors import EnvironmentFault
from langgraph_reflexion.support.sync import is_called_off

BOOT = os.path.realpath(bootstrap.__file__)
_FLOOD = 256
_COLLECTED = 64
_POLL_SECONDS = 0.2
"""How often a run looks whether it has been called off."""
_GRACE_SECONDS = 30.0
"""Seconds after its last limit in which a run must have been ended and cleaned up."""


class Capture:
    """Keeps the first and the last bytes of a stream, and counts the rest.

    Args:
        size: Number of bytes to keep.
        most: Number of bytes beyond which the stream is a flood.
        whole: Keep the first bytes only.
    """

    def __init__(self, size: int, most: int, *, whole: bool = False) -> None:
        self._head_size = size // 2
        if whole:
            self._head_size = size
        self._tail_size = size - self._head_size
        self._most = most
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0

    def take(self, data: bytes) -> None:
        self._total += len(data)
        room = self._head_size - len(self._head)
        if room > 0:
            self._head += data[:room]
            self._tail += data[room:]
        else:
            self._tail += data
        # Not each time, as that would move the tail again and again.
        if len(self._tail) > 2 * self._tail_size + (1 << 16):
            del self._tail[: len(self._tail) - self._tail_size]

    @property
    def flooded(self) -> bool:
        return self._total > self._most

    @property
    def truncated(self) -> bool:
        return self._total > self._head_size + self._tail_size

    @property
    def kept(self) -> bytes:
        """The kept bytes, with a line that counts the others."""
        if not self.truncated:
            return bytes(self._head + self._tail)
        tail = bytes(self._tail[len(self._tail) - self._tail_size :])
        left_out = self._total - len(self._head) - len(tail)
        note = b"\n[... %d bytes left out ...]\n" % left_out
        return bytes(self._head) + note + tail


class _Passed:
    """The descriptors that the helper gets, in their order.

    Args:
        selector: Waits for what arrives at this process's ends of pipes.
        ours: Closes these ends.
        theirs: Closes what this process does not need once the helper has it.
    """

    def __init__(
        self, selector: selectors.BaseSelector, ours: contextlib.ExitStack, theirs: contextlib.ExitStack
    ) -> None:
        self.numbers: list[int] = []
        self.captures: dict[str, Capture] = {}
        self._selector = selector
        self._ours = ours
        self._theirs = theirs

    def lend(self, descriptor: int) -> None:
        """Pass a descriptor that somebody else closes."""
        self.numbers.append(descriptor)

    def give(self, descriptor: int) -> None:
        """Pass a descriptor that is closed here."""
        self._theirs.callback(os.close, descriptor)
        self.numbers.append(descriptor)

    def capture(self, name: str, capture: Capture) -> None:
        """Pass the end of a pipe, what comes out of which is captured."""
        reading, writing = os.pipe()
        self._ours.callback(os.close, reading)
        self.give(writing)
        self._selector.register(reading, selectors.EVENT_READ, name)
        self.captures[name] = capture


def carry_out(request: protocol.Request, stdin: bytes | int = b"") -> Result:
    """Carry out one run.

    Args:
        request: The run.
        stdin: Its standard input, or a descriptor, unless it inherits this process's streams.

    Raises:
        EnvironmentFault: the sandbox failed to start, was lost, or was called off (`is_called_off`).
    """
    with contextlib.ExitStack() as ours:
        selector = ours.enter_context(selectors.DefaultSelector())
        control, control_of_helper = socket.socketpair()
        ours.enter_context(control)
        with contextlib.ExitStack() as theirs:
            theirs.enter_context(control_of_helper)
            passed = _Passed(selector, ours, theirs)
            passed.lend(control_of_helper.fileno())
            passed.give(protocol.dump(request))
            _pass_streams(passed, request, stdin)
            helper = _start_helper(passed.numbers)
        try:
            report = _read(selector, control, passed.captures, request.limits)
        finally:
            # The helper then ends the run.
            control.close()
            try:
                helper.wait(_GRACE_SECONDS)
            except subprocess.TimeoutExpired:
                helper.kill()
                helper.wait()
    if report is None:
        raise _not_started(request, "it was lost", passed.captures)
    if "fault" in report:
        raise _not_started(request, report["fault"], passed.captures)
    return _result(report, passed.captures)


def _pass_streams(passed: _Passed, request: protocol.Request, stdin: bytes | int) -> None:
    limits = request.limits
    if request.inherit:
        for number in (0, 1, 2):
            passed.lend(number)
    else:
        if isinstance(stdin, int):
            passed.lend(stdin)
        else:
            passed.give(protocol.memory_file(stdin))
        flood = _FLOOD * limits.output
        passed.capture("stdout", Capture(limits.output, flood))
        passed.capture("stderr", Capture(limits.output, flood))
    passed.capture("result", Capture(limits.result, limits.result, whole=True))
    collected = _COLLECTED * limits.result
    passed.capture("collected", Capture(collected, collected, whole=True))


def _start_helper(passed: list[int]) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-I", "-S", BOOT]
    command += map(str, passed)
    return subprocess.Popen(
        command,
        pass_fds=passed,
        env={"TMPDIR": tempfile.gettempdir()},
        cwd="/",  # a run's user may be unable to enter the agent's own
        start_new_session=True,  # a signal from the terminal reaches the agent only, which ends the run
    )


def _not_started(request: protocol.Request, why: str, captures: dict[str, Capture]) -> EnvironmentFault:
    said = why
    if "stderr" in captures:
        printed = captures["stderr"].kept.decode(errors="replace").strip()
        said = ": ".join(filter(None, [why, printed]))
    return EnvironmentFault(f"the sandbox ({request.backend}) did not start: {said}")


def _read(
    selector: selectors.BaseSelector,
    control: socket.socket,
    captures: dict[str, Capture],
    limits: Limits,
) -> protocol.Report | None:
    """Read until the report has arrived and all streams have ended; None if the helper was lost."""
    selector.register(control, selectors.EVENT_READ, "control")
    latest = float("inf")
    if limits.wall is not None:
        latest = time.monotonic() + limits.wall + START_SECONDS + _GRACE_SECONDS
    report = b""
    open_streams = {*captures, "control"}
    while open_streams:
        left = latest - time.monotonic()
        if left <= 0:
            raise EnvironmentFault("the sandbox did not end in time")
        # Otherwise, whoever presses Ctrl-C would wait for the end of the command.
        if is_called_off():
            raise EnvironmentFault("the command was called off")
        for key, _ in selector.select(min(left, _POLL_SECONDS)):
            data = os.read(key.fd, 1 << 16)
            # The other end is closed, in all processes that had it.
            if not data:
                selector.unregister(key.fd)
                open_streams.discard(key.data)
            if key.data == "control":
                report += data
                # The run has ended, and only its output may be still on the way.
                latest = min(latest, time.monotonic() + _GRACE_SECONDS)
                continue
            capture = captures[key.data]
            capture.take(data)
            if capture.flooded:
                # The helper then ends the run, which may have just ended by itself.
                with contextlib.suppress(OSError):
                    control.shutdown(socket.SHUT_WR)
    if not report:
        return None
    ended: protocol.Report = ast.literal_eval(report.decode())
    return ended


def _result(report: protocol.Report, captures: dict[str, Capture]) -> Result:
    nothing = Capture(0, 0)
    return Result(
        status=_status(report, captures),
        exit_code=report["exit"],
        stdout=captures.get("stdout", nothing).kept,
        stderr=captures.get("stderr", nothing).kept,
        result=_whole(captures["result"]),
        collected=_whole(captures["collected"]),
        seconds=report["seconds"],
    )


def _status(report: protocol.Report, captures: dict[str, Capture]) -> Status:
    if any(each.flooded for each in captures.values()):
        return "output"
    killed: Any = report["killed"]
    if killed:
        ended_by: Status = killed
        return ended_by
    if report["exit"] == 0:
        return "ok"
    return "failed"


def _whole(capture: Capture) -> bytes:
    """Return all that was captured, or nothing if it was too much."""
    if capture.flooded:
        return b""
    return capture.kept
