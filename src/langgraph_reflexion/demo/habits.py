"""What the demo model is prone to: mistakes that it makes again and again at a task, until it learns better."""

import hashlib
from collections.abc import Callable, Mapping
from random import Random

LUCK = 0.03
"""How often it escapes a slip by chance."""


def habit(task: str, what: str) -> float:
    """A number below 1 that belongs to a task and a slip: the same in every trial."""
    digest = hashlib.blake2b(f"{task}\n{what}".encode(), digest_size=6).digest()
    return int.from_bytes(digest, "big") / 2**48


def slips_at(task: str, often: Mapping[str, float], rng: Random) -> Callable[[str], bool]:
    """Says whether it makes a slip now, by the slip's name.

    Args:
        task: What it is to do.
        often: At how many tasks it is prone to each slip.
        rng: Its luck.
    """
    return lambda slip: habit(task, slip) < often[slip] and rng.random() >= LUCK
