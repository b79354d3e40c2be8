"""System calls that Python has no function for, which raise OSError, and the user of a run."""

from __future__ import annotations

import ctypes
import os

_libc = ctypes.CDLL(None, use_errno=True)

CLONE_NEWNS = 0x00020000
CLONE_NEWUSER = 0x10000000

MS_NOSUID = 2
MS_NODEV = 4
MS_REC = 16384
MS_PRIVATE = 1 << 18

# The module `signal` takes too long to import.
SIGINT = 2
SIGKILL = 9
SIGPIPE = 13
SIGTERM = 15
SIGCHLD = 17
SIGSTOP = 19
SIGXFSZ = 25
_SIG_DFL = 0
_SIG_IGN = 1

_PR_SET_PDEATHSIG = 1
_PR_SET_SECCOMP = 22
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
_SECCOMP_MODE_FILTER = 2
_NOBODY = 65534


class suppress:  # noqa: N801 - as in contextlib, whose import takes too long
    """Ignore exceptions of these kinds."""

    def __init__(self, *kinds: type[BaseException]) -> None:
        self._kinds = kinds

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        return kind is not None and issubclass(kind, self._kinds)


def set_disposition(number: int, *, ignored: bool) -> None:
    """Ignore a signal, or let it have its usual effect."""
    disposition = _SIG_DFL
    if ignored:
        disposition = _SIG_IGN
    _libc.signal(number, ctypes.c_void_p(disposition))


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def syscall(what: str, number: int, *arguments: object) -> int:
    """Make a system call by its number; `what` is its name for the error."""
    converted = [_converted(each) for each in arguments]
    result = _libc.syscall(ctypes.c_long(number), *converted)
    return _checked(result, what)


def _converted(argument: object) -> object:
    # ctypes would pass an int in 32 bits.
    if isinstance(argument, int):
        return ctypes.c_long(argument)
    return argument


def _prctl(what: str, option: int, *arguments: int) -> int:
    # Some options fail unless the arguments that they do not use are 0.
    padded = [*arguments, 0, 0, 0, 0][:4]
    converted = [ctypes.c_ulong(each) for each in padded]
    result = _libc.prctl(option, *converted)
    return _checked(result, what)


def unshare(flags: int) -> None:
    """Move this process to new namespaces."""
    _checked(_libc.unshare(flags), "unshare")


def mount(source: str, target: str, kind: str | None, flags: int, options: str = "") -> None:
    """Mount a file system, or change a mount."""
    given_kind = None
    if kind is not None:
        given_kind = kind.encode()
    given_options = options.encode() or None
    result = _libc.mount(source.encode(), target.encode(), given_kind, ctypes.c_ulong(flags), given_options)
    _checked(result, f"mount {target}")


def adopt_orphans() -> None:
    """Make orphans of the tree children of this process, so that it can kill and reap them."""
    _prctl("prctl(PR_SET_CHILD_SUBREAPER)", _PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent() -> None:
    """Be killed when the parent ends. A change of user resets this."""
    _prctl("prctl(PR_SET_PDEATHSIG)", _PR_SET_PDEATHSIG, SIGKILL)


def no_new_privileges() -> None:
    """Forbid this process and its children to gain privileges by starting a program."""
    _prctl("prctl(PR_SET_NO_NEW_PRIVS)", _PR_SET_NO_NEW_PRIVS, 1)


def shared_memory() -> int:
    """Return the bytes of shared memory and memory file systems on the whole machine."""
    words = (ctypes.c_ulong * 64)()
    _checked(_libc.sysinfo(words), "sysinfo")
    # struct sysinfo, in bytes on 64-bit machines. More words follow.
    _uptime, _load_1, _load_5, _load_15, _total, _free, shared = words[:7]
    return shared


def load_filter(program: bytes) -> None:
    """Apply a seccomp filter to this process and its children."""
    code = ctypes.create_string_buffer(program, len(program))

    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_void_p)]

    # A step is 8 bytes long.
    given = Program(len(program) // 8, ctypes.addressof(code))
    _prctl("prctl(PR_SET_SECCOMP)", _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(given))


def own_user() -> int | None:
    """Return a user id for this run alone, or None if the user cannot or need not be changed.

    Root gives every run its own user, who owns nothing on the host: limits on the number of processes do not apply to
    root, and runs of one user could signal each other. The id is derived from this process's number, in the upper
    half of the available ids. Only in a container with fewer ids than process numbers can two runs get the same.
    """
    if os.geteuid() != 0:
        return None
    with open("/proc/self/uid_map", encoding="utf-8") as file:
        rows = [tuple(map(int, line.split())) for line in file]
    # Each row is a range of ids: the first one inside, the first one outside, and their number.
    start, _, count = max(rows, key=lambda row: row[2])
    # A container may have too few ids for this.
    if count < 1024:
        return None
    half = min(count, 1 << 31) // 2
    # The last two are left out: of the 65,536 ids of many containers, they are nobody, and -1 in 16 bits.
    user = start + half + os.getpid() % (half - 2)
    # The host may run services as nobody.
    if user == _NOBODY:
        return _NOBODY - 1
    return user


def become(user: int) -> None:
    """Become a user without groups, irrevocably."""
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
