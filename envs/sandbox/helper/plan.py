"""What a backend has to say about a run: how the child becomes the program, and what is left to clear away."""

import fcntl
import os
import resource
import signal
import stat
from abc import ABC, abstractmethod
from typing import NamedTuple, NoReturn

from langgraph_reflexion.envs.sandbox.helper.wire import LimitValues, Request

STDIN, STDOUT, STDERR, RESULT, STARTED, COLLECTED = range(6)
"""The descriptors that a backend starts with. The program has the first four."""
WORK, HOME = "/tmp/sandbox-work", "/tmp/sandbox-home"
"""Where a program begins, and its home, where it has a file system of its own."""
ENVIRONMENT = {"HOME": HOME, "TMPDIR": "/tmp", "USER": "sandbox", "LANG": "C.UTF-8"}
"""What every program finds in its environment there."""


class Streams(NamedTuple):
    """The descriptors that come with a run, in the order in which they are sent."""

    control: int
    request: int
    stdin: int
    stdout: int
    stderr: int
    result: int
    collected: int

    def numbered(self, starting: int) -> dict[int, int]:
        """The number that each is to have in the child, and the one that it has."""
        return dict(enumerate([self.stdin, self.stdout, self.stderr, self.result, starting, self.collected]))

    def place(self, starting: int) -> None:
        """In the child: move them to where a plan expects them.

        Args:
            starting: The descriptor that says when the sandbox stands.
        """
        held = {new: _move(old, COLLECTED + 10) for new, old in self.numbered(starting).items()}
        for new, old in held.items():
            os.dup2(old, new)
            os.close(old)


class Plan(ABC):
    """One run, by one backend.

    Attributes:
        tmpfs: Folders inside whose files are counted from outside; empty where the kernel bounds them or nothing can.
        changes_user: Whether root's runs become a user of their own.
    """

    tmpfs: tuple[str, ...] = ()
    changes_user = True

    def __init__(self, request: Request, blobs: list[bytes], user: int | None) -> None:
        self.request, self.blobs, self.user = request, blobs, user

    def reached(self) -> tuple[list[str], list[str]]:
        """The host's paths that the run may read, and those that it may write to."""
        binds = self.request["binds"]
        read = [source for source, _, writable in binds if not writable]
        return [*self.request["visible"], *read], [source for source, _, writable in binds if writable]

    @abstractmethod
    def start(self, streams: Streams, starting: int) -> int:
        """Start the child. Returns its number.

        Args:
            streams: What it gets.
            starting: The descriptor that says when the sandbox stands.
        """

    def settle(self) -> None:  # noqa: B027 - most plans leave nothing behind
        """Clear away what is left, after every process has ended."""


class ForkedPlan(Plan):
    """A run that begins in a fork of the process that keeps it."""

    @abstractmethod
    def enter(self) -> NoReturn:
        """Become the program. Writes `+` to `STARTED` when the sandbox stands.

        Raises:
            OSError: the sandbox could not be made.
        """

    def start(self, streams: Streams, starting: int) -> int:
        """Fork the child."""
        child = os.fork()
        if child:
            return child
        try:
            streams.place(starting)
            self.enter()
        except BaseException as error:
            os.write(STARTED, f"!{error}".encode()[:4000])
        finally:
            os._exit(125)


def renumber(wanted: dict[int, int]) -> None:
    """Move descriptors to the numbers that the program knows them by, and close all others for good.

    Args:
        wanted: New number to old.
    """
    above = max(wanted) + 64
    held = {new: _move(old, above) for new, old in wanted.items()}
    for new, old in held.items():
        os.dup2(old, new)
    previous = -1
    for number in [*sorted(wanted), 1 << 20]:
        if number > previous + 1:  # an empty range closes everything in some versions of Python
            os.closerange(previous + 1, number)
        previous = number


def _move(number: int, above: int) -> int:
    return fcntl.fcntl(number, fcntl.F_DUPFD, above)


def give(stream: int, user: int) -> None:
    """Let the user open `/dev/stdout` and its like, where they are pipes."""
    if stat.S_ISFIFO(os.fstat(stream).st_mode):
        os.fchown(stream, user, user)


IGNORED = (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD, signal.SIGINT, signal.SIGTERM)
"""Signals that are ignored or handled here, which a program must not inherit."""


def ordinary_signals() -> None:
    """Let signals do what they do."""
    for number in IGNORED:
        signal.signal(number, signal.SIG_DFL)


def kernel_limits(limits: LimitValues) -> dict[str, int]:
    """The limits as the kernel takes them for one process, by their short names.

    The tree as a whole is watched from outside; these hold each process where the watch comes too late.
    """
    return {
        "core": 0,
        "cpu": int(limits["cpu"]) + 2,
        "data": 2 * limits["memory"],
        "fsize": limits["disk"],
        "nofile": limits["descriptors"],
        "nproc": limits["processes"] + 2,
        "msgqueue": 0,
    }


def allowed(name: str, value: int) -> int:
    """A limit, by its short name, as far as this process's own leaves room."""
    hard = resource.getrlimit(getattr(resource, f"RLIMIT_{name.upper()}"))[1]
    return value if hard == resource.RLIM_INFINITY else min(value, hard)


def limit(limits: LimitValues, *, others: int = 0) -> None:
    """Limit this process.

    Args:
        limits: The run's.
        others: So many processes that do not belong to the run count with it.
    """
    for name, value in kernel_limits(limits).items():
        value = allowed(name, value + (others if name == "nproc" else 0))
        resource.setrlimit(getattr(resource, f"RLIMIT_{name.upper()}"), (value, value))
