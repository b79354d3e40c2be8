"""Landlock: what a process may open, by path, from inside the process. Needs no rights and no namespaces."""

import ctypes
import os
import stat
import struct
from collections.abc import Iterable

from langgraph_reflexion.envs.sandbox.helper import kernel

_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446

_EXECUTE, _WRITE, _READ, _LIST, _TRUNCATE = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 14
_ON_FILES = _EXECUTE | _WRITE | _READ | _TRUNCATE
_READING = _EXECUTE | _READ | _LIST
_TCP = 0b11  # bind and connect, since the fourth version
_SCOPES = 0b11  # abstract sockets and signals, since the sixth
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")


def version() -> int:
    """Which version of Landlock the kernel has.

    Raises:
        OSError: it has none, or it is switched off.
    """
    return kernel.syscall("landlock_create_ruleset", _CREATE, None, 0, 1)


def restrict(readable: Iterable[str], writable: Iterable[str], *, network: bool) -> None:
    """From here on, this process and all that it starts can open nothing else.

    Args:
        readable: Files and folders that may be read and executed; those that do not exist are left out.
        writable: Folders in which everything may be done.
        network: TCP is allowed.

    Raises:
        OSError: the kernel refused.
    """
    known = version()
    everything = (1 << (13 if known < 2 else 14 if known < 3 else 15)) - 1
    handled_network = 0 if network or known < 4 else _TCP
    attributes = struct.pack("QQQ", everything, handled_network, _SCOPES if known >= 6 else 0)
    size = 24 if known >= 6 else 16 if known >= 4 else 8
    rules = kernel.syscall("landlock_create_ruleset", _CREATE, attributes, size, 0)
    try:
        for path in readable:
            _allow(rules, path, _READING)
        for path in _DEVICES:
            _allow(rules, path, _READ | _WRITE)
        _allow(rules, f"/proc/{os.getpid()}", _READ | _LIST)
        for path in writable:
            _allow(rules, path, everything)
        kernel.no_new_privileges()
        kernel.syscall("landlock_restrict_self", _RESTRICT, rules, 0)
    finally:
        os.close(rules)


def _allow(rules: int, path: str, access: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # what is not there, or cannot be reached, needs no permission
    try:
        if not stat.S_ISDIR(os.fstat(place).st_mode):
            access &= _ON_FILES
        rule = ctypes.create_string_buffer(struct.pack("=Qi", access, place))
        kernel.syscall("landlock_add_rule", _ADD_RULE, rules, 1, rule, 0)
    finally:
        os.close(place)
