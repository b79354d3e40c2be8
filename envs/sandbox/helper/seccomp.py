"""The system call filter, assembled as classic BPF.

It blocks what ordinary programs do not need and what circumvents the other restrictions: new namespaces and mounts,
kernel administration, inspecting other processes, io_uring (which opens sockets unseen by the filter), and memory
that belongs to no process (memfd, System V segments, Landlock's rules, huge pages held by a pipe or a socket) and so
escapes the memory limit. Setuid files cannot be created:
in a folder that is bound writable, their owner is a user of the host.
"""

from __future__ import annotations

import errno
import os
import struct

Numbers = tuple[int | None, int | None]


def _table(text: str) -> dict[str, Numbers]:
    """Parse system calls with their numbers on x86_64 and aarch64: one where they are the same, `-` for none."""
    found = {}
    for entry in text.split(","):
        name, *numbers = entry.split()
        found[name] = (_number(numbers[0]), _number(numbers[-1]))
    return found


def _number(text: str) -> int | None:
    if text == "-":
        return None
    return int(text)


_REFUSED = _table(
    """
    acct 163 89, add_key 248 217, adjtimex 159 171, bpf 321 280, chroot 161 51, clock_adjtime 305 266,
    clock_settime 227 112, delete_module 176 106, fanotify_init 300 262, finit_module 313 273,
    init_module 175 105, io_setup 206 0, ioperm 173 -, iopl 172 -, kcmp 312 272, kexec_file_load 320 294,
    kexec_load 246 104, keyctl 250 219, lookup_dcookie 212 18, migrate_pages 256 238, mount 165 40,
    move_pages 279 239, msgget 68 186, name_to_handle_at 303 264, open_by_handle_at 304 265,
    perf_event_open 298 241, pivot_root 155 41, process_vm_readv 310 270, process_vm_writev 311 271,
    ptrace 101 117, quotactl 179 60, reboot 169 142, request_key 249 218, semget 64 190, setdomainname 171 162,
    sethostname 170 161, setns 308 268, settimeofday 164 170, shmget 29 194, swapoff 168 225, swapon 167 224,
    syslog 103 116, umount2 166 39, unshare 272 97, userfaultfd 323 282, vhangup 153 58, io_uring_setup 425,
    io_uring_enter 426, io_uring_register 427, open_tree 428, move_mount 429, fsopen 430, fsconfig 431,
    fsmount 432, fspick 433, pidfd_getfd 438, process_madvise 440, mount_setattr 442, quotactl_fd 443,
    process_mrelease 448, open_tree_attr 467, vmsplice 278 75
    """
)
# ENOSYS rather than EPERM, so that libraries fall back to an older call, whose arguments the filter can check.
_ABSENT = _table(
    """
    clone3 435 435, landlock_create_ruleset 444 444, memfd_create 319 279, memfd_secret 447 447, openat2 437 437
    """
)
# Kernel memory that counts for nobody, such as access lists of 64 KB. EOPNOTSUPP, as on a file system without them.
_ATTRIBUTES = _table(
    """
    file_setattr 469 469, fremovexattr 199 16, fsetxattr 190 7, lremovexattr 198 15, lsetxattr 189 6,
    removexattr 197 14, removexattrat 466 466, setxattr 188 5, setxattrat 463 463
    """
)
_CHECKED = _table(
    """
    chmod 90 -, clone 56 220, creat 85 -, fchmod 91 52, fchmodat 268 53, fchmodat2 452 452, fork 57 -,
    ioctl 16 29, ioprio_set 251 30, mknod 133 -, mknodat 259 33, open 2 -, openat 257 56, prlimit64 302 261,
    sched_setaffinity 203 122, sched_setattr 314 274, sched_setparam 142 118, sched_setscheduler 144 119,
    setpriority 141 140, setsockopt 54 208, socket 41 198, socketpair 53 199, vfork 58 -
    """
)
# Without namespaces, all processes of a user share these: queues and segments have numbers that can be guessed. The
# calls on files are those that Landlock does not restrict and programs do not need.
_HOST = _table(
    """
    inotify_init 253 -, inotify_init1 294 26, mq_open 240 180, mq_unlink 241 181, msgctl 71 187, msgrcv 70 188,
    msgsnd 69 189, semctl 66 191, semop 65 193, semtimedop 220 192, shmat 30 196, shmctl 31 195
    """
)
# The first argument of these is the process; of _OF_MANY, the second if the first selects a single process.
_OF_A_PROCESS = ("prlimit64", "sched_setaffinity", "sched_setattr", "sched_setparam", "sched_setscheduler")
_OF_MANY = {"setpriority": 0, "ioprio_set": 1}  # PRIO_PROCESS, IOPRIO_WHO_PROCESS
# The argument that is the mode of a file; for _OPENS, those that are the flags and the mode.
_MODES = {"chmod": 1, "fchmod": 1, "fchmodat": 2, "fchmodat2": 2, "creat": 1, "mknod": 1, "mknodat": 2}
_OPENS = {"open": (1, 2), "openat": (2, 3)}

