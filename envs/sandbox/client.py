"""One run through the helper: sends the request, and reads the streams and the report within limits."""

import contextlib
import os
import selectors
import socket
import time
from collections.abc import Sequence
from typing import Any

from langgraph_reflexion.envs.sandbox.archive import unpack
from langgraph_reflexion.envs.sandbox.helper import protocol
from langgraph_reflexion.envs.sandbox.helper.supervisor import START_SECONDS
from langgraph_reflexion.envs.sandbox.launcher import Helper
from langgraph_reflexion.envs.sandbox.types import Limits, Result, Status
from langgraph_reflexion.errors import EnvironmentFault

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
        self._head, self._tail, self.total = bytearray(), bytearray(), 0

    def take(self, data: bytes) -> None:
        self.total += len(data)
        room = self._head_size - len(self._head)
        self._head += data[:room]
        self._tail += data[room:] if room > 0 else data
        if len(self._tail) > 2 * self._tail_size + (1 << 16):
            del self._tail[: len(self._tail) - self._tail_size]

    @property
    def flooded(self) -> bool:
        return self.total > self._most

    @property
    def truncated(self) -> bool:
        return self.total > self._head_size + self._tail_size

    @property
    def kept(self) -> bytes:
        """The kept bytes, with a line that counts the others."""
        if not self.truncated:
            return bytes(self._head + self._tail)
        tail = bytes(self._tail[len(self._tail) - self._tail_size :])
        left_out = self.total - len(self._head) - len(tail)
        return bytes(self._head) + b"\n[... %d bytes left out ...]\n" % left_out + tail


def carry_out(
    helper: Helper,
    request: protocol.Request,
    blobs: Sequence[bytes],
    limits: Limits,
    *,
    stdin: bytes = b"",
    result: int | None = None,
    cancelled: int | None = None,
) -> Result:
    """Carry out one run.

    Args:
        helper: The helper, or the warm interpreter.
        request: The run.
        blobs: The contents of its files.
        limits: How much output is kept.
        stdin: Its standard input, unless it inherits this process's streams.
        result: A descriptor to use instead of the one for results.
        cancelled: A descriptor; the run is ended as soon as it is readable.

    Raises:
        EnvironmentFault: the sandbox failed to start, or was lost.
    """
    with contextlib.ExitStack() as stack:
        control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        stack.enter_context(control)
        stack.enter_context(theirs)
        captures: dict[str, Capture] = {}
        selector = stack.enter_context(selectors.DefaultSelector())
        given: list[int] = []

        def pipe(name: str, size: int, most: int, *, whole: bool = False) -> int:
            reading, writing = os.pipe()
            stack.callback(os.close, reading)
            given.append(writing)
            captures[name] = Capture(size, most, whole=whole)
            selector.register(reading, selectors.EVENT_READ, name)
            return writing

        try:
            if request["inherit"]:
                streams = [0, 1, 2]
            else:
                given.append(protocol.memory_file(stdin) if stdin else os.open(os.devnull, os.O_RDONLY))
                streams = [given[-1]]
                streams += [pipe(name, limits.output, _FLOOD * limits.output) for name in ("stdout", "stderr")]
            streams.append(pipe("result", limits.result, limits.result, whole=True) if result is None else result)
            most = _COLLECTED * limits.result
            streams.append(pipe("collected", most, most, whole=True))
            given.append(protocol.dump(request, blobs))
            helper.request(request["limits"], [theirs.fileno(), given[-1], *streams])
        finally:
            for number in given:
                os.close(number)
            theirs.close()
        report = _read(selector, control, captures, limits, cancelled)
    if report is None or "fault" in report:
        printed = captures["stderr"].kept.decode(errors="replace").strip() if "stderr" in captures else ""
        why = "it was lost" if report is None else report["fault"]
        raise EnvironmentFault(
            f"the sandbox ({request['backend']}) did not start: {': '.join(filter(None, [why, printed]))}"
        )
    return _result(report, captures, request)


def _read(
    selector: selectors.BaseSelector,
    control: socket.socket,
    captures: dict[str, Capture],
    limits: Limits,
    cancelled: int | None,
) -> protocol.Report | None:
    """Read until the report has arrived and all streams have ended; None if the helper was lost."""
    selector.register(control, selectors.EVENT_READ, "control")
    if cancelled is not None:
        selector.register(cancelled, selectors.EVENT_READ, "cancelled")
    latest = time.monotonic() + (
        limits.wall + START_SECONDS + _GRACE_SECONDS if limits.wall is not None else float("inf")
    )
    report: protocol.Report | None = None
    warned = False
    open_streams = set(captures)
    while report is None or open_streams:
        left = latest - time.monotonic()
        if left <= 0:
            raise EnvironmentFault("the sandbox did not end in time")
        for key, _ in selector.select(min(left, 3600)):
            if key.data == "control":
                if (report := receive_report(control)) is None:
                    return None
                selector.unregister(control)
                latest = min(latest, time.monotonic() + _GRACE_SECONDS)
            elif key.data == "cancelled":
                raise EnvironmentFault("the run was cancelled")
            else:
                data = os.read(key.fd, 1 << 16)
                if not data:
                    selector.unregister(key.fd)
                    open_streams.discard(key.data)
                captures[key.data].take(data)
                if captures[key.data].flooded and not warned:
                    warned = True
                    with contextlib.suppress(OSError):
                        control.send(b"o")
    return report


def receive_report(control: socket.socket) -> protocol.Report | None:
    """Receive the report; None if the helper has gone without one."""
    try:
        try:
            return protocol.receive(control)
        except ConnectionResetError:
            # The helper exited before it read our one message: its report may still be queued.
            return protocol.receive(control)
    except OSError:
        return None


def _result(report: protocol.Report, captures: dict[str, Capture], request: protocol.Request) -> Result:
    killed: Any = report["killed"]
    # A flooding program may have ended by itself before it was ended.
    nothing = Capture(0, 0)
    results, collected = captures.get("result", nothing), captures["collected"]
    flooded = results.flooded or collected.flooded
    status: Status = killed or ("output" if flooded else "ok" if report["exit"] == 0 else "failed")
    stdout, stderr = captures.get("stdout", nothing), captures.get("stderr", nothing)
    return Result(
        status=status,
        exit_code=report["exit"],
        stdout=stdout.kept,
        stderr=stderr.kept,
        result=b"" if results.flooded else results.kept,
        files={} if collected.flooded else unpack(collected.kept, request["collect"]),
        seconds=report["seconds"],
        cpu=report["cpu"],
        memory=report["memory"],
        truncated=stdout.truncated or stderr.truncated,
        backend=request["backend"],
    )
