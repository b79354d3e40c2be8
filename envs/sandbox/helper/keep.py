"""One run, kept by one process: it starts the program, watches it, ends whatever is left of it, and reports.

The process is forked for the run and has nothing else to do, so that every orphan of the run becomes its child. It
also watches the agent: when that dies, even by SIGKILL, the run is ended and cleared away.
"""

import contextlib
import os
import resource
import select
import signal
import socket
import time
from collections.abc import Sequence

from langgraph_reflexion.envs.sandbox.helper import identity, kernel, watch, wire
from langgraph_reflexion.envs.sandbox.helper.bubblewrap import Bubblewrap
from langgraph_reflexion.envs.sandbox.helper.confined import STANDS_IF_NO_MORE, BareHost, Landlock
from langgraph_reflexion.envs.sandbox.helper.container import Container
from langgraph_reflexion.envs.sandbox.helper.plan import Plan, Streams
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
"""A sandbox that does not stand by then is a fault."""
SAMPLE_SECONDS = 0.02
_LONGEST_PAUSE = 0.1  # between two looks, however long one takes
_LINGER_SECONDS = 5.0  # for an agent that does not take its report


def keep(streams: Streams, agents: Sequence[int]) -> wire.Report:
    """Carry out one run and report it on the control connection.

    Args:
        streams: What the program gets, and the control connection.
        agents: Descriptors of processes; when one of them has died, the run is ended.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    kernel.adopt_orphans()
    control = socket.socket(fileno=streams.control)
    report: wire.Report
    attached = True
    try:
        request, blobs = wire.load(streams.request)
        attached = request["role"] == "attached"
        report = _Run(request, blobs, streams, agents).report()
    except Exception as error:
        report = {"fault": f"{type(error).__name__}: {error}"}
    with contextlib.suppress(OSError):
        wire.send(control, report)
        if not attached:
            _linger(control, streams)
    return report


def _linger(control: socket.socket, streams: Streams) -> None:
    """Wait until the agent has the report: what it still sends would, unread, take the report from it."""
    for number in streams[2:]:
        os.close(number)  # the agent waits for their ends
    control.shutdown(socket.SHUT_WR)
    control.settimeout(_LINGER_SECONDS)
    while control.recv(64):
        pass


class _Run:
    def __init__(self, request: wire.Request, blobs: list[bytes], streams: Streams, agents: Sequence[int]) -> None:
        self.request, self.limits, self.streams = request, request["limits"], streams
        user = identity.own_user() if PLANS[request["backend"]].changes_user else None
        self.plan = PLANS[request["backend"]](request, blobs, user)
        self.watched = [*agents, *([] if request["role"] == "attached" else [streams.control])]
        self.killed: str | None = None
        self.status: int | None = None
        self.peak = 0
        self.cpu = 0.0
        self.ledger = watch.Ledger()

    def report(self) -> wire.Report:
        try:
            started, begin = self._start()
            if started:
                self._watch(begin)
            seconds = time.monotonic() - begin
        finally:
            self._end()
            self.plan.settle()
        if not started:
            return {"fault": self.fault or f"it ended with status {self._exit()} before it stood"}
        spent = resource.getrusage(resource.RUSAGE_CHILDREN)
        return {
            "killed": self.killed,
            "exit": self._exit(),
            "seconds": seconds,
            "cpu": max(self.cpu, spent.ru_utime + spent.ru_stime),
            "memory": self.peak,
        }

    def _start(self) -> tuple[bool, float]:
        """Start the child and wait until it says that the sandbox stands. The clock of the run begins then."""
        self.fault = ""
        standing, starting = os.pipe()
        self.child = self.plan.start(self.streams, starting)
        os.close(starting)
        self.exited = os.pidfd_open(self.child)
        said = b""
        deadline = time.monotonic() + START_SECONDS
        while not said:
            ready = select.select(
                [standing, self.exited, *self.watched], [], [], max(0, deadline - time.monotonic())
            )[0]
            if standing in ready:
                said = os.read(standing, 4096)
                if said.startswith(STANDS_IF_NO_MORE):
                    # The start of the program closes it, if nothing else does.
                    said = said.removeprefix(STANDS_IF_NO_MORE) or os.read(standing, 4096) or b"+"
            if not said:
                if set(ready) & set(self.watched):
                    self.fault = "it was stopped before it stood"
                elif not ready:
                    self.fault = f"it did not stand after {START_SECONDS:.0f} s"
                break
        if said[:1] == b"!":
            self.fault = said[1:].decode(errors="replace")
        os.close(standing)
        return said[:1] == b"+", time.monotonic()

    def _watch(self, begin: float) -> None:
        """Wait until the program ends, or has to be ended."""
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
                self.killed = self._told(ready)
                return
            sampling = time.monotonic()
            self.killed = self._sample()
            self._reap()
            # Looking costs a twentieth of the time, unless a program makes it slow to be seen less often.
            pause = min(max(SAMPLE_SECONDS, 20 * (time.monotonic() - sampling)), _LONGEST_PAUSE)

    def _told(self, ready: list[int]) -> str:
        """Why the agent wants it ended: a byte says that there is too much output, else the agent has gone."""
        if self.streams.control in ready:
            with contextlib.suppress(OSError):
                if os.read(self.streams.control, 1) == b"o":
                    return "output"
        return "stopped"

    def _sample(self) -> str | None:
        """Look at the whole tree. Returns the name of the limit that it has passed."""
        if self.request["role"] == "server":
            return None
        used = watch.use(os.getpid())
        buried = resource.getrusage(resource.RUSAGE_CHILDREN)
        # What an ended child has used counts with its parent only where that has waited for it.
        self.cpu = max(self.cpu, used.cpu + buried.ru_utime + buried.ru_stime, self.ledger.add(used.each))
        self.peak = max(self.peak, used.memory)
        most = self.limits["memory"]
        # To ask for proportions takes long where page tables are large, and they grow meanwhile.
        if used.unshared > most or (used.memory > most and watch.proportional(used.pids) > most):
            return "memory"
        if self.cpu > self.limits["cpu"]:
            return "cpu"
        if sum(watch.inodes(used.pids, place) for place in self.plan.tmpfs) > self.limits["files"]:
            return "files"
        return None

    def _reap(self) -> None:
        """Bury orphans that have ended, as they still count as processes."""
        for pid in watch.children(os.getpid()):
            if pid != self.child:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)

    def _end(self) -> None:
        """Kill all that is left, and wait until it is gone."""
        first = True
        while True:
            left = watch.children(os.getpid())
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
        """Stop every process of the tree before killing any, so that none can fork while the others die."""
        stopped: set[int] = set()
        while fresh := set(watch.below(os.getpid())) - stopped:
            for pid in fresh:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGSTOP)
            stopped |= fresh

    def _exit(self) -> int:
        """The status as a shell gives it: 128 and the signal's number where a signal ended it."""
        if self.status is None:
            return 125
        code = os.waitstatus_to_exitcode(self.status)
        return code if code >= 0 else 128 - code