_NAMESPACES = 0x7E020000  # CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET
_THREAD = 0x00010000
_TERMINAL_INPUT = (0x5412, 0x541C)  # TIOCSTI and TIOCLINUX type into the terminal
_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16
_SOCKET_LEVEL, _ZEROCOPY = 1, 60  # SOL_SOCKET and SO_ZEROCOPY: a page in flight holds the huge page around it
_STREAM, _SEQPACKET, _KIND = 1, 5, 0xF
_SETUID_OR_SETGID = 0o6000
_CREATES = 0o20000100  # O_CREAT and O_TMPFILE: without them, the mode is ignored

_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_LOAD, _EQUAL, _ANY_BIT, _AT_LEAST, _MASK, _RETURN = 0x20, 0x15, 0x45, 0x35, 0x54, 0x06
_NUMBER, _ARCHITECTURE, _FIRST, _SECOND, _THIRD = 0, 4, 16, 24, 32
_ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}


def assemble(*, network: bool, fork: bool, namespaces: bool, unix: bool) -> bytes:
    """Return the filter's code for this machine.

    Args:
        network: The host's network is shared.
        fork: Processes may be started; threads always may.
        namespaces: The process has its own namespaces. Without them, it gets no sockets (unless `network`), and may
            change limits and priority of itself only, named by 0.
        unix: There may be Unix sockets besides pairs. They reach the host's in every visible folder, even a read-only
            one, and the host's abstract ones if the network is shared.

    Raises:
        OSError: there is no filter for this kind of machine.
    """
    machine = os.uname().machine
    if machine not in _ARCHITECTURES:
        raise OSError(errno.ENOSYS, f"no system call filter for {machine}, only for {', '.join(_ARCHITECTURES)}")
    which, architecture = _ARCHITECTURES[machine]
    code = _Code(which)
    # The numbers below are those of one architecture: a call of another one ends the process.
    code.add(_step(_LOAD, _ARCHITECTURE))
    code.add(_step(_EQUAL, architecture, 1, 0))
    code.add(_step(_RETURN, _KILL))
    code.add(_step(_LOAD, _NUMBER))
    if machine == "x86_64":
        # The x32 calls have numbers of their own.
        code.add(_step(_AT_LEAST, 0x40000000, 0, 1))
        code.add(_refuse(errno.ENOSYS))
    # Frequent calls come first.
    _check_modes(code)
    code.refuse(_REFUSED, errno.EPERM)
    code.refuse(_ABSENT, errno.ENOSYS)
    code.refuse(_ATTRIBUTES, errno.EOPNOTSUPP)
    if not namespaces:
        code.refuse(_HOST, errno.EPERM)
        _check_processes(code)
    _check_clone(code, fork=fork)
    _check_terminal(code)
    families = []
    if unix:
        families.append(_UNIX)
    if network or namespaces:
        families += [_INET, _INET6, _NETLINK]
    _check_sockets(code, families)
    code.add(_step(_RETURN, _ALLOW))
    return b"".join(code.steps)


