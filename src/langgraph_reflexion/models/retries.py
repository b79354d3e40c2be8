"""The one layer that tries again: model calls, and an environment's actions."""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt

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
        # Nearly all first attempts succeed, and tenacity costs as much as a tenth of the step that it stands around.
        try:
            return await attempt()
        except Fault as fault:
            if self.attempts == 1 or not self._worth_it(fault):
                raise
            first = fault
        await asyncio.sleep(self._wait_after(1, first))
        retrying = AsyncRetrying(
            stop=stop_after_attempt(self.attempts - 1),
            wait=lambda state: self._wait_after(state.attempt_number + 1, _error(state)),
            retry=retry_if_exception(self._worth_it),
            reraise=True,
        )

        # tenacity awaits what it knows to be a coroutine function, and a lambda is none.
        async def awaited() -> T:
            return await attempt()

        return await retrying(awaited)

    def _worth_it(self, error: BaseException) -> bool:
        return isinstance(error, Fault) and error.transient and (error.retry_after or 0) <= self.longest_wait

    def _wait_after(self, attempts: int, error: BaseException | None) -> float:
        """How many seconds to wait after so many attempts."""
        asked = error.retry_after if isinstance(error, Fault) else None
        if asked is None:
            doubled = self.first_wait * 2 ** (attempts - 1)
            asked = min(doubled + random.uniform(0, self.first_wait), self.longest_wait)
        _log.info("attempt %d: %s; the next one in %.1f s", attempts, error, asked)
        return asked


def _error(state: RetryCallState) -> BaseException | None:
    return state.outcome.exception() if state.outcome else None
