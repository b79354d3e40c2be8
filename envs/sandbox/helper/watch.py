"""What a tree of processes uses, read from /proc."""

import contextlib
import os
import re
from collections.abc import Iterator
from typing import NamedTuple

_TICKS = os.sysconf("SC_CLK_TCK")
_ANONYMOUS = re.compile(rb"^Rss(?:Anon|Shmem):\s+(\d+) kB", re.MULTILINE)
_PROPORTIONAL = re.compile(rb"^Pss_(?:Anon|Shmem):\s+(\d+) kB", re.MULTILINE)


class Use(NamedTuple):
    """What processes use together."""

    memory: int
    """Bytes of their own, not counting files; what is shared after a fork counts for each."""
    cpu: float
    """Seconds, with those of children that have been waited for."""
    pids: list[int]


def use(root: int) -> Use:
    """What all processes below `root` use. Those that end meanwhile count as nothing."""
    return use_of(list(below(root)))


def use_of(pids: list[int]) -> Use:
    """What these processes use together."""
    memory, cpu = 0, 0.0
    for pid in pids:
        memory += _kilobytes(pid, "status", _ANONYMOUS)
        fields = _read(pid, "stat").rpartition(b")")[2].split()
        cpu += sum(map(int, fields[11:15])) / _TICKS
    return Use(memory * 1024, cpu, pids)


def proportional(pids: list[int]) -> int:
    """Bytes of memory, where what is shared is divided among those that share it. Slower than `use`."""
    return 1024 * sum(_kilobytes(pid, "smaps_rollup", _PROPORTIONAL) for pid in pids)


def below(root: int) -> Iterator[int]:
    """All processes below `root`, parents before children."""
    waiting = [root]
    while waiting:
        for child in children(waiting.pop()):
            yield child
            waiting.append(child)


def children(pid: int) -> list[int]:
    """The children of a process, of all its threads."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            found += map(int, _read(pid, f"task/{thread}/children").split())
    return found


def inodes(pid: int, folder: str) -> int:
    """How many files there are on the file system that a process sees at `folder`."""
    try:
        there = os.statvfs(f"/proc/{pid}/root{folder}")
    except OSError:
        return 0
    return there.f_files - there.f_ffree


def _kilobytes(pid: int, name: str, pattern: re.Pattern[bytes]) -> int:
    return sum(map(int, pattern.findall(_read(pid, name))))


def _read(pid: int, name: str) -> bytes:
    try:
        with open(f"/proc/{pid}/{name}", "rb", buffering=0) as file:
            return file.read(1 << 16)
    except OSError:
        return b""
