"""A list in place of one model or agent: one for each trial, and the last for all further ones."""

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def of_trial(given: Sequence[T], trial: int) -> T:
    """Return the element of a trial, counted from 1."""
    place = min(trial, len(given)) - 1
    # A trial that has not begun is 0.
    return given[max(place, 0)]
