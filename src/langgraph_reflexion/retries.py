"""The one layer that tries again: model calls, and an environment's actions."""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from langgraph_reflexion.errors import ConfigurationError, Fault

T = TypeVar("T")

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Retries:
    """How often, and how patiently, something transient is tried again.

    The wait doubles from one attempt to the next, with some jitter so that many tasks do not come back at once. Where
    the other side says how long to wait (`Retry-After`), that is what is waited.

    Attributes:
        attempts: How often it is tried in all, 1 being never again.
        first_wait: Seconds before the second attempt.
        longest_wait: Seconds between two attempts at most. Whoever asks for more patience is not tried again.
    """

    attempts: int = 5
    first_wait: float = 1.0
    longest_wait: float = 60.0

    def __post_init__(self) -> None:
        if self.attempts < 1 or self.first_wait < 0 or self.longest_wait < 0:
            raise ConfigurationError(f"{self}: at least 1 attempt is needed, and no wait is negative")

    async def __call__(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Try until it succeeds, is no longer worth trying, or was tried often enough.

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
        """Return the seconds to wait after `attempts` attempts."""
        wait = fault.retry_after
        if wait is None:
            doubled = self.first_wait * 2 ** min(attempts - 1, 60)  # beyond that a float may overflow
            wait = min(doubled + random.uniform(0, self.first_wait), self.longest_wait)
        _log.info("attempt %d: %s; next attempt in %.1f s", attempts, fault, wait)
        return wait
