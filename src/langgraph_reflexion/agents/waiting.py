"""How a call of an agent waits, in an event loop or in synchronous code, and for how long."""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Generator
from concurrent.futures import Future
from contextlib import closing
from contextvars import copy_context
from typing import Any, TypeVar

from langgraph_reflexion.support.sync import run_blocking

_T = TypeVar("_T")

Waiting = Callable[[Coroutine[Any, Any, Any]], Awaitable[Any]]
"""How a call waits: `awaiting` in its event loop, or `blocked` in synchronous code."""


async def awaiting(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Wait for a coroutine in this event loop."""
    return await coroutine


async def blocked(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Wait for a coroutine on the background loop.

    The agent itself runs in the caller's thread, which its checkpointer may need, and is driven without a loop.
    """
    return run_blocking(coroutine)


class OutOfTime(Exception):
    """The seconds of an agent's trial are over."""


async def within(seconds: float, coroutine: Coroutine[Any, Any, None]) -> None:
    """Wait for a coroutine, and cancel it after this time.

    Raises:
        OutOfTime: it took longer.
    """
    try:
        async with asyncio.timeout(seconds) as limit:
            await coroutine
    except TimeoutError as error:
        if limit.expired():
            raise OutOfTime from error
        raise  # a service's, inside the agent


def in_time(steps: Generator[_T, None, None], seconds: float | None) -> Generator[_T, None, None]:
    """Yield what a generator yields; with a limit, each of its steps is made in a thread that can be left behind.

    Raises:
        OutOfTime: the limit is over. The step that is being made goes on, and is the last one.
    """
    if seconds is None:
        with closing(steps):
            yield from steps
        return
    deadline = time.monotonic() + seconds
    # One context for all steps, as a step may read a context variable that an earlier one has set.
    context = copy_context()
    while True:
        step: Future[list[_T]] = Future()
        # A daemon, as the process must not wait at its end for a step that was left behind.
        thread = threading.Thread(target=context.run, args=(_make, step, steps), daemon=True)
        thread.start()
        try:
            made = step.result(max(0.0, deadline - time.monotonic()))
        except TimeoutError:
            # The step has ended by a timeout of its own, such as of a service that the agent calls.
            if step.done():
                raise
            raise OutOfTime from None
        # The generator has ended.
        if not made:
            return
        try:
            yield made[0]
        except GeneratorExit:
            context.run(steps.close)
            raise


def _make(step: "Future[list[_T]]", steps: Generator[_T, None, None]) -> None:
    try:
        made = [next(steps)]
    except StopIteration:
        made = []
    except BaseException as error:
        step.set_exception(error)
        return
    step.set_result(made)
