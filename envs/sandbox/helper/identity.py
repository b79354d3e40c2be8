"""Which user a run gets: root hands every run to a user of its own, who owns nothing on the host.

Limits on the number of processes do not bind root, and runs of one user could signal each other.
"""

import os
from functools import lru_cache

NOBODY = 65534


def own_user() -> int | None:
    """The number of a user whom no other living run has, or None where it cannot or need not be changed.

    It is made from this process's number, and lies in the upper half of the numbers that there are.
    """
    if os.geteuid() != 0:
        return None
    first, many = numbers()
    user = first + os.getpid() % many if many else None
    return NOBODY - 1 if user == NOBODY else user


@lru_cache(maxsize=1)
def numbers() -> tuple[int, int]:
    """The first of the users' numbers that runs are given, and how many there are."""
    with open("/proc/self/uid_map", encoding="utf-8") as file:
        rows = [tuple(map(int, line.split())) for line in file]
    start, _, count = max(rows, key=lambda row: row[2])
    half = min(count, 1 << 31) // 2
    return start + half, half - 2 if count >= 1024 else 0


def become(user: int) -> None:
    """Become a user without groups, for good. Raises OSError."""
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
