"""bubblewrap: namespaces of its own, a file system put together from read-only pieces, and no way up."""

import fcntl
import os
import shlex

from langgraph_reflexion.envs.sandbox.helper import identity, seccomp, staging
from langgraph_reflexion.envs.sandbox.helper.plan import (
    COLLECTED,
    IGNORED,
    RESULT,
    STARTED,
    Plan,
    Streams,
    give,
    limit_values,
)

_FIRST = COLLECTED + 1
WORK, HOME = "/tmp/sandbox-work", "/tmp/sandbox-home"
USER = 1000
_SHARED_MEMORY = 64 << 20
_PASSWD = f"root:x:0:0::/:/bin/false\nsandbox:x:{USER}:{USER}::{HOME}:/bin/sh\n"
_GROUP = f"root:x:0:\nsandbox:x:{USER}:\n"
_HOSTS = "127.0.0.1 localhost\n::1 localhost\n"


class Bubblewrap(Plan):
    """A run in a bubblewrap."""

    tmpfs = ("/tmp", "/dev/shm")

    def start(self, streams: Streams, starting: int) -> int:
        """Stage what only root reaches, become the run's user, and start bubblewrap, without another fork."""
        request = self.request
        if self.user is not None:
            readable = [*request["visible"], *(source for source, _, writable in request["binds"] if not writable)]
            staging.stage(readable, [source for source, _, writable in request["binds"] if writable], self.user)
            for stream in streams[3:]:
                give(stream, self.user)
            identity.become(self.user)
        arguments, contents = self.arguments(_FIRST + 1)
        held = streams.numbered(starting)
        held |= {
            _FIRST + index: memory(each) for index, each in enumerate(["\0".join(arguments).encode(), *contents])
        }
        above = _FIRST + len(held)
        moved = {new: fcntl.fcntl(old, fcntl.F_DUPFD_CLOEXEC, above) for new, old in held.items()}
        try:
            return os.posix_spawn(
                request["tool"],
                ["bwrap", "--args", str(_FIRST), "--", *self.command()],
                {"PATH": "/usr/bin:/bin"},
                file_actions=[(os.POSIX_SPAWN_DUP2, old, new) for new, old in moved.items()],
                setsigdef=IGNORED,
            )
        finally:
            for number in (*moved.values(), *(old for new, old in held.items() if new >= _FIRST)):
                os.close(number)

    def arguments(self, first: int) -> tuple[list[str], list[bytes]]:
        """The options, and the contents of the descriptors that they name, from number `first` on."""
        request = self.request
        server = request["role"] == "server"
        contents: list[bytes] = []

        def content(data: bytes) -> str:
            contents.append(data)
            return str(first + len(contents) - 1)

        words = ["--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try"]
        words += ["--die-with-parent", "--new-session", "--hostname", "sandbox", "--clearenv"]
        words += ["--uid", str(USER), "--gid", str(USER)]
        words += [] if request["network"] else ["--unshare-net"]
        words += ["--cap-add", "ALL"] if server else ["--disable-userns", "--cap-drop", "ALL"]
        words += ["--proc", "/proc", "--dev", "/dev", "--size", str(_SHARED_MEMORY), "--tmpfs", "/dev/shm"]
        words += ["--size", str(request["limits"]["disk"]), "--tmpfs", "/tmp", "--dir", WORK, "--dir", HOME]
        for path in request["visible"]:
            again = os.path.islink(path) and _leads_into(path, request["visible"])
            words += ["--symlink", os.readlink(path), path] if again else ["--ro-bind", path, path]
        for name, text in (("passwd", _PASSWD), ("group", _GROUP), ("hosts", _HOSTS)):
            words += ["--perms", "0644", "--file", content(text.encode()), f"/etc/{name}"]
        for source, target, writable in sorted(request["binds"], key=lambda bind: bind[1]):
            words += ["--bind" if writable else "--ro-bind", source, target]
        folder = request["cwd"] or WORK
        for name, blob in zip(request["files"], self.blobs, strict=True):
            words += ["--perms", "0755", "--file", content(blob), os.path.join(folder, name)]
        # Nothing may grow but the sized file systems.
        words += ["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", folder]
        home = {"HOME": HOME, "TMPDIR": "/tmp", "USER": "sandbox", "LANG": "C.UTF-8"}
        for name, value in {**home, **request["env"]}.items():
            words += ["--setenv", name, value]
        if not server:
            words += ["--seccomp", content(seccomp.assemble(network=request["network"], fork=request["fork"]))]
        return words, contents

    def command(self) -> list[str]:
        """The command inside: say that the sandbox stands, set the limits, run the program."""
        return ["/bin/sh", "-c", script(self.request["collect"]), "sandbox", *self.limited()]

    def limited(self) -> list[str]:
        """The program, with the limits set inside: there they count for this sandbox alone."""
        if self.request["role"] == "server":
            return self.request["argv"]
        values = limit_values(self.request["limits"])
        return [
            "/usr/bin/prlimit",
            *(f"--{name}={value}:{value}" for name, value in values.items()),
            "--",
            *self.request["argv"],
        ]


def script(collect: list[str]) -> str:
    """A shell script that reports the start, runs its arguments, and hands back the files that are asked for."""
    begin = f"printf + >&{STARTED}; exec {STARTED}>&-; "
    if not collect:
        return f'{begin} exec "$@" {COLLECTED}>&-'
    names = " ".join(shlex.quote(f"./{name}") for name in collect)
    pack = f"tar -cf - {names} 2>/dev/null >&{COLLECTED} {RESULT}>&-"
    return f'{begin} "$@" {COLLECTED}>&-; status=$?; {pack}; exit $status'


def _leads_into(link: str, folders: list[str]) -> bool:
    real = os.path.realpath(link)
    return any(real.startswith(f"{folder}/") for folder in folders) or real in folders


def memory(content: bytes) -> int:
    """A memory file with a content. Returns its descriptor."""
    descriptor = os.memfd_create("sandbox")
    with os.fdopen(os.dup(descriptor), "wb") as file:
        file.write(content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
