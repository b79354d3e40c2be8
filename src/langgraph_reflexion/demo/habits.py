"""What the demo model is prone to: mistakes that it makes again and again at a task, until it learns better."""

import hashlib


def habit(task: str, what: str) -> float:
    """A number below 1 that belongs to a task and a slip: the same in every trial."""
    digest = hashlib.blake2b(f"{task}\n{what}".encode(), digest_size=6).digest()
    return int.from_bytes(digest, "big") / 2**48
