"""The one layer that tries again: model calls, and an environment's actions."""

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

        # tenacity awaits what it knows to be a coroutine function, and a lambda is none.
        async def awaited() -> T:
            return await attempt()

        retrying = AsyncRetrying(
            stop=stop_after_attempt(self.attempts),
            wait=self._wait,
            retry=retry_if_exception(self._worth_it),
            before_sleep=_say,
            reraise=True,
        )
        return await retrying(awaited)

    def _worth_it(self, error: BaseException) -> bool:
        return isinstance(error, Fault) and error.transient and (error.retry_after or 0) <= self.longest_wait

    def _wait(self, state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        asked = error.retry_after if isinstance(error, Fault) else None
        if asked is not None:
            return asked
        doubled = self.first_wait * 2 ** (state.attempt_number - 1)
        return float(min(doubled + random.uniform(0, self.first_wait), self.longest_wait))


def _say(state: RetryCallState) -> None:
    error = state.outcome.exception() if state.outcome else None
    wait = state.next_action.sleep if state.next_action else 0.0
    _log.info("attempt %d: %s; the next one in %.1f s", state.attempt_number, error, wait)
