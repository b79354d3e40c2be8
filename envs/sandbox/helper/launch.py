"""The launch of a run: what every backend shares to turn a child into the program, limited and with its streams."""

from __future__ import annotations

import fcntl
import os
import resource
import stat
from abc import ABC, abstractmethod

from langgraph_reflexion.envs.sandbox.helper import kernel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from langgraph_reflexion.envs.sandbox.helper.protocol import Request
    from langgraph_reflexion.envs.sandbox.limits import Limits

STDIN, STDOUT, STDERR, RESULT, STARTED, COLLECTED = range(6)
"""The descriptors of a child. The program gets the first four."""
WORK, HOME = "/tmp/sandbox-work", "/tmp/sandbox-home"
"""Working directory and home of a program with its own file system."""
ENVIRONMENT = {"HOME": HOME, "TMPDIR": "/tmp", "USER": "sandbox", "LANG": "C.UTF-8"}
"""The environment of every program there."""


class Streams:
    """The descriptors of a run, in the order in which they are passed."""

    def __init__(self, request: int, stdin: int, stdout: int, stderr: int, result: int, collected: int) -> None:
        self.request = request
        self.standard = [stdin, stdout, stderr]
        self.own = [result, collected]

    def numbered(self, starting: int) -> dict[int, int]:
        """Map the numbers in the child to the present ones. `starting` reports that the sandbox is ready."""
        stdin, stdout, stderr = self.standard
        result, collected = self.own
        return {
            STDIN: stdin,
            STDOUT: stdout,
            STDERR: stderr,
            RESULT: result,
            STARTED: starting,
            COLLECTED: collected,
        }


class Plan(ABC):
    """One run in one backend."""

    tmpfs: tuple[str, ...] = ()
    """Folders inside whose files are counted from outside; empty if the kernel limits them or nothing can."""
    changes_user = True
    """Whether a run of root gets its own user."""

    def __init__(self, request: Request, user: int | None) -> None:
        self.request, self.user = request, user

    def reached(self) -> tuple[list[str], list[str]]:
        """Return the host paths that the run may read, and those that it may write to."""
        readable = list(self.request.exposed)
        written = []
        for source, _, writable, _ in self.request.binds:
            if writable:
                written.append(source)
            else:
                readable.append(source)
        return readable, written

    @abstractmethod
    def start(self, streams: Streams, starting: int) -> int:
        """Start the child, and return its process number."""

    def settle(self) -> None:  # noqa: B027 - most backends leave nothing behind
        """Clean up after every process has ended."""

    def command(self, others: int = 0) -> list[str]:
        """Return the command of the child: set the limits, report that the sandbox is ready, run the program.

        The limits are set inside, where they count for this sandbox alone, and before it is ready: without limits
        nothing runs. The shell that collects files has to start another process afterwards, no matter how many the
        program has left, so the number of processes is then limited for the program alone. `others` is the number
        of processes of the same user that are not part of the run.
        """
        collect = self.request.collect
        values = kernel_limits(self.request.limits, others)
        later = {}
        if collect:
            later["nproc"] = values.pop("nproc")
        command = limited(values)
        command += ["/bin/sh", "-c", script(collect), "sandbox"]
        if later:
            command += limited(later)
        command += self.request.argv
        return command


def renumber(wanted: dict[int, int]) -> None:
    """Move descriptors, given as new number from 0 on to old, and close all others."""
    # All are first moved above the new numbers, so that none overwrites another.
    above = len(wanted) + 64
    moved = {new: fcntl.fcntl(old, fcntl.F_DUPFD, above) for new, old in wanted.items()}
    for new, old in moved.items():
        os.dup2(old, new)
    # The program must not get the control socket nor any other descriptor of this process.
    os.closerange(len(wanted), 1 << 20)


def give(stream: int, user: int) -> None:
    """Let the user open `/dev/stdout` and the like if they are pipes."""
    if stat.S_ISFIFO(os.fstat(stream).st_mode):
        os.fchown(stream, user, user)


IGNORED = (kernel.SIGPIPE, kernel.SIGXFSZ, kernel.SIGCHLD, kernel.SIGINT, kernel.SIGTERM)
"""Signals that are ignored or handled here; a program must not inherit that."""


def ordinary_signals() -> None:
    """Reset the signals in `IGNORED`."""
    for number in IGNORED:
        kernel.set_disposition(number, ignored=False)


def kernel_limits(limits: Limits, others: int) -> dict[str, int]:
    """Return the kernel's limits of a process by their short names.

    The tree as a whole is watched from outside; these stop a process that is faster than the watch. `others` is the
    number of processes of the same user that are not part of the run.
    """
    return {
        "core": 0,
        "cpu": int(limits.cpu) + 2,
        "data": 2 * limits.memory,
        "fsize": limits.disk,
        "nofile": limits.descriptors,
        "nproc": limits.processes + 2 + others,
        "msgqueue": 0,
        "memlock": 1 << 16,
    }


def allowed(name: str, value: int) -> int:
    """Return a limit, or this process's own hard limit if that is lower."""
    _, hard = resource.getrlimit(getattr(resource, f"RLIMIT_{name.upper()}"))
    if hard == resource.RLIM_INFINITY:
        return value
    return min(value, hard)


def limited(values: dict[str, int]) -> list[str]:
    """Return the prefix of a command that runs the rest of it with limits."""
    prefix = ["/usr/bin/prlimit"]
    for name, value in values.items():
        most = allowed(name, value)
        prefix.append(f"--{name}={most}:{most}")
    prefix.append("--")
    return prefix


def script(collect: Sequence[str]) -> str:
    """Return a shell script that reports the start, runs its arguments, and collects files."""
    begin = f"printf + >&{STARTED}; exec {STARTED}>&-; "
    if not collect:
        return f'{begin} exec "$@" {COLLECTED}>&-'
    names = " ".join(_quoted(f"./{name}") for name in collect)
    # A hard link to a file that is already in the archive would have no content.
    pack = f"tar --hard-dereference -cf - {names} 2>/dev/null >&{COLLECTED} {RESULT}>&-"
    return f'{begin} "$@" {COLLECTED}>&-; status=$?; {pack}; exit $status'


def _quoted(word: str) -> str:
    # As `shlex.quote` does, whose import takes too long.
    inner = word.replace("'", "'\"'\"'")
    return f"'{inner}'"