class _Code:
    """The code of a filter, for one machine.

    Args:
        which: The machine's place in `Numbers`.
    """

    def __init__(self, which: int) -> None:
        self.steps: list[bytes] = []
        self._which = which

    def add(self, step: bytes) -> None:
        self.steps.append(step)

    def rule(self, numbers: Numbers, body: list[bytes]) -> None:
        """Run the body for one call, and pass over it for all others."""
        number = numbers[self._which]
        if number is None:
            return
        self.add(_step(_EQUAL, number, 0, len(body)))
        self.steps += body

    def refuse(self, table: dict[str, Numbers], error: int) -> None:
        for numbers in table.values():
            self.rule(numbers, [_refuse(error)])

    def check(self, name: str, argument: int, tests: list[bytes]) -> None:
        """Allow a call that passes the tests, which begin with this argument."""
        load = _step(_LOAD, argument)
        allow = _step(_RETURN, _ALLOW)
        self.rule(_CHECKED[name], [load, *tests, allow])


def _check_modes(code: _Code) -> None:
    for name, (flags, mode) in _OPENS.items():
        tests = [_step(_ANY_BIT, _CREATES, 1, 0), _step(_RETURN, _ALLOW)]
        tests.append(_step(_LOAD, _argument(mode)))
        tests += _no_bit(_SETUID_OR_SETGID)
        code.check(name, _argument(flags), tests)
    for name, mode in _MODES.items():
        code.check(name, _argument(mode), _no_bit(_SETUID_OR_SETGID))


def _check_processes(code: _Code) -> None:
    """Let a process change limits and priority of itself only, which has the number 0."""
    for name in _OF_A_PROCESS:
        code.check(name, _FIRST, _only(0))
    for name, one in _OF_MANY.items():
        tests = _only(one)
        tests.append(_step(_LOAD, _SECOND))
        tests += _only(0)
        code.check(name, _FIRST, tests)


def _check_clone(code: _Code, *, fork: bool) -> None:
    tests = _no_bit(_NAMESPACES)
    if not fork:
        for name in ("fork", "vfork"):
            code.rule(_CHECKED[name], [_refuse(errno.EPERM)])
        tests.append(_step(_ANY_BIT, _THREAD, 1, 0))
        tests.append(_refuse(errno.EPERM))
    code.check("clone", _FIRST, tests)


def _check_terminal(code: _Code) -> None:
    tests = []
    for request in _TERMINAL_INPUT:
        tests.append(_step(_EQUAL, request, 0, 1))
        tests.append(_refuse(errno.EPERM))
    code.check("ioctl", _SECOND, tests)


def _check_sockets(code: _Code, families: list[int]) -> None:
    tests = []
    for family in families:
        tests.append(_step(_EQUAL, family, 0, 1))
        tests.append(_step(_RETURN, _ALLOW))
    tests.append(_refuse(errno.EACCES))
    code.check("socket", _FIRST, tests)

    pair = _only(_UNIX)
    if _UNIX not in families:
        # Datagram sockets of a pair are not tied together: either can send to any address.
        pair.append(_step(_LOAD, _SECOND))
        pair.append(_step(_MASK, _KIND))
        pair.append(_step(_EQUAL, _STREAM, 2, 0))
        pair += _only(_SEQPACKET)
    code.check("socketpair", _FIRST, pair)

    option = [_step(_EQUAL, _SOCKET_LEVEL, 1, 0), _step(_RETURN, _ALLOW)]
    option.append(_step(_LOAD, _THIRD))
    option.append(_step(_EQUAL, _ZEROCOPY, 0, 1))
    option.append(_refuse(errno.ENOPROTOOPT))
    code.check("setsockopt", _SECOND, option)


def _argument(index: int) -> int:
    """Return the offset of the lower half of an argument. No call here takes more than an int."""
    return _FIRST + 8 * index


def _only(value: int) -> list[bytes]:
    """Refuse any other value of what is loaded."""
    return [_step(_EQUAL, value, 1, 0), _refuse(errno.EPERM)]


def _no_bit(bits: int) -> list[bytes]:
    """Refuse a value with any of these bits."""
    return [_step(_ANY_BIT, bits, 0, 1), _refuse(errno.EPERM)]


def _step(operation: int, value: int, if_so: int = 0, if_not: int = 0) -> bytes:
    """Return one step. A comparison then passes over as many steps as `if_so` or `if_not` says."""
    return struct.pack("=HBBI", operation, if_so, if_not, value)


def _refuse(error: int) -> bytes:
    return _step(_RETURN, _ERRNO | error)
