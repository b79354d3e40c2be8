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

BOOT = os.path.realpath(bootstrap.__file__)
_FLOOD = 256
_COLLECTED = 64
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
        self._head_size = size if whole else size // 2
        self._tail_size = size - self._head_size
        self._most = most
        self._head, self._tail, self._total = bytearray(), bytearray(), 0

    def take(self, data: bytes) -> None:
        self._total += len(data)
        room = self._head_size - len(self._head)
        self._head += data[:room]
        self._tail += data[room:] if room > 0 else data
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
        return bytes(self._head) + b"\n[... %d bytes left out ...]\n" % left_out + tail


def carry_out(request: protocol.Request, stdin: bytes | int = b"") -> Result:
    """Carry out one run.

    Args:
        request: The run.
        stdin: Its standard input, or a descriptor, unless it inherits this process's streams.

    Raises:
        EnvironmentFault: the sandbox failed to start, or was lost.
    """
    captures: dict[str, Capture] = {}
    limits = request.limits
    with contextlib.ExitStack() as stack:
        selector = stack.enter_context(selectors.DefaultSelector())
        control, theirs = socket.socketpair()
        stack.enter_context(control)
        with contextlib.ExitStack() as given:
            given.enter_context(theirs)

            def pipe(name: str, size: int, most: int, *, whole: bool = False) -> int:
                reading, writing = os.pipe()
                stack.callback(os.close, reading)
                given.callback(os.close, writing)
                captures[name] = Capture(size, most, whole=whole)
                selector.register(reading, selectors.EVENT_READ, name)
                return writing

            def owned(descriptor: int) -> int:
                given.callback(os.close, descriptor)
                return descriptor

            if request.inherit:
                streams = [0, 1, 2]
            else:
                streams = [stdin if isinstance(stdin, int) else owned(protocol.memory_file(stdin))]
                streams += [pipe(name, limits.output, _FLOOD * limits.output) for name in ("stdout", "stderr")]
            streams.append(pipe("result", limits.result, limits.result, whole=True))
            most = _COLLECTED * limits.result
            streams.append(pipe("collected", most, most, whole=True))
            passed = [theirs.fileno(), owned(protocol.dump(request)), *streams]
            helper = subprocess.Popen(
                [sys.executable, "-I", "-S", BOOT, *map(str, passed)],
                pass_fds=passed,
                env={"TMPDIR": tempfile.gettempdir()},
                cwd="/",  # a run's user may be unable to enter the agent's own
                start_new_session=True,  # a signal from the terminal reaches the agent only, which ends the run
            )
        try:
            report = _read(selector, control, captures, limits)
        finally:
            control.close()
            try:
                helper.wait(_GRACE_SECONDS)
            except subprocess.TimeoutExpired:
                helper.kill()
                helper.wait()
    if report is None or "fault" in report:
        printed = captures["stderr"].kept.decode(errors="replace").strip() if "stderr" in captures else ""
        why = "it was lost" if report is None else report["fault"]
        raise EnvironmentFault(
            f"the sandbox ({request.backend}) did not start: {': '.join(filter(None, [why, printed]))}"
        )
    return _result(report, captures)


def _read(
    selector: selectors.BaseSelector,
    control: socket.socket,
    captures: dict[str, Capture],
    limits: Limits,
) -> protocol.Report | None:
    """Read until the report has arrived and all streams have ended; None if the helper was lost."""
    selector.register(control, selectors.EVENT_READ, "control")
    latest = time.monotonic() + (
        limits.wall + START_SECONDS + _GRACE_SECONDS if limits.wall is not None else float("inf")
    )
    report = b""
    open_streams = {*captures, "control"}
    while open_streams:
        left = latest - time.monotonic()
        if left <= 0:
            raise EnvironmentFault("the sandbox did not end in time")
        for key, _ in selector.select(min(left, 3600)):
            data = os.read(key.fd, 1 << 16)
            if not data:
                selector.unregister(key.fd)
                open_streams.discard(key.data)
            if key.data == "control":
                report += data
                latest = min(latest, time.monotonic() + _GRACE_SECONDS)
            else:
                captures[key.data].take(data)
                if captures[key.data].flooded:
                    with contextlib.suppress(OSError):  # it may have just ended by itself
                        control.shutdown(socket.SHUT_WR)
    ended: protocol.Report | None = ast.literal_eval(report.decode()) if report else None
    return ended


def _result(report: protocol.Report, captures: dict[str, Capture]) -> Result:
    killed: Any = report["killed"]
    flooded = any(each.flooded for each in captures.values())
    status: Status = "output" if flooded else killed or ("ok" if report["exit"] == 0 else "failed")
    nothing = Capture(0, 0)
    results, collected = captures["result"], captures["collected"]
    return Result(
        status=status,
        exit_code=report["exit"],
        stdout=captures.get("stdout", nothing).kept,
        stderr=captures.get("stderr", nothing).kept,
        result=b"" if results.flooded else results.kept,
        collected=b"" if collected.flooded else collected.kept,
        seconds=report["seconds"],
    )
