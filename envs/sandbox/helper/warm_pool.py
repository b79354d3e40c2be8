"""The warm pool: Python programs in forked children of a preloaded interpreter, all watched from one loop.

A fork is most of the cost of a warm program, so no supervisor process is in between: children that cannot start
processes leave no tree behind. This process learns only the limits of a run; the child reads the program.
"""

import contextlib
import json
import os
import select
import signal
import socket
import time
from typing import NoReturn

from langgraph_reflexion.envs.sandbox.helper import kernel, proc_usage, protocol
from langgraph_reflexion.envs.sandbox.helper.launch import Streams, fork_child
from langgraph_reflexion.envs.sandbox.helper.program import WarmProgram, prepare
from langgraph_reflexion.envs.sandbox.helper.supervisor import SAMPLE_SECONDS, START_SECONDS


def run_pool(connection: socket.socket) -> None:
    """Serve until the agent closes the connection, on which a message is a run's limits as JSON, with descriptors."""
    _own_namespaces()
    prepare()
    # Each child is the first process of a new namespace; afterwards this process returns to its own.
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
            message, descriptors = protocol.accept(connection, len(Streams._fields))
            if not message:
                return
            try:
                limits = json.loads(message)
            except ValueError:  # an oversized request does not end the other runs
                for descriptor in descriptors:
                    os.close(descriptor)
                continue
            kernel.unshare(kernel.CLONE_NEWPID)
            children.append(_Child(limits, Streams(*descriptors)))
            kernel.setns(own, kernel.CLONE_NEWPID)


def _own_namespaces() -> None:
    """Continue in new namespaces, which this process may leave and enter, unlike bubblewrap's."""
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
    def __init__(self, limits: protocol.LimitValues, streams: Streams) -> None:
        self._limits, self._control = limits, socket.socket(fileno=streams.control)
        self._ready, starting = os.pipe()

        def become() -> NoReturn:
            request, blobs = protocol.load(streams.request)
            streams.place(starting)
            WarmProgram(request, blobs, None).enter()

        self._pid = fork_child(become)
        for number in (starting, *streams[1:]):
            os.close(number)
        self._exited = os.pidfd_open(self._pid)
        self._begin: float | None = None
        self._sampled = time.monotonic()
        self._deadline = self._sampled + START_SECONDS
        self._killed: str | None = None
        self._message, self._peak, self.over = b"", 0, False

    def descriptors(self) -> list[int]:
        """Return the descriptors to poll."""
        return [
            self._exited,
            *([] if self._message else [self._ready]),
            *([] if self._killed else [self._control.fileno()]),
        ]

    def look(self, ready: set[int]) -> None:
        """Handle what has happened, given the descriptors that are ready."""
        now = time.monotonic()
        if self._ready in ready and not self._message:
            self._message = os.read(self._ready, 4096) or b"!it ended before it was ready"
            if self._message == b"+":
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
        used = proc_usage.use_of([self._pid])
        self._peak = max(self._peak, used.memory)
        if used.memory > self._limits["memory"] and proc_usage.proportional([self._pid]) > self._limits["memory"]:
            self._kill("memory")
        elif used.cpu > self._limits["cpu"]:
            self._kill("cpu")

    def _kill(self, why: str) -> None:
        self._killed = why
        os.kill(self._pid, signal.SIGKILL)

    def _report(self, now: float) -> None:
        """Reap the child, and report how it ended."""
        _, status, spent = os.wait4(self._pid, 0)
        report: protocol.Report
        if self._begin is None:
            report = {"fault": self._message[1:].decode(errors="replace") or "it was not ready in time"}
        else:
            report = {
                "killed": self._killed,
                "exit": protocol.exit_code(status),
                "seconds": now - self._begin,
                "cpu": spent.ru_utime + spent.ru_stime,
                "memory": self._peak,
            }
        with contextlib.suppress(OSError):
            protocol.send(self._control, report)
        self._control.close()
        os.close(self._ready)
        os.close(self._exited)
        self.over = True
