"""Habits of the demo model: mistakes that it repeats on a task until a reflection names them."""

import hashlib
from collections.abc import Callable, Mapping
from random import Random

LUCK = 0.03
"""Probability of avoiding a slip by chance."""


def habit(task: str, what: str) -> float:
    """Return a number from 0 to 1 that belongs to a task and a slip, and is the same in every trial."""
    digest = hashlib.blake2b(f"{task}\n{what}".encode(), digest_size=6).digest()
    return int.from_bytes(digest, "big") / 2**48


def slips_at(task: str, often: Mapping[str, float], rng: Random) -> Callable[[str], bool]:
    """Return a function that says whether it makes a slip now, by the slip's name.

    `often` is the share of tasks with each slip.
    """
    return lambda slip: habit(task, slip) < often[slip] and rng.random() >= LUCK
