"""bubblewrap: new namespaces, and a root file system assembled from read-only mounts."""

from __future__ import annotations

import fcntl
import os

from langgraph_reflexion.envs.sandbox.helper import kernel, protocol, seccomp, staging
from langgraph_reflexion.envs.sandbox.helper.hooks import Guard
from langgraph_reflexion.envs.sandbox.helper.launch import (
    COLLECTED,
    ENVIRONMENT,
    HOME,
    IGNORED,
    WORK,
    Plan,
    Streams,
    give,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_FIRST = COLLECTED + 1
USER = 1000
_SHARED_MEMORY = 64 << 20
_PASSWD = f"root:x:0:0::/:/bin/false\nsandbox:x:{USER}:{USER}::{HOME}:/bin/sh\n"
_GROUP = f"root:x:0:\nsandbox:x:{USER}:\n"
_HOSTS = "127.0.0.1 localhost\n::1 localhost\n"


class Bubblewrap(Plan):
    """A run in bubblewrap."""

    tmpfs = ("/tmp", "/dev/shm")
    guards: tuple[Guard, ...] = ()

    def start(self, streams: Streams, starting: int) -> int:
        """Stage the paths that only root reaches, become the run's user, and spawn bubblewrap."""
        if self.user is not None:
            self._become(self.user, streams)
        self._guard()
        held = self._descriptors(streams, starting)
        # All are first moved above the numbers that they get in the child, so that none overwrites another.
        above = _FIRST + len(held)
        moved = {}
        for new, old in held.items():
            moved[new] = fcntl.fcntl(old, fcntl.F_DUPFD_CLOEXEC, above)
        try:
            return self._spawn(moved)
        finally:
            for number in moved.values():
                os.close(number)
            for new, old in held.items():
                if new > COLLECTED:
                    os.close(old)

    def settle(self) -> None:
        for guard in self.guards:
            guard.release()

    def _become(self, user: int, streams: Streams) -> None:
        readable, writable = self.reached()
        staging.stage(readable, writable, user)
        # With `inherit`, standard output and error belong to the caller.
        if not self.request.inherit:
            for stream in streams.standard[1:]:
                give(stream, user)
        for stream in streams.own:
            give(stream, user)
        kernel.become(user)

    def _guard(self) -> None:
        guards = []
        for source, target, _, guarded in self.request.binds:
            if guarded:
                guards.append(Guard(source, target))
        self.guards = tuple(guards)

    def _descriptors(self, streams: Streams, starting: int) -> dict[int, int]:
        """Map the numbers of the descriptors in the child to the present ones: streams, options, contents."""
        arguments, contents = self.arguments(_FIRST + 1)
        # In a file, since they may be longer than a command line can be.
        options = b"\0".join(map(os.fsencode, arguments))
        held = streams.numbered(starting)
        for number, content in enumerate([options, *contents], _FIRST):
            held[number] = protocol.memory_file(content)
        return held

    def _spawn(self, descriptors: dict[int, int]) -> int:
        command = ["bwrap", "--args", str(_FIRST), "--"]
        command += self.command()
        actions = [(os.POSIX_SPAWN_DUP2, old, new) for new, old in descriptors.items()]
        return os.posix_spawn(
            self.request.tool,
            command,
            {"PATH": "/usr/bin:/bin"},
            file_actions=actions,
            setsigdef=IGNORED,
        )

    def arguments(self, first: int) -> tuple[list[str], list[bytes]]:
        """Return the options, and the contents of the descriptors that they refer to, numbered from `first`."""
        request = self.request
        options = _Options(first)
        self._isolate(options)
        self._mount_memory(options)
        self._expose(options)
        self._hide(options)
        _write_etc(options)
        self._bind(options)
        for name, blob in request.files.items():
            options.write(os.path.join(WORK, name), blob, "0755")
        # Only file systems with a size may grow.
        for path in ("/proc", "/dev", "/"):
            options.add("--remount-ro", path)
        options.add("--chdir", request.cwd or WORK)
        environment = {**ENVIRONMENT, **request.env}
        for name, value in environment.items():
            options.add("--setenv", name, value)
        code = seccomp.assemble(network=request.network, fork=request.fork, namespaces=True, unix=request.unix)
        options.add("--seccomp", options.descriptor(code))
        # The options are separated by NULs: one in a word would make an option of its rest.
        if any("\0" in word for word in options.words):
            raise ValueError("a NUL in an option of bubblewrap")
        return options.words, options.contents

    def _isolate(self, options: _Options) -> None:
        options.add("--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try")
        options.add("--die-with-parent")
        options.add("--new-session")
        options.add("--hostname", "sandbox")
        options.add("--clearenv")
        options.add("--uid", str(USER))
        options.add("--gid", str(USER))
        if not self.request.network:
            options.add("--unshare-net")
        options.add("--disable-userns")
        options.add("--cap-drop", "ALL")

    def _mount_memory(self, options: _Options) -> None:
        disk = str(self.request.limits.disk)
        options.add("--proc", "/proc")
        options.add("--dev", "/dev")
        options.add("--size", str(_SHARED_MEMORY), "--tmpfs", "/dev/shm")
        options.add("--size", disk, "--tmpfs", "/tmp")
        options.add("--dir", WORK)
        options.add("--dir", HOME)

    def _expose(self, options: _Options) -> None:
        exposed = self.request.exposed
        for path in exposed:
            # bubblewrap would mount what a link leads to, which is visible already.
            if os.path.islink(path) and _leads_into(path, exposed):
                options.add("--symlink", os.readlink(path), path)
            else:
                options.add("--ro-bind", path, path)

    def _hide(self, options: _Options) -> None:
        """Cover the hidden folders, in each exposed folder above one."""
        for path in self.request.hidden:
            for exposed in self.request.exposed:
                # What a link leads to is exposed at its own path, too.
                if os.path.islink(exposed):
                    continue
                inside = os.path.relpath(path, os.path.realpath(exposed))
                top = inside.split("/")[0]
                if top in ("..", ".") or not os.path.isdir(path):
                    continue
                options.cover(os.path.join(exposed, inside))

    def _bind(self, options: _Options) -> None:
        mounts: dict[str, list[str]] = {}
        for guard in self.guards:
            mounts.update(guard.mounts())
        for source, target, writable, _ in self.request.binds:
            if writable:
                mounts[target] = ["--bind", source, target]
            else:
                mounts[target] = ["--ro-bind", source, target]
        # In this order, a folder is mounted before what lies in it.
        for target in sorted(mounts):
            options.add(*mounts[target])


class _Options:
    """The options of one run, and the contents of the descriptors that they refer to.

    Args:
        first: The number of the first of these descriptors.
    """

    def __init__(self, first: int) -> None:
        self.words: list[str] = []
        self.contents: list[bytes] = []
        self._first = first

    def add(self, *words: str) -> None:
        self.words += words

    def descriptor(self, content: bytes) -> str:
        """Return the number of a new descriptor, from which bubblewrap will read a content."""
        number = self._first + len(self.contents)
        self.contents.append(content)
        return str(number)

    def write(self, path: str, content: bytes, mode: str) -> None:
        self.add("--perms", mode, "--file", self.descriptor(content), path)

    def cover(self, path: str) -> None:
        """Cover a folder by an empty one that nothing can be written to."""
        self.add("--size", "4096", "--tmpfs", path, "--remount-ro", path)


def _write_etc(options: _Options) -> None:
    for name, text in (("passwd", _PASSWD), ("group", _GROUP), ("hosts", _HOSTS)):
        options.write(f"/etc/{name}", text.encode(), "0644")


def _leads_into(link: str, folders: Sequence[str]) -> bool:
    real = os.path.realpath(link)
    if real in folders:
        return True
    return any(real.startswith(f"{folder}/") for folder in folders)
