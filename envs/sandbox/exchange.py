"""Carries out one run through the helper: hands over what it needs, and reads as much as is allowed of what comes."""

import contextlib
import os
import selectors
import socket
import time
from collections.abc import Sequence
from typing import Any

from langgraph_reflexion.envs.sandbox.archive import unpack
from langgraph_reflexion.envs.sandbox.contract import Limits, Result, Status
from langgraph_reflexion.envs.sandbox.helper import wire
from langgraph_reflexion.envs.sandbox.helper.keep import START_SECONDS
from langgraph_reflexion.envs.sandbox.launcher import Helper
from langgraph_reflexion.errors import EnvironmentFault

_FLOOD = 256
_COLLECTED = 64
_GRACE_SECONDS = 30.0
"""So long after its last limit a run may take to be ended and cleared away."""


class Capture:
    """Keeps the beginning and the end of what is written, and counts the rest.

    Args:
        size: So many bytes are kept.
        most: More than so many are a flood.
        whole: Whether what is cut is worth nothing: then the beginning alone is kept.
    """

    def __init__(self, size: int, most: int, *, whole: bool = False) -> None:
        self._head_size = size if whole else size // 2
        self._tail_size = size - self._head_size
        self._most = most
        self._head, self._tail, self.total = bytearray(), bytearray(), 0

    def take(self, data: bytes) -> None:
        """Take what was written next."""
        self.total += len(data)
        room = self._head_size - len(self._head)
        self._head += data[:room]
        self._tail += data[room:] if room > 0 else data
        if len(self._tail) > 2 * self._tail_size + (1 << 16):
            del self._tail[: len(self._tail) - self._tail_size]

    @property
    def flooded(self) -> bool:
        """More was written than anybody reads."""
        return self.total > self._most

    @property
    def truncated(self) -> bool:
        """Some is left out."""
        return self.total > self._head_size + self._tail_size

    @property
    def kept(self) -> bytes:
        """What is kept, with a line that says how much is not."""
        if not self.truncated:
            return bytes(self._head + self._tail)
        tail = bytes(self._tail[len(self._tail) - self._tail_size :])
        left_out = self.total - len(self._head) - len(tail)
        return bytes(self._head) + b"\n[... %d bytes left out ...]\n" % left_out + tail


def carry_out(
    helper: Helper,
    request: wire.Request,
    blobs: Sequence[bytes],
    limits: Limits,
    *,
    stdin: bytes = b"",
    result: int | None = None,
    cancelled: int | None = None,
) -> Result:
    """Carry out one run.

    Args:
        helper: Who carries it out.
        request: What it is.
        blobs: The contents of its files.
        limits: How much of its output is kept.
        stdin: What it reads, unless it inherits this process's standard streams.
        result: A descriptor that it gets in place of the one for results.
        cancelled: A descriptor; when it becomes readable, the run is ended.

    Raises:
        EnvironmentFault: the sandbox did not start, or was lost.
    """
    with contextlib.ExitStack() as stack:
        control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        stack.enter_context(control)
        stack.enter_context(theirs)
        captures: dict[str, Capture] = {}
        selector = stack.enter_context(selectors.DefaultSelector())
        given: list[int] = []

        def pipe(name: str, capture: Capture) -> int:
            reading, writing = os.pipe()
            stack.callback(os.close, reading)
            given.append(writing)
            captures[name] = capture
            selector.register(reading, selectors.EVENT_READ, name)
            return writing

        try:
            if request["inherit"]:
                streams = [0, 1, 2]
            else:
                flood = _FLOOD * limits.output
                given.append(wire.memory(stdin) if stdin else os.open(os.devnull, os.O_RDONLY))
                streams = [given[-1]]
                streams += [pipe(name, Capture(limits.output, flood)) for name in ("stdout", "stderr")]
            if result is None:
                result = pipe("result", Capture(limits.result, limits.result, whole=True))
            streams.append(result)
            most = _COLLECTED * limits.result
            streams.append(pipe("collected", Capture(most, most, whole=True)))
            given.append(wire.dump(request, blobs))
            helper.request(request["limits"], [theirs.fileno(), given[-1], *streams])
        finally:
            for number in given:
                os.close(number)
            theirs.close()
        report = _read(selector, control, captures, limits, cancelled)
    if report is None or "fault" in report:
        said = captures["stderr"].kept.decode(errors="replace").strip() if "stderr" in captures else ""
        why = "it was lost" if report is None else report["fault"]
        raise EnvironmentFault(
            f"the sandbox ({request['backend']}) did not start: {': '.join(filter(None, [why, said]))}"
        )
    return _result(report, captures, request)


def _read(
    selector: selectors.BaseSelector,
    control: socket.socket,
    captures: dict[str, Capture],
    limits: Limits,
    cancelled: int | None,
) -> wire.Report | None:
    """Read until the report is there and all streams have ended. None where the helper was lost."""
    selector.register(control, selectors.EVENT_READ, "control")
    if cancelled is not None:
        selector.register(cancelled, selectors.EVENT_READ, "cancelled")
    latest = time.monotonic() + (
        limits.wall + START_SECONDS + _GRACE_SECONDS if limits.wall is not None else float("inf")
    )
    report: wire.Report | None = None
    told = False
    open_streams = set(captures)
    while report is None or open_streams:
        left = latest - time.monotonic()
        if left <= 0:
            raise EnvironmentFault("the sandbox did not end when it should have")
        for key, _ in selector.select(min(left, 3600)):
            if key.data == "control":
                if (report := _reported(control)) is None:
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
                if captures[key.data].flooded and not told:
                    told = True
                    with contextlib.suppress(OSError):
                        control.send(b"o")
    return report


def _reported(control: socket.socket) -> wire.Report | None:
    """The report; None where the other side has gone without one."""
    try:
        try:
            return wire.receive(control)
        except ConnectionResetError:
            # It went without having read what it was told, which is said once and first: the report may be there.
            return wire.receive(control)
    except OSError:
        return None


def _result(report: wire.Report, captures: dict[str, Capture], request: wire.Request) -> Result:
    killed: Any = report["killed"]
    # The program may have ended by itself before it could be ended.
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
