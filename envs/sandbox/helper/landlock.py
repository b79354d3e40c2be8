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
    STDERR,
    STDOUT,
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

_CREATE = 444
_ADD_RULE = 445
_RESTRICT = 446

_EXECUTE = 1 << 0
_WRITE = 1 << 1
_READ = 1 << 2
_LIST = 1 << 3
_TRUNCATE = 1 << 14
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
    everything = _all_rights(known)
    attributes = _attributes(known, everything, network=network)
    rules = kernel.syscall("landlock_create_ruleset", _CREATE, attributes, len(attributes), 0)
    try:
        for path, access in _without(readable, hidden):
            _allow(rules, path, access)
        for path in _DEVICES:
            _allow(rules, path, _READ | _WRITE)
        # Only its own part of /proc: the programs that it starts do without.
        _allow(rules, f"/proc/{os.getpid()}/task", _LIST)
        for name in _PROC:
            _allow(rules, f"/proc/{os.getpid()}/{name}", _READ | _LIST)
        for path in writable:
            _allow(rules, path, everything)
        kernel.no_new_privileges()
        kernel.syscall("landlock_restrict_self", _RESTRICT, rules, 0)
    finally:
        os.close(rules)


def _all_rights(known: int) -> int:
    """Return all rights that are restricted, of those that a version of Landlock knows."""
    rights = 13
    if known >= 2:
        rights += 1  # moving to another folder
    if known >= 3:
        rights += 1  # truncating
    return (1 << rights) - 1


def _attributes(known: int, rights: int, *, network: bool) -> bytes:
    """Return the structure of what is restricted, as long as a version of Landlock expects it."""
    restricted = [rights]
    if known >= 4:
        connections = _TCP
        if network:
            connections = 0
        restricted.append(connections)
    if known >= 6:
        restricted.append(_SCOPES)
    return struct.pack(f"{len(restricted)}Q", *restricted)


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
        inside = [os.path.join(real, name) for name in os.listdir(real)]
        yield from _without(inside, hidden)


def _allow(rules: int, path: str, access: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # missing and unreachable paths need no permission
    try:
        # The kernel refuses rights on folders in a rule for a file.
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
        # The run's user has to reach its folder.
        if user is not None and not staging.reachable(above):
            above = "/tmp"
        staging.sweep(above)
        self.folder, _ = staging.make(above)  # this process holds the lock until it ends
        self.work = os.path.join(self.folder, "work")
        self.home = os.path.join(self.folder, "home")
        self.temporary = os.path.join(self.folder, "tmp")
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
            # The supervisor makes a fault of it.
            with kernel.suppress(OSError):
                os.write(STARTED, f"!{error}".encode()[:4000])
        finally:
            os._exit(125)

    def _enter(self) -> NoReturn:
        """Restrict this process and become the program."""
        self._prepare()
        others = 0
        if self.user is None:
            # A limit on processes counts all of the user.
            others = _processes_of(os.getuid())
        command = self.command(others)
        self.confine()
        self._write_files()
        os.execve(command[0], command, self.environment())

    def _prepare(self) -> None:
        os.setsid()
        folder = self.request.cwd or self.work
        if self.user is not None:
            readable, writable = self.reached()
            staging.stage(readable, writable, self.user)
            self._give_all(self.user)
        os.chdir(folder)
        if self.user is not None:
            kernel.become(self.user)
        # Only now, since a change of user resets it.
        kernel.die_with_parent()

    def _give_all(self, user: int) -> None:
        """Let the user own the run's folder and open its streams."""
        for root, _, names in os.walk(self.folder):
            os.chown(root, user, user)
            for name in names:
                os.chown(os.path.join(root, name), user, user)
        give(RESULT, user)
        # Streams of the caller keep their owner.
        if not self.request.inherit:
            give(STDOUT, user)
            give(STDERR, user)

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
        readable, writable = self.reached()
        writable.append(self.folder)
        restrict(readable, writable, request.hidden, network=request.network)
        code = seccomp.assemble(network=request.network, fork=request.fork, namespaces=False, unix=False)
        kernel.load_filter(code)

    def environment(self) -> dict[str, str]:
        """Return the program's whole environment."""
        environment = dict(ENVIRONMENT)
        environment["HOME"] = self.home
        environment["TMPDIR"] = self.temporary
        environment["GIT_CONFIG_NOSYSTEM"] = "1"  # git fails if it may not read the system's settings
        environment.update(self.request.env)
        return environment


class BareHost(Landlock):
    """A run on the bare host, with limits only."""

    changes_user = False

    def confine(self) -> None:
        pass


def _processes_of(user: int) -> int:
    """Return the number of all processes and threads of a user."""
    count = 0
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            if os.stat(f"/proc/{name}").st_uid == user:
                count += len(os.listdir(f"/proc/{name}/task"))
        except OSError:
            continue  # it has ended
    return count
