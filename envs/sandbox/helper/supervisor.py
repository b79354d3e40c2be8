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
    kernel.set_disposition(kernel.SIGCHLD, ignored=False)  # the agent may ignore it
    kernel.adopt_orphans()
    try:
        streams = Streams(*descriptors)
        request = protocol.load(streams.request)
        agent = os.pidfd_open(os.getppid())
        report = _Run(request, streams, [agent, control]).report()
    except Exception as error:
        report = {"fault": f"{type(error).__name__}: {error}"}
    with suppress(OSError):
        os.write(control, repr(report).encode())


class _Run:
    def __init__(self, request: protocol.Request, streams: Streams, watched: Sequence[int]) -> None:
        self.limits = request.limits
        self.streams = streams
        self.watched = watched
        plan = PLANS[request.backend]
        user = None
        if plan.changes_user:
            user = kernel.own_user()
        self.plan = plan(request, user)
        self.child = -1
        self.fault = ""
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
            fault = self.fault or f"it ended with status {self._exit()} before it was ready"
            return {"fault": fault}
        return {"killed": self.killed, "exit": self._exit(), "seconds": seconds}

    def _start(self) -> tuple[bool, float]:
        """Start the child, and wait until the sandbox is ready. The clock of the run starts then."""
        ready_pipe, starting = os.pipe()
        self._spawn(starting)
        # If the child ends, nobody can write any more, and reading ends as well.
        os.close(starting)
        self.exited = os.pidfd_open(self.child)
        ready, _, _ = select.select([ready_pipe, self.exited, *self.watched], [], [], START_SECONDS)
        message = b""
        if ready_pipe in ready:
            message = os.read(ready_pipe, 4096)
        os.close(ready_pipe)
        self.fault = self._why_not(ready, message)
        return message[:1] == b"+", time.monotonic()

    def _spawn(self, starting: int) -> None:
        with open("/proc/self/oom_score_adj", "r+b", buffering=0) as file:
            # If memory runs out, the kernel ends the program first, not this process or the agent.
            before = file.read()
            file.write(b"1000")
            self.child = self.plan.start(self.streams, starting)
            file.write(before)

    def _why_not(self, ready: Sequence[int], message: bytes) -> str:
        """Return why the sandbox is not ready, or "" if it is or if its exit status tells.

        Args:
            ready: The descriptors that had something to read.
            message: What the child wrote.
        """
        if not message and set(ready) & set(self.watched):
            return "it was stopped before it was ready"
        if not ready:
            return f"it was not ready after {START_SECONDS:.0f} s"
        if message[:1] == b"!":
            return message[1:].decode(errors="replace")
        return ""

    def _watch(self, begin: float) -> None:
        """Wait until the child has ended, the agent wants it to end, or a limit is exceeded."""
        deadline = float("inf")
        if self.limits.wall is not None:
            deadline = begin + self.limits.wall
        pause = _SAMPLE_SECONDS
        while self.killed is None:
            left = deadline - time.monotonic()
            if left <= 0:
                self.killed = "timeout"
                return
            ready, _, _ = select.select([self.exited, *self.watched], [], [], min(left, pause))
            if self.exited in ready:
                return
            if ready:
                self.killed = "stopped"
                return
            sampling = time.monotonic()
            self.killed = self._sample()
            self._reap()
            sampled = time.monotonic() - sampling
            # Sampling takes a twentieth of the time, but a program cannot make it rare by making it slow.
            pause = max(_SAMPLE_SECONDS, 20 * sampled)
            pause = min(pause, _LONGEST_PAUSE)

    def _sample(self) -> str | None:
        """Sample the whole tree, and return the limit that it has exceeded."""
        used = usage.use(os.getpid())
        reaped = resource.getrusage(resource.RUSAGE_CHILDREN)
        waited_for = used.cpu + reaped.ru_utime + reaped.ru_stime
        # The CPU time of an ended child counts for its parent only if that has waited for it.
        seen = self.ledger.add(used.each)
        self.cpu = max(self.cpu, waited_for, seen)
        if self._exceeds_memory(used):
            return "memory"
        if self.cpu > self.limits.cpu:
            return "cpu"
        files = sum(usage.inodes(used.places, folder) for folder in self.plan.tmpfs)
        if files > self.limits.files:
            return "files"
        return None

    def _exceeds_memory(self, used: usage.Use) -> bool:
        most = self.limits.memory
        if used.unshared > most:
            return True
        if used.memory <= most:
            return False
        # Proportional sizes are slow to read with large page tables, which grow meanwhile.
        return usage.proportional(used.places) > most

    def _reap(self) -> None:
        """Reap ended orphans, which still count as processes."""
        for pid in usage.children(os.getpid()):
            if pid == self.child:
                continue
            with suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)

    def _end(self) -> None:
        """Kill and reap children until none is left: what a child leaves behind becomes one."""
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
        while True:
            fresh = set(usage.below(os.getpid())) - stopped
            if not fresh:
                return
            for pid in fresh:
                with suppress(ProcessLookupError):
                    os.kill(pid, kernel.SIGSTOP)
            stopped |= fresh

    def _exit(self) -> int:
        """Return the exit status as a shell does: 128 plus the signal's number if a signal ended the process."""
        if self.status is None:
            return 125
        code = os.waitstatus_to_exitcode(self.status)
        if code < 0:
            return 128 - code
        return code
