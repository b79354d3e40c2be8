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
        request = self.request
        if self.user is not None:
            staging.stage(*self.reached(), self.user)
            # With `inherit`, two of them belong to the caller.
            for stream in [*([] if request.inherit else streams.standard[1:]), *streams.own]:
                give(stream, self.user)
            kernel.become(self.user)
        self.guards = tuple(Guard(source, target) for source, target, _, guarded in request.binds if guarded)
        arguments, contents = self.arguments(_FIRST + 1)
        held = streams.numbered(starting)
        held |= {
            _FIRST + index: protocol.memory_file(each)
            for index, each in enumerate([b"\0".join(map(os.fsencode, arguments)), *contents])
        }
        above = _FIRST + len(held)
        moved = {new: fcntl.fcntl(old, fcntl.F_DUPFD_CLOEXEC, above) for new, old in held.items()}
        try:
            return os.posix_spawn(
                request.tool,
                ["bwrap", "--args", str(_FIRST), "--", *self.command()],
                {"PATH": "/usr/bin:/bin"},
                file_actions=[(os.POSIX_SPAWN_DUP2, old, new) for new, old in moved.items()],
                setsigdef=IGNORED,
            )
        finally:
            for number in (*moved.values(), *(old for new, old in held.items() if new > COLLECTED)):
                os.close(number)

    def settle(self) -> None:
        for guard in self.guards:
            guard.release()

    def arguments(self, first: int) -> tuple[list[str], list[bytes]]:
        """Return the options, and the contents of the descriptors that they refer to, numbered from `first`."""
        request = self.request
        contents: list[bytes] = []

        def content(data: bytes) -> str:
            contents.append(data)
            return str(first + len(contents) - 1)

        words = ["--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try"]
        words += ["--die-with-parent", "--new-session", "--hostname", "sandbox", "--clearenv"]
        words += ["--uid", str(USER), "--gid", str(USER)]
        words += [] if request.network else ["--unshare-net"]
        words += ["--disable-userns", "--cap-drop", "ALL"]
        words += ["--proc", "/proc", "--dev", "/dev", "--size", str(_SHARED_MEMORY), "--tmpfs", "/dev/shm"]
        words += ["--size", str(request.limits.disk), "--tmpfs", "/tmp", "--dir", WORK, "--dir", HOME]
        for path in request.exposed:
            again = os.path.islink(path) and _leads_into(path, request.exposed)
            words += ["--symlink", os.readlink(path), path] if again else ["--ro-bind", path, path]
        for path in request.hidden:
            for exposed in request.exposed:
                inside = os.path.relpath(path, os.path.realpath(exposed))
                if not os.path.islink(exposed) and inside.split("/")[0] not in ("..", ".") and os.path.isdir(path):
                    at = os.path.join(exposed, inside)
                    words += ["--size", "4096", "--tmpfs", at, "--remount-ro", at]
        for name, text in (("passwd", _PASSWD), ("group", _GROUP), ("hosts", _HOSTS)):
            words += ["--perms", "0644", "--file", content(text.encode()), f"/etc/{name}"]
        mounts: dict[str, list[str]] = {}
        for guard in self.guards:
            mounts |= guard.mounts()
        for source, target, writable, _ in request.binds:
            mounts[target] = ["--bind" if writable else "--ro-bind", source, target]
        words += [word for target in sorted(mounts) for word in mounts[target]]
        for name, blob in request.files.items():
            words += ["--perms", "0755", "--file", content(blob), os.path.join(WORK, name)]
        # Only file systems with a size may grow.
        words += ["--remount-ro", "/proc", "--remount-ro", "/dev", "--remount-ro", "/"]
        words += ["--chdir", request.cwd or WORK]
        for name, value in {**ENVIRONMENT, **request.env}.items():
            words += ["--setenv", name, value]
        code = seccomp.assemble(network=request.network, fork=request.fork, namespaces=True, unix=request.unix)
        words += ["--seccomp", content(code)]
        if any("\0" in word for word in words):
            raise ValueError("a NUL in an option of bubblewrap")
        return words, contents


def _leads_into(link: str, folders: Sequence[str]) -> bool:
    real = os.path.realpath(link)
    return any(real.startswith(f"{folder}/") for folder in folders) or real in folders
