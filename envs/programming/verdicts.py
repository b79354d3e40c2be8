"""What judging a candidate comes to."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a candidate passes the hidden tests."""

    passed: bool
    reason: str = ""
    """Why not, in one line that names the test; empty where it passes. Not for the loop's eyes."""
