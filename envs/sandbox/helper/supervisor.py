"""The supervisor of one run: starts the program, watches it, kills what is left of it, and reports.

The process does nothing else, so that every orphan of the run becomes its child. It also watches the agent: when that
dies, even by SIGKILL, the run is ended and cleaned up.
"""

from __future__ import annotations

import os
import resource
import select
import time

from langgraph_reflexion.envs.sandbox.helper import kernel, protocol, usage
from langgraph_reflexion.envs.sandbox.helper.bubblewrap import Bubblewrap
from langgraph_reflexion.envs.sandbox.helper.kernel import suppress
from langgraph_reflexion.envs.sandbox.helper.landlock import BareHost, Landlock
from langgraph_reflexion.envs.sandbox.helper.launch import Plan, Streams

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

PLANS: dict[str, type[Plan]] = {
    "bubblewrap": Bubblewrap,
    "landlock": Landlock,
    "unsafe-bare-host": BareHost,
}
START_SECONDS = 60.0
"""Seconds after which a sandbox that is not ready is a fault."""
_SAMPLE_SECONDS = 0.02
_LONGEST_PAUSE = 0.1  # between two samples, however long one takes


def main(control: int, *descriptors: int) -> None:
    """Carry out one run, and report it; see `bootstrap`. It is ended when the agent dies, or closes `control`."""
    for number in (control, *descriptors):
        os.set_inheritable(number, False)
    kernel.handle(kernel.SIGCHLD, ignored=False)  # the agent may ignore it
    kernel.adopt_orphans()
    try:
        streams = Streams(*descriptors)
        report = _Run(protocol.load(streams.request), streams, [os.pidfd_open(os.getppid()), control]).report()
    except Exception as error:
        report = {"fault": f"{type(error).__name__}: {error}"}
    with suppress(OSError):
        os.write(control, repr(report).encode())


class _Run:
    def __init__(self, request: protocol.Request, streams: Streams, watched: Sequence[int]) -> None:
        self.limits, self.streams, self.watched = request.limits, streams, watched
        plan = PLANS[request.backend]
        self.plan = plan(request, kernel.own_user() if plan.changes_user else None)
        self.child = -1
        self.killed: str | None = None
        self.status: int | None = None
        self.cpu = 0.0
        self.ledger = usage.Ledger()

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
        return {"killed": self.killed, "exit": self._exit(), "seconds": seconds}

    def _start(self) -> tuple[bool, float]:
        """Start the child, and wait until the sandbox is ready. The clock of the run starts then."""
        self.fault = ""
        ready_pipe, starting = os.pipe()
        with open("/proc/self/oom_score_adj", "r+b", buffering=0) as file:
            # If memory runs out, the kernel ends the program first, not this process or the agent.
            before = file.read()
            file.write(b"1000")
            self.child = self.plan.start(self.streams, starting)
            file.write(before)
        os.close(starting)
        self.exited = os.pidfd_open(self.child)
        ready = select.select([ready_pipe, self.exited, *self.watched], [], [], START_SECONDS)[0]
        message = os.read(ready_pipe, 4096) if ready_pipe in ready else b""
        if not message and set(ready) & set(self.watched):
            self.fault = "it was stopped before it was ready"
        elif not ready:
            self.fault = f"it was not ready after {START_SECONDS:.0f} s"
        elif message[:1] == b"!":
            self.fault = message[1:].decode(errors="replace")
        os.close(ready_pipe)
        return message[:1] == b"+", time.monotonic()

    def _watch(self, begin: float) -> None:
        wall = self.limits.wall
        deadline = begin + wall if wall is not None else float("inf")
        pause = _SAMPLE_SECONDS
        while self.killed is None:
            left = deadline - time.monotonic()
            if left <= 0:
                self.killed = "timeout"
                return
            ready = select.select([self.exited, *self.watched], [], [], min(left, pause))[0]
            if self.exited in ready:
                return
            if ready:
                self.killed = "stopped"
                return
            sampling = time.monotonic()
            self.killed = self._sample()
            self._reap()
            # Sampling takes a twentieth of the time, but a program cannot make it rare by making it slow.
            pause = min(max(_SAMPLE_SECONDS, 20 * (time.monotonic() - sampling)), _LONGEST_PAUSE)

    def _sample(self) -> str | None:
        """Sample the whole tree, and return the limit that it has exceeded."""
        used = usage.use(os.getpid())
        reaped = resource.getrusage(resource.RUSAGE_CHILDREN)
        # The CPU time of an ended child counts for its parent only if that has waited for it.
        self.cpu = max(self.cpu, used.cpu + reaped.ru_utime + reaped.ru_stime, self.ledger.add(used.each))
        most = self.limits.memory
        # Proportional sizes are slow to read with large page tables, which grow meanwhile.
        if used.unshared > most or (used.memory > most and usage.proportional(used.places) > most):
            return "memory"
        if self.cpu > self.limits.cpu:
            return "cpu"
        if sum(usage.inodes(used.places, place) for place in self.plan.tmpfs) > self.limits.files:
            return "files"
        return None

    def _reap(self) -> None:
        """Reap ended orphans, which still count as processes."""
        for pid in usage.children(os.getpid()):
            if pid != self.child:
                with suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)

    def _end(self) -> None:
        while True:
            left = usage.children(os.getpid())
            if self.status is not None:
                self._halt()
            for pid in left:
                with suppress(ProcessLookupError):
                    os.kill(pid, kernel.SIGKILL)
            try:
                pid, status = os.waitpid(-1, 0)
            except ChildProcessError:
                return
            if pid == self.child:
                self.status = status

    def _halt(self) -> None:
        """Stop the whole tree before killing, so that no process can fork while others die."""
        stopped: set[int] = set()
        while fresh := set(usage.below(os.getpid())) - stopped:
            for pid in fresh:
                with suppress(ProcessLookupError):
                    os.kill(pid, kernel.SIGSTOP)
            stopped |= fresh

    def _exit(self) -> int:
        """Return the exit status as a shell does: 128 plus the signal's number if a signal ended the process."""
        code = 125 if self.status is None else os.waitstatus_to_exitcode(self.status)
        return code if code >= 0 else 128 - code
