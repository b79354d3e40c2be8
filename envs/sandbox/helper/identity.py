"""The user of a run: root gives every run its own user, who owns nothing on the host.

Limits on the number of processes do not apply to root, and runs of one user could signal each other.
"""

import os
from functools import lru_cache

NOBODY = 65534


def own_user() -> int | None:
    """Return a user id that no other living run has, or None if the user cannot or need not be changed.

    It is derived from this process's number, in the upper half of the available ids.
    """
    if os.geteuid() != 0:
        return None
    first, many = numbers()
    user = first + os.getpid() % many if many else None
    return NOBODY - 1 if user == NOBODY else user


@lru_cache(maxsize=1)
def numbers() -> tuple[int, int]:
    """Return the first user id for runs, and the number of ids."""
    with open("/proc/self/uid_map", encoding="utf-8") as file:
        rows = [tuple(map(int, line.split())) for line in file]
    start, _, count = max(rows, key=lambda row: row[2])
    half = min(count, 1 << 31) // 2
    return start + half, half - 2 if count >= 1024 else 0


def become(user: int) -> None:
    """Become a user without groups, irrevocably."""
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
