"""Landlock: a program that restricts itself, by path and by system call, before it starts. Needs no privileges.

It shares the host's kernel and process numbers, and has no disk quota: weaker than namespaces, as the user is warned.
The bare host is the same without restrictions.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct

from langgraph_reflexion.envs.sandbox.helper import kernel, seccomp, staging
from langgraph_reflexion.envs.sandbox.helper.launch import (
    ENVIRONMENT,
    RESULT,
    STARTED,
    Plan,
    Streams,
    give,
    ordinary_signals,
    renumber,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import NoReturn

    from langgraph_reflexion.envs.sandbox.helper.protocol import Request

_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446

_EXECUTE, _WRITE, _READ, _LIST, _TRUNCATE = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 14
_ON_FILES = _EXECUTE | _WRITE | _READ | _TRUNCATE
_READING = _EXECUTE | _READ | _LIST
_TCP = 0b11  # bind and connect, since the fourth version
_SCOPES = 0b11  # abstract sockets and signals, since the sixth
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
# Not `net`, which shows the host's connections and sockets, nor `mountinfo`.
_PROC = ("auxv", "cmdline", "comm", "environ", "fd", "fdinfo", "limits", "maps", "smaps", "stat", "statm", "status")


def version() -> int:
    """Return the kernel's version of Landlock; raise OSError if it has none."""
    return kernel.syscall("landlock_create_ruleset", _CREATE, None, 0, 1)


def restrict(readable: Iterable[str], writable: Iterable[str], hidden: Sequence[str], *, network: bool) -> None:
    """Restrict this process and its children.

    They may read and execute some paths that exist, except those below `hidden`, and do anything in others.
    """
    known = version()
    everything = (1 << (13 if known < 2 else 14 if known < 3 else 15)) - 1
    handled_network = 0 if network or known < 4 else _TCP
    attributes = struct.pack("QQQ", everything, handled_network, _SCOPES if known >= 6 else 0)
    size = 24 if known >= 6 else 16 if known >= 4 else 8
    rules = kernel.syscall("landlock_create_ruleset", _CREATE, attributes, size, 0)
    try:
        for path, access in _without(readable, hidden):
            _allow(rules, path, access)
        for path in _DEVICES:
            _allow(rules, path, _READ | _WRITE)
        _allow(rules, f"/proc/{os.getpid()}/task", _LIST)
        for name in _PROC:
            _allow(rules, f"/proc/{os.getpid()}/{name}", _READ | _LIST)
        for path in writable:
            _allow(rules, path, everything)
        kernel.no_new_privileges()
        kernel.syscall("landlock_restrict_self", _RESTRICT, rules, 0)
    finally:
        os.close(rules)


def _without(readable: Iterable[str], hidden: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Yield paths with the access to them. A rule covers all below it: a hidden path divides those above it."""
    for path in readable:
        real = os.path.realpath(path)
        if real in hidden:
            continue
        if not any(each.startswith(f"{real}/") for each in hidden):
            yield path, _READING
            continue
        yield path, _LIST
        yield from _without((os.path.join(real, name) for name in os.listdir(real)), hidden)


def _allow(rules: int, path: str, access: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # missing and unreachable paths need no permission
    try:
        if not stat.S_ISDIR(os.fstat(place).st_mode):
            access &= _ON_FILES
        rule = ctypes.create_string_buffer(struct.pack("=Qi", access, place))
        kernel.syscall("landlock_add_rule", _ADD_RULE, rules, 1, rule, 0)
    finally:
        os.close(place)


class Landlock(Plan):
    """A run behind Landlock and a system call filter, with its own folder on the host's disk."""

    def __init__(self, request: Request, user: int | None) -> None:
        super().__init__(request, user)
        above = os.environ["TMPDIR"]
        if user is not None and not staging.reachable(above):
            above = "/tmp"
        staging.sweep(above)
        self.folder, _ = staging.make(above)  # this process holds the lock until it ends
        self.work, self.home, self.temporary = (os.path.join(self.folder, name) for name in ("work", "home", "tmp"))
        for folder in (self.work, self.home, self.temporary):
            os.mkdir(folder)

    def settle(self) -> None:
        staging.remove(self.folder)

    def start(self, streams: Streams, starting: int) -> int:
        child = os.fork()
        if child:
            return child
        try:
            renumber(streams.numbered(starting))
            ordinary_signals()
            self._enter()
        except BaseException as error:
            with kernel.suppress(OSError):
                os.write(STARTED, f"!{error}".encode()[:4000])
        finally:
            os._exit(125)

    def _enter(self) -> NoReturn:
        """Restrict this process and become the program."""
        self._prepare()
        # A limit on processes counts all of the user.
        command = self.command(others=0 if self.user is not None else _processes_of(os.getuid()))
        self.confine()
        self._write_files()
        os.execve(command[0], command, self.environment())

    def _prepare(self) -> None:
        request = self.request
        os.setsid()
        folder = request.cwd or self.work
        if self.user is not None:
            staging.stage(*self.reached(), self.user)
            for root, _, names in os.walk(self.folder):
                for each in (root, *(os.path.join(root, name) for name in names)):
                    os.chown(each, self.user, self.user)
            # Streams of the caller keep their owner.
            for stream in (RESULT,) if request.inherit else range(1, RESULT + 1):
                give(stream, self.user)
        os.chdir(folder)
        if self.user is not None:
            kernel.become(self.user)
        kernel.die_with_parent()

    def _write_files(self) -> None:
        """Write the files, already restricted: a link left by an earlier run leads nowhere."""
        for name, blob in self.request.files.items():
            os.makedirs(os.path.dirname(os.path.abspath(name)), exist_ok=True)
            with open(name, "wb") as file:
                file.write(blob)
            os.chmod(name, 0o755)

    def confine(self) -> None:
        """Apply the restrictions."""
        request = self.request
        readable, written = self.reached()
        restrict(readable, [self.folder, *written], request.hidden, network=request.network)
        kernel.load_filter(seccomp.assemble(network=request.network, fork=request.fork, namespaces=False, unix=False))

    def environment(self) -> dict[str, str]:
        """Return the program's whole environment."""
        own = {"HOME": self.home, "TMPDIR": self.temporary}
        own["GIT_CONFIG_NOSYSTEM"] = "1"  # git fails if it may not read the system's settings
        return {**ENVIRONMENT, **own, **self.request.env}


class BareHost(Landlock):
    """A run on the bare host, with limits only."""

    changes_user = False

    def confine(self) -> None:
        pass


def _processes_of(user: int) -> int:
    count = 0
    for number in os.listdir("/proc"):
        if number.isdigit():
            try:
                if os.stat(f"/proc/{number}").st_uid == user:
                    count += len(os.listdir(f"/proc/{number}/task"))
            except OSError:
                continue  # it has ended
    return count
