"""The resource usage of a process tree, read from /proc."""

from __future__ import annotations

import os

from langgraph_reflexion.envs.sandbox.helper import kernel
from langgraph_reflexion.envs.sandbox.helper.kernel import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_TICKS = os.sysconf("SC_CLK_TCK")
_OWN = (b"RssAnon", b"RssShmem", b"HugetlbPages", b"VmPTE", b"VmSwap")
_NOT_SHARED = (b"VmPTE", b"VmSwap")
_SHARED_MAP = (
    rb"^([0-9a-f]+)-([0-9a-f]+) \S+ ([0-9a-f]+) (\S+ \d+) +(?:/dev/zero \(deleted\)|\[anon_shmem:[^]\n]*\])$"
)
"""A shared anonymous map, which a program may have named (PR_SET_VMA_ANON_NAME)."""
_OVERLOOKED = 32 << 20
"""Bytes of shared memory on the whole machine that are not worth attributing."""
_MOST_MAPS = 1 << 24
"""Bytes of a process's list of maps that are read."""


class Use:
    """The usage of several processes.

    Args:
        memory: Bytes, without files; memory shared after a fork counts for each process.
        cpu: Seconds, including reaped children.
        places: Their folders in /proc.
        each: CPU seconds of each process without children, by its number and its start in clock ticks.
        unshared: Bytes of page tables and swap, which are never shared.
    """

    def __init__(
        self, memory: int, cpu: float, places: list[str], each: dict[tuple[int, int], float], unshared: int
    ) -> None:
        self.memory = memory
        self.cpu = cpu
        self.places = places
        self.each = each
        self.unshared = unshared


class Ledger:
    """The CPU time of all processes ever seen, including ended ones that nobody waited for."""

    def __init__(self) -> None:
        self._ended = 0.0
        self._living: dict[tuple[int, int], float] = {}

    def add(self, living: dict[tuple[int, int], float]) -> float:
        """Add a sample of `Use.each`, and return the total seconds."""
        ended = sum(cpu for key, cpu in self._living.items() if key not in living)
        self._ended += ended
        self._living = living
        return self._ended + sum(living.values())


def use(root: int) -> Use:
    """Return the usage of all processes below `root`; processes that end meanwhile count as nothing."""
    places = []
    each = {}
    memory = 0
    unshared = 0
    cpu = 0.0
    for pid in below(root):
        place, status = _with_memory(pid)
        places.append(place)
        memory += _kilobytes(status, _OWN)
        unshared += _kilobytes(status, _NOT_SHARED)
        # The name of the program, in parentheses, may hold anything.
        fields = _read(f"/proc/{pid}", "stat").rpartition(b")")[2].split()
        if not fields:
            continue
        user, system, reaped_user, reaped_system = map(int, fields[11:15])
        cpu += (user + system + reaped_user + reaped_system) / _TICKS
        started = int(fields[19])
        each[pid, started] = (user + system) / _TICKS
    memory_bytes = memory * 1024 + unmapped(places)
    return Use(memory_bytes, cpu, places, each, unshared * 1024)


def _with_memory(pid: int) -> tuple[str, bytes]:
    """Return a process's folder in /proc, and its status.

    If its first thread has ended, only the folders of the other threads show its memory and files.
    """
    place = f"/proc/{pid}"
    status = _read(place, "status")
    if b"\nVmRSS:" in status:
        return place, status
    with suppress(OSError):
        for thread in os.listdir(f"{place}/task"):
            thread_place = f"{place}/task/{thread}"
            thread_status = _read(thread_place, "status")
            if b"\nVmRSS:" in thread_status:
                return thread_place, thread_status
    return place, status


def proportional(places: list[str]) -> int:
    """Return the bytes of memory, dividing shared memory among its processes. Slower than `use`."""
    own = 0
    shared = 0
    for place in places:
        own += _kilobytes(_read(place, "status"), _NOT_SHARED)
        parts = _read(place, "smaps_rollup")
        own += _kilobytes(parts, (b"Pss_Anon",))
        shared += _kilobytes(parts, (b"Pss_Shmem",))
    return 1024 * own + max(1024 * shared, unmapped(places))


def unmapped(places: list[str]) -> int:
    """Return the bytes of shared anonymous memory, whether or not it is in a process's page tables.

    A process can drop it from there (MADV_DONTNEED) and find it again later; it does not count as resident then.
    Root can read its size; other users only the size of the mapping.
    """
    there = kernel.shared_memory()
    # Then the maps of all processes need not be read.
    if there <= _OVERLOOKED:
        return 0
    import re  # rarely needed, and slow to import

    # By the number of the memory, which several processes may map.
    exact: dict[bytes, int] = {}
    mapped: dict[bytes, set[tuple[int, int]]] = {}
    for place in places:
        maps = _read(place, "maps", _MOST_MAPS)
        for begin, end, offset, which in re.findall(_SHARED_MAP, maps, re.MULTILINE):
            if which in exact:
                continue
            try:
                exact[which] = _size(place, begin, end)
            except OSError:
                # Several processes may have mapped different parts of it.
                first = int(offset, 16)
                length = int(end, 16) - int(begin, 16)
                mapped.setdefault(which, set()).add((first, first + length))
    guessed = 0
    for which, parts in mapped.items():
        if which not in exact:
            guessed += _covered(parts)
    return sum(exact.values()) + min(guessed, there)


def _size(place: str, begin: bytes, end: bytes) -> int:
    """Return the bytes of what a process has mapped between two addresses."""
    mapped = os.stat(f"{place}/map_files/{begin.decode()}-{end.decode()}")
    return 512 * mapped.st_blocks


def _covered(parts: Iterable[tuple[int, int]]) -> int:
    """Return the length that parts cover together, which may overlap."""
    length = 0
    reached = 0
    for begin, end in sorted(parts):
        length += max(0, end - max(begin, reached))
        reached = max(reached, end)
    return length


def below(root: int) -> Iterator[int]:
    """Yield all processes below `root`, parents first."""
    waiting = [root]
    while waiting:
        for child in children(waiting.pop()):
            yield child
            waiting.append(child)


def children(pid: int) -> list[int]:
    """Return the children of a process, of all its threads."""
    found: list[int] = []
    with suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            numbers = _read(f"/proc/{pid}", f"task/{thread}/children").split()
            found += map(int, numbers)
    return found


def inodes(places: list[str], folder: str) -> int:
    """Return the number of files on a process tree's own file system at `folder`.

    The last process that is alive is asked: the first one may still see the host's files.
    """
    for each in reversed(places):
        place = f"{each}/root{folder}"
        try:
            there = os.statvfs(place)
            # A file system that is the host's as well is not the tree's own.
            if os.stat(place).st_dev == os.stat(folder).st_dev:
                return 0
        except OSError:
            continue
        return there.f_files - there.f_ffree
    return 0


def _kilobytes(text: bytes, names: tuple[bytes, ...]) -> int:
    """Return the sum of some rows such as `VmSwap:  8 kB`."""
    total = 0
    for line in text.splitlines():
        name, _, value = line.partition(b":")
        if name in names:
            total += int(value.split()[0])
    return total


def _read(place: str, name: str, most: int = 1 << 16) -> bytes:
    try:
        with open(f"{place}/{name}", "rb", buffering=0) as file:
            return file.read(most)
    except OSError:
        return b""
