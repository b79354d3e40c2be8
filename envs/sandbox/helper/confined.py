"""A program that confines itself before it begins: Landlock and a system call filter; on the bare host limits alone.

It shares the host's kernel and process numbers, and has no disk quota: weaker than namespaces, and said so.
"""

import errno
import os
import shutil
import tempfile
from pathlib import Path
from typing import NoReturn

from langgraph_reflexion.envs.sandbox.helper import folders, identity, kernel, landlock, seccomp, staging
from langgraph_reflexion.envs.sandbox.helper.bubblewrap import script
from langgraph_reflexion.envs.sandbox.helper.plan import (
    COLLECTED,
    ENVIRONMENT,
    RESULT,
    STARTED,
    STDERR,
    ForkedPlan,
    give,
    limit,
    ordinary_signals,
    renumber,
)
from langgraph_reflexion.envs.sandbox.helper.wire import Request

STANDS_IF_NO_MORE = b"?"
"""Said in place of `+` before the program starts: the sandbox stands unless a fault follows on that descriptor."""
_NO_PROGRAM = (errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.EISDIR, errno.ENOEXEC)
"""What a shell, too, answers with a status of its own: the command is wrong, and not the sandbox."""


class Confined(ForkedPlan):
    """What Landlock and the bare host have in common: a folder of its own on the host's disk."""

    def __init__(self, request: Request, blobs: list[bytes], user: int | None) -> None:
        super().__init__(request, blobs, user)
        above = tempfile.gettempdir()
        if user is not None and not staging.reachable(above):
            above = "/tmp"
        folders.sweep(above)
        self.folder, _ = folders.make(above)  # the lock is held by this process to its end
        self.work, self.home, self.temporary = (os.path.join(self.folder, name) for name in ("work", "home", "tmp"))
        for folder in (self.work, self.home, self.temporary):
            os.mkdir(folder)

    def settle(self) -> None:
        """Remove the folder."""
        folders.remove(self.folder)

    def enter(self) -> NoReturn:
        """Confine this process and be replaced by the program."""
        request = self.request
        self.prepare()
        self.confine()
        self.write_files()
        argv = ["/bin/sh", "-c", script(request["collect"]), "sandbox", *request["argv"]]
        if not request["collect"]:
            argv = request["argv"]
            os.write(STARTED, STANDS_IF_NO_MORE)
            os.set_inheritable(STARTED, False)
            os.set_inheritable(COLLECTED, False)
        try:
            os.execve(_found(argv[0], request["env"].get("PATH", "")), argv, self.environment())
        except OSError as error:
            if error.errno not in _NO_PROGRAM or request["collect"]:
                raise
            os.write(STDERR, f"{argv[0]}: {error.strerror}\n".encode())
            os._exit(127 if error.errno == errno.ENOENT else 126)

    def prepare(self) -> None:
        """Hand over what the run has of its own, and go where the program begins, as its user and with its limits."""
        request = self.request
        os.setsid()
        folder = request["cwd"] or self.work
        if self.user is not None:
            staging.stage(*self.reached(), self.user)
            for root, _, names in os.walk(self.folder):
                for each in (root, *(os.path.join(root, name) for name in names)):
                    os.chown(each, self.user, self.user)
            # Streams that are the caller's own stay the caller's.
            for stream in (RESULT,) if request["inherit"] else range(1, RESULT + 1):
                give(stream, self.user)
        os.chdir(folder)
        renumber({number: number for number in range(COLLECTED + 1)})
        ordinary_signals()
        # The limit counts all that the user runs, and not only this.
        limit(request["limits"], others=0 if self.user is not None else _processes_of(os.getuid()))
        if self.user is not None:
            identity.become(self.user)
        kernel.die_with_parent()

    def write_files(self) -> None:
        """Write the files, behind the walls: a link that an earlier run has left leads nowhere either."""
        for name, blob in zip(self.request["files"], self.blobs, strict=True):
            path = Path(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(blob)
            path.chmod(0o755)

    def confine(self) -> None:
        """Put up the walls. The bare host has none."""

    def environment(self) -> dict[str, str]:
        """What the program finds in its environment, and nothing else."""
        own = {"HOME": self.home, "TMPDIR": self.temporary}
        own["GIT_CONFIG_NOSYSTEM"] = "1"  # git gives up where it may not read the system's settings
        return {**ENVIRONMENT, **own, **self.request["env"]}


class BareHost(Confined):
    """A run on the bare host, with limits and nothing else."""

    changes_user = False


class Landlock(Confined):
    """A run behind Landlock and a system call filter."""

    def confine(self) -> None:
        """Restrict files by Landlock and system calls by the filter."""
        request = self.request
        readable, written = self.reached()
        landlock.restrict(readable, [self.folder, *written], network=request["network"])
        shared = {"own_ipc": False, "own_network": False, "own_processes": False}
        kernel.load_filter(seccomp.assemble(network=request["network"], fork=request["fork"], **shared))


def _found(program: str, path: str) -> str:
    return program if "/" in program else shutil.which(program, path=path) or program


def _processes_of(user: int) -> int:
    """How many processes and threads a user has."""
    count = 0
    for number in os.listdir("/proc"):
        if number.isdigit():
            try:
                if os.stat(f"/proc/{number}").st_uid == user:
                    count += len(os.listdir(f"/proc/{number}/task"))
            except OSError:
                continue  # it has ended
    return count
