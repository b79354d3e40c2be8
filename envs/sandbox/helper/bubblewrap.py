"""bubblewrap: namespaces of its own, a file system put together from read-only pieces, and no way up."""

import fcntl
import io
import os
import shlex
import tarfile

from langgraph_reflexion.envs.sandbox.helper import identity, seccomp, staging, wire
from langgraph_reflexion.envs.sandbox.helper.plan import (
    COLLECTED,
    ENVIRONMENT,
    HOME,
    IGNORED,
    RESULT,
    STARTED,
    WORK,
    Plan,
    Streams,
    allowed,
    give,
    kernel_limits,
)

_FILES = COLLECTED + 1
"""The descriptor of an archive that is unpacked inside before the program begins. A shell knows it by one digit."""
_FIRST = _FILES + 1
_FEW = 32
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
            staging.stage(*self.reached(), self.user)
            # With `inherit`, two of them are the caller's own.
            for stream in streams[5:] if request["inherit"] else streams[3:]:
                give(stream, self.user)
            identity.become(self.user)
        arguments, contents = self.arguments(_FIRST + 1)
        held = streams.numbered(starting)
        held |= {
            _FIRST + index: wire.memory(each)
            for index, each in enumerate([b"\0".join(map(os.fsencode, arguments)), *contents])
        }
        if self.unpacks:
            held[_FILES] = wire.memory(archive(request["files"], self.blobs))
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
            for number in (*moved.values(), *(old for new, old in held.items() if new > COLLECTED)):
                os.close(number)

    @property
    def unpacks(self) -> bool:
        """Whether the files are unpacked inside, by a process of their own.

        bubblewrap itself writes files while the host is still within reach, and follows links: it may do so only in a
        folder that nobody has written to before. It also takes no more than a few thousand words.
        """
        if self.request["cwd"] is not None:
            return bool(self.request["files"])
        return self.request["fork"] and len(self.request["files"]) > _FEW

    def arguments(self, first: int) -> tuple[list[str], list[bytes]]:
        """The options, and the contents of the descriptors that they name, from number `first` on.

        Raises:
            ValueError: a word has a NUL, which would make two of it.
        """
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
        for name, blob in [] if self.unpacks else zip(request["files"], self.blobs, strict=True):
            words += ["--perms", "0755", "--file", content(blob), os.path.join(WORK, name)]
        # Nothing may grow but the sized file systems.
        words += ["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", request["cwd"] or WORK]
        for name, value in {**ENVIRONMENT, **request["env"]}.items():
            words += ["--setenv", name, value]
        if not server:
            words += ["--seccomp", content(seccomp.assemble(network=request["network"], fork=request["fork"]))]
        if any("\0" in word for word in words):
            raise ValueError("a NUL in an option of bubblewrap")
        return words, contents

    def command(self) -> list[str]:
        """The command inside: set the limits, say that the sandbox stands, run the program.

        The limits are set inside, where they count for this sandbox alone, and before it is said to stand: what
        cannot be limited does not run. The shell that collects files has to start another process afterwards,
        however many the program has left: how many there may be is then set for the program alone.
        """
        request = self.request
        said = ["/bin/sh", "-c", script(request["collect"], unpack=self.unpacks), "sandbox"]
        if request["role"] == "server":
            return [*said, *request["argv"]]
        values = kernel_limits(request["limits"])
        later = {"nproc": values.pop("nproc")} if request["collect"] else {}
        return [*limited(values), *said, *(limited(later) if later else []), *request["argv"]]


def limited(values: dict[str, int]) -> list[str]:
    """The beginning of a command that runs the rest of it with limits, as far as this process's own leave room."""
    most = {name: allowed(name, value) for name, value in values.items()}
    return ["/usr/bin/prlimit", *(f"--{name}={value}:{value}" for name, value in most.items()), "--"]


def script(collect: list[str], *, unpack: bool = False) -> str:
    """A shell script that reports the start, runs its arguments, and hands back the files that are asked for.

    Args:
        collect: The files' names.
        unpack: Whether there is an archive to unpack first.
    """
    begin = f"printf + >&{STARTED}; exec {STARTED}>&-; "
    if unpack:
        away = f"{STARTED}>&- {COLLECTED}>&- {RESULT}>&-"
        begin = f"PATH=/usr/bin:/bin tar -xpmf - <&{_FILES} {away} || exit 125; exec {_FILES}<&-; {begin}"
    if not collect:
        return f'{begin} exec "$@" {COLLECTED}>&-'
    names = " ".join(shlex.quote(f"./{name}") for name in collect)
    # A link to a file that is in the archive already would be nothing by itself.
    pack = f"tar --hard-dereference -cf - {names} 2>/dev/null >&{COLLECTED} {RESULT}>&-"
    return f'{begin} "$@" {COLLECTED}>&-; status=$?; {pack}; exit $status'


def archive(names: list[str], blobs: list[bytes]) -> bytes:
    """A tar of files that can all be executed."""
    made = io.BytesIO()
    with tarfile.open(
        fileobj=made, mode="w", format=tarfile.GNU_FORMAT, encoding="utf-8", errors="surrogateescape"
    ) as writer:
        for name, blob in zip(names, blobs, strict=True):
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(blob), 0o755
            writer.addfile(member, io.BytesIO(blob))
    return made.getvalue()


def _leads_into(link: str, folders: list[str]) -> bool:
    real = os.path.realpath(link)
    return any(real.startswith(f"{folder}/") for folder in folders) or real in folders
