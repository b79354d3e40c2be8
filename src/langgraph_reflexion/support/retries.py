"""Retries of model calls and of an environment's actions, and how long to wait for them."""

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TypeVar

from pydantic import NonNegativeFloat, PositiveInt

from langgraph_reflexion.errors import Fault, checked
from langgraph_reflexion.support.choices import ATTEMPTS

T = TypeVar("T")

WAITING = logging.getLogger("langgraph_reflexion.waiting")
"""The log of what a run waits for: the next attempt, or a slot of the model's server."""


@checked
@dataclass(frozen=True)
class Retries:
    """Retries after transient faults.

    The wait doubles from one attempt to the next, with jitter so that many tasks do not return at once. A server's
    `Retry-After` takes precedence.

    Attributes:
        attempts: Number of attempts in all; 1 means no retry.
        first_wait: Seconds before the second attempt.
        longest_wait: Maximal seconds between two attempts. A server that asks for more is not retried.
    """

    attempts: PositiveInt = ATTEMPTS
    first_wait: NonNegativeFloat = 1.0
    longest_wait: NonNegativeFloat = 60.0

    async def __call__(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Call `attempt` until it succeeds or a retry is not allowed.

        Raises:
            Fault: the last attempt's.
        """
        number = 0
        while True:
            number += 1
            try:
                return await attempt()
            except Fault as fault:
                patient = fault.transient and (fault.retry_after or 0) <= self.longest_wait
                if number >= self.attempts or not patient:
                    raise
                wait = self._wait_after(number, fault)
            await asyncio.sleep(wait)

    def _wait_after(self, attempts: int, fault: Fault) -> float:
        wait = fault.retry_after
        if wait is None:
            doubled = self.first_wait * 2 ** min(attempts - 1, 60)  # beyond that a float may overflow
            wait = min(doubled + random.uniform(0, self.first_wait), self.longest_wait)
        WAITING.info("retry %d of %d in %.1f s: %s", attempts, self.attempts - 1, wait, fault)
        return wait


def parse_retry_after(header: str | None) -> float | None:
    """Return the seconds to wait by a Retry-After header, a number or a date; None if it is neither."""
    if header is None:
        return None
    try:
        return max(0.0, float(header))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(header).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None
