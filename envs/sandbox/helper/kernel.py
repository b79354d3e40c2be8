"""System calls that Python has no function for, which raise OSError, and the user of a run."""

from __future__ import annotations

import ctypes
import os

_libc = ctypes.CDLL(None, use_errno=True)

CLONE_NEWNS, CLONE_NEWUSER = 0x00020000, 0x10000000
MS_NOSUID, MS_NODEV, MS_REC, MS_PRIVATE = 2, 4, 16384, 1 << 18

SIGINT, SIGKILL, SIGPIPE, SIGTERM, SIGCHLD, SIGSTOP, SIGXFSZ = 2, 9, 13, 15, 17, 19, 25

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 1, 36, 38
_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 22, 2
_NOBODY = 65534


class suppress:  # noqa: N801 - as in contextlib, whose import takes too long
    """Ignore exceptions of these kinds."""

    def __init__(self, *kinds: type[BaseException]) -> None:
        self._kinds = kinds

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        return kind is not None and issubclass(kind, self._kinds)


def handle(number: int, *, ignored: bool) -> None:
    """Ignore a signal, or let it have its usual effect."""
    _libc.signal(number, ctypes.c_void_p(1 if ignored else 0))


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def syscall(what: str, number: int, *arguments: object) -> int:
    """Make a system call by its number; `what` is its name for the error."""
    converted = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    return _checked(_libc.syscall(ctypes.c_long(number), *converted), what)


def _prctl(what: str, option: int, *arguments: int) -> int:
    padded = [*arguments, 0, 0, 0, 0][:4]
    return _checked(_libc.prctl(option, *(ctypes.c_ulong(each) for each in padded)), what)


def unshare(flags: int) -> None:
    """Move this process to new namespaces."""
    _checked(_libc.unshare(flags), "unshare")


def mount(source: str, target: str, kind: str | None, flags: int, options: str = "") -> None:
    """Mount a file system, or change a mount."""
    arguments = (source.encode(), target.encode(), kind.encode() if kind else None)
    _checked(_libc.mount(*arguments, ctypes.c_ulong(flags), options.encode() or None), f"mount {target}")


def adopt_orphans() -> None:
    """Make orphans of the tree children of this process, so that it can kill and reap them."""
    _prctl("prctl(PR_SET_CHILD_SUBREAPER)", _PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent() -> None:
    """Be killed when the parent ends. A change of user resets this."""
    _prctl("prctl(PR_SET_PDEATHSIG)", _PR_SET_PDEATHSIG, 9)


def no_new_privileges() -> None:
    """Forbid this process and its children to gain privileges by starting a program."""
    _prctl("prctl(PR_SET_NO_NEW_PRIVS)", _PR_SET_NO_NEW_PRIVS, 1)


def shared_memory() -> int:
    """Return the bytes of shared memory and memory file systems on the whole machine."""
    words = (ctypes.c_ulong * 64)()
    _checked(_libc.sysinfo(words), "sysinfo")
    # After the uptime, three loads, and the total and free memory; in bytes on 64-bit machines.
    return words[6]


def load_filter(program: bytes) -> None:
    """Apply a seccomp filter to this process and its children."""
    code = ctypes.create_string_buffer(program, len(program))

    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_void_p)]

    given = Program(len(program) // 8, ctypes.addressof(code))
    _prctl("prctl(PR_SET_SECCOMP)", _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(given))


def own_user() -> int | None:
    """Return a user id that no other living run has, or None if the user cannot or need not be changed.

    Root gives every run its own user, who owns nothing on the host: limits on the number of processes do not apply to
    root, and runs of one user could signal each other. The id is derived from this process's number, in the upper
    half of the available ids.
    """
    if os.geteuid() != 0:
        return None
    with open("/proc/self/uid_map", encoding="utf-8") as file:
        rows = [tuple(map(int, line.split())) for line in file]
    start, _, count = max(rows, key=lambda row: row[2])
    if count < 1024:
        return None
    half = min(count, 1 << 31) // 2
    user = start + half + os.getpid() % (half - 2)
    return _NOBODY - 1 if user == _NOBODY else user


def become(user: int) -> None:
    """Become a user without groups, irrevocably."""
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
