"""The supervisor of one run: starts the program, watches it, kills what is left of it, and reports.

The process is forked for the run and does nothing else, so that every orphan of the run becomes its child. It also
watches the agent: when that dies, even by SIGKILL, the run is ended and cleaned up.
"""

import contextlib
import os
import resource
import select
import signal
import socket
import time
from collections.abc import Sequence

from langgraph_reflexion.envs.sandbox.helper import identity, kernel, proc_usage, protocol
from langgraph_reflexion.envs.sandbox.helper.bubblewrap import Bubblewrap
from langgraph_reflexion.envs.sandbox.helper.container import Container
from langgraph_reflexion.envs.sandbox.helper.landlock import READY_UNLESS_FAULT, BareHost, Landlock
from langgraph_reflexion.envs.sandbox.helper.launch import Plan, Streams
from langgraph_reflexion.envs.sandbox.helper.program import WarmLandlock

PLANS: dict[str, type[Plan]] = {
    "bubblewrap": Bubblewrap,
    "landlock": Landlock,
    "unsafe-bare-host": BareHost,
    "docker": Container,
    "podman": Container,
    "warm-landlock": WarmLandlock,
}
START_SECONDS = 60.0
"""Seconds after which a sandbox that is not ready is a fault."""
SAMPLE_SECONDS = 0.02
_LONGEST_PAUSE = 0.1  # between two samples, however long one takes
_LINGER_SECONDS = 5.0  # for an agent that does not read its report


