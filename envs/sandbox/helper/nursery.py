"""Runs Python programs in children of this process, and watches them all from one loop.

A fork is most of what a warm program costs, so there is no process between: children that can start no processes
leave no tree behind. What this process learns of a run is its limits; the program is read by the child.
"""

import contextlib
import json
import os
import select
import signal
import socket
import time

from langgraph_reflexion.envs.sandbox.helper import kernel, watch, wire
from langgraph_reflexion.envs.sandbox.helper.keep import SAMPLE_SECONDS, START_SECONDS
from langgraph_reflexion.envs.sandbox.helper.plan import STARTED, Streams
from langgraph_reflexion.envs.sandbox.helper.program import WarmProgram, prepare


def nurse(connection: socket.socket) -> None:
    """Serve until the agent closes the connection.

    Args:
        connection: Each message is the limits of a run, as JSON, with its descriptors.
    """
    _own_namespaces()
    prepare()
    # Each child is the first process of a namespace; this process's own is gone back to after each.
    own = os.open("/proc/self/ns/pid", os.O_RDONLY)
    children: list[_Child] = []
    while True:
        poll = select.poll()
        poll.register(connection, select.POLLIN)
        for child in children:
            for number in child.descriptors():
                poll.register(number, select.POLLIN)
        ready = {number for number, _ in poll.poll(1000 * SAMPLE_SECONDS if children else None)}
        for child in children:
            child.look(ready)
        children = [child for child in children if not child.over]
        if connection.fileno() in ready:
            message, descriptors = wire.accept(connection, len(Streams._fields))
            if not message:
                return
            try:
                limits = json.loads(message)
            except ValueError:  # one request that is too long is no reason to give up all others
                for descriptor in descriptors:
                    os.close(descriptor)
                continue
            kernel.unshare(kernel.CLONE_NEWPID)
            children.append(_Child(limits, Streams(*descriptors)))
            kernel.setns(own, kernel.CLONE_NEWPID)


def _own_namespaces() -> None:
    """Go on in namespaces that this process may leave and enter as it likes: bubblewrap's it may not."""
    user, group = os.getuid(), os.getgid()
    kernel.unshare(kernel.CLONE_NEWUSER | kernel.CLONE_NEWPID | kernel.CLONE_NEWNS)
    for name, content in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "w", encoding="utf-8") as file:
            file.write(content)
    first = os.fork()
    if first:
        os._exit(os.waitstatus_to_exitcode(os.waitpid(first, 0)[1]) & 0xFF)
    kernel.mount("none", "/proc", "proc", kernel.MS_NOSUID | kernel.MS_NODEV)


class _Child:
    def __init__(self, limits: wire.LimitValues, streams: Streams) -> None:
        self._limits, self._control = limits, socket.socket(fileno=streams.control)
        self._standing, starting = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            _become(streams, starting)
        for number in (starting, *streams[1:]):
            os.close(number)
        self._exited = os.pidfd_open(self._pid)
        self._begin: float | None = None
        self._sampled = time.monotonic()
        self._deadline = self._sampled + START_SECONDS
        self._killed: str | None = None
        self._said, self._peak, self.over = b"", 0, False

    def descriptors(self) -> list[int]:
        """What is waited for."""
        return [
            self._exited,
            *([] if self._said else [self._standing]),
            *([] if self._killed else [self._control.fileno()]),
        ]

    def look(self, ready: set[int]) -> None:
        """See what has become of it.

        Args:
            ready: The descriptors on which something has happened.
        """
        now = time.monotonic()
        if self._standing in ready and not self._said:
            self._said = os.read(self._standing, 4096) or b"!it ended before it stood"
            if self._said == b"+":
                wall = self._limits["wall"]
                self._begin, self._deadline = now, float("inf") if wall is None else now + wall
        if self._exited in ready:
            self._report(now)
        elif self._killed is None:
            if self._control.fileno() in ready:
                self._kill("output" if self._control.recv(1) == b"o" else "stopped")
            elif now > self._deadline:
                self._kill("timeout")
            elif now > self._sampled + SAMPLE_SECONDS:
                self._sampled = now
                self._sample()

    def _sample(self) -> None:
        used = watch.use_of([self._pid])
        self._peak = max(self._peak, used.memory)
        if used.memory > self._limits["memory"] and watch.proportional([self._pid]) > self._limits["memory"]:
            self._kill("memory")
        elif used.cpu > self._limits["cpu"]:
            self._kill("cpu")

    def _kill(self, why: str) -> None:
        self._killed = why
        os.kill(self._pid, signal.SIGKILL)

    def _report(self, now: float) -> None:
        """Bury it, and tell how it ended."""
        _, status, spent = os.wait4(self._pid, 0)
        code = os.waitstatus_to_exitcode(status)
        report: wire.Report
        if self._begin is None:
            report = {"fault": self._said[1:].decode(errors="replace") or "it did not stand in time"}
        else:
            report = {
                "killed": self._killed,
                "exit": code if code >= 0 else 128 - code,
                "seconds": now - self._begin,
                "cpu": spent.ru_utime + spent.ru_stime,
                "memory": self._peak,
            }
        with contextlib.suppress(OSError):
            wire.send(self._control, report)
        self._control.close()
        os.close(self._standing)
        os.close(self._exited)
        self.over = True


def _become(streams: Streams, starting: int) -> None:
    try:
        request, blobs = wire.load(streams.request)
        streams.place(starting)
        WarmProgram(request, blobs, None).enter()
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.write(STARTED, f"!{error}".encode()[:4000])
    finally:
        os._exit(125)