def supervise(streams: Streams, agents: Sequence[int]) -> protocol.Report:
    """Carry out one run, and report on the control connection. The end of an agent, a pidfd, ends the run."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    kernel.adopt_orphans()
    control = socket.socket(fileno=streams.control)
    report: protocol.Report
    attached = True
    try:
        request, blobs = protocol.load(streams.request)
        attached = request["role"] == "attached"
        report = _Run(request, blobs, streams, agents).report()
    except Exception as error:
        report = {"fault": f"{type(error).__name__}: {error}"}
    with contextlib.suppress(OSError):
        protocol.send(control, report)
        if not attached:
            _linger(control, streams)
    return report


def _linger(control: socket.socket, streams: Streams) -> None:
    """Wait until the agent has the report: closing with unread data in the socket would discard it."""
    for number in streams[2:]:
        os.close(number)  # the agent waits for their end
    control.shutdown(socket.SHUT_WR)
    control.settimeout(_LINGER_SECONDS)
    while control.recv(64):
        pass


class _Run:
    def __init__(
        self, request: protocol.Request, blobs: list[bytes], streams: Streams, agents: Sequence[int]
    ) -> None:
        self.request, self.limits, self.streams = request, request["limits"], streams
        user = identity.own_user() if PLANS[request["backend"]].changes_user else None
        self.plan = PLANS[request["backend"]](request, blobs, user)
        self.watched = [*agents, *([] if request["role"] == "attached" else [streams.control])]
        self.killed: str | None = None
        self.status: int | None = None
        self.peak = 0
        self.cpu = 0.0
        self.ledger = proc_usage.Ledger()

    def report(self) -> protocol.Report:
        try:
            started, begin = self._start()
            if started:
                self._watch(begin)
            seconds = time.monotonic() - begin
        finally:
            self._end()
            self.plan.settle()
        if not started:
            return {"fault": self.fault or f"it ended with status {self._exit()} before it was ready"}
        spent = resource.getrusage(resource.RUSAGE_CHILDREN)
        return {
            "killed": self.killed,
            "exit": self._exit(),
            "seconds": seconds,
            "cpu": max(self.cpu, spent.ru_utime + spent.ru_stime),
            "memory": self.peak,
        }

    def _start(self) -> tuple[bool, float]:
        """Start the child, and wait until the sandbox is ready. The clock of the run starts then."""
        self.fault = ""
        ready_pipe, starting = os.pipe()
        self.child = self.plan.start(self.streams, starting)
        os.close(starting)
        self.exited = os.pidfd_open(self.child)
        message = b""
        deadline = time.monotonic() + START_SECONDS
        while not message:
            ready = select.select(
                [ready_pipe, self.exited, *self.watched], [], [], max(0, deadline - time.monotonic())
            )[0]
            if ready_pipe in ready:
                message = os.read(ready_pipe, 4096)
                if message.startswith(READY_UNLESS_FAULT):
                    # Starting the program closes it.
                    message = message.removeprefix(READY_UNLESS_FAULT) or os.read(ready_pipe, 4096) or b"+"
            if not message:
                if set(ready) & set(self.watched):
                    self.fault = "it was stopped before it was ready"
                elif not ready:
                    self.fault = f"it was not ready after {START_SECONDS:.0f} s"
                break
        if message[:1] == b"!":
            self.fault = message[1:].decode(errors="replace")
        os.close(ready_pipe)
        return message[:1] == b"+", time.monotonic()

    def _watch(self, begin: float) -> None:
        """Wait until the program ends or has to be ended."""
        wall = self.limits["wall"]
        deadline = begin + wall if wall is not None else float("inf")
        pause = SAMPLE_SECONDS
        while self.killed is None:
            left = deadline - time.monotonic()
            if left <= 0:
                self.killed = "timeout"
                return
            ready = select.select([self.exited, *self.watched], [], [], min(left, pause))[0]
            if self.exited in ready:
                return
            if ready:
                self.killed = self._stop_reason(ready)
                return
            sampling = time.monotonic()
            self.killed = self._sample()
            self._reap()
            # Sampling takes a twentieth of the time, but a program cannot make it rare by making it slow.
            pause = min(max(SAMPLE_SECONDS, 20 * (time.monotonic() - sampling)), _LONGEST_PAUSE)

    def _stop_reason(self, ready: list[int]) -> str:
        """Return why to end the run: the agent reports too much output by a byte, or it has gone."""
        if self.streams.control in ready:
            with contextlib.suppress(OSError):
                if os.read(self.streams.control, 1) == b"o":
                    return "output"
        return "stopped"

    def _sample(self) -> str | None:
        """Sample the whole tree, and return the limit that it has exceeded."""
        if self.request["role"] == "server":
            return None
        used = proc_usage.use(os.getpid())
        reaped = resource.getrusage(resource.RUSAGE_CHILDREN)
        # The CPU time of an ended child counts for its parent only if that has waited for it.
        self.cpu = max(self.cpu, used.cpu + reaped.ru_utime + reaped.ru_stime, self.ledger.add(used.each))
        self.peak = max(self.peak, used.memory)
        most = self.limits["memory"]
        # Proportional sizes are slow to read with large page tables, which grow meanwhile.
        if used.unshared > most or (used.memory > most and proc_usage.proportional(used.pids) > most):
            return "memory"
        if self.cpu > self.limits["cpu"]:
            return "cpu"
        if sum(proc_usage.inodes(used.pids, place) for place in self.plan.tmpfs) > self.limits["files"]:
            return "files"
        return None

    def _reap(self) -> None:
        """Reap ended orphans, which still count as processes."""
        for pid in proc_usage.children(os.getpid()):
            if pid != self.child:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)

    def _end(self) -> None:
        """Kill all processes that are left, and wait until they are gone."""
        first = True
        while True:
            left = proc_usage.children(os.getpid())
            if not first:
                self._halt()
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            try:
                pid, status = os.waitpid(-1, 0)
            except ChildProcessError:
                return
            if pid == self.child:
                self.status = status
                first = False

    def _halt(self) -> None:
        """Stop the whole tree before killing, so that no process can fork while others die."""
        stopped: set[int] = set()
        while fresh := set(proc_usage.below(os.getpid())) - stopped:
            for pid in fresh:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGSTOP)
            stopped |= fresh

    def _exit(self) -> int:
        return 125 if self.status is None else protocol.exit_code(self.status)
