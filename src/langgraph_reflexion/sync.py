"""Bridges between synchronous and asynchronous code: a background event loop, and calls in threads."""

import asyncio
import contextlib
import os
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def to_thread(function: Callable[..., T], *args: Any) -> T:
    """Call a function in a thread. A `StopIteration`, which no future can hold, becomes a `RuntimeError`."""

    def call() -> T:
        try:
            return function(*args)
        except StopIteration as error:
            raise RuntimeError(f"{getattr(function, '__name__', 'the function')} raised StopIteration") from error

    return await asyncio.to_thread(call)


class _Background(threading.Thread):
    """An event loop in its own thread, for all synchronous calls of the process."""

    def __init__(self) -> None:
        super().__init__(name="langgraph-reflexion", daemon=True)
        self.loop = asyncio.new_event_loop()
        self.starting = threading.Lock()

    def run(self) -> None:
        while True:
            # An exit raised in a task also ends the loop. `_contained` passes it to the caller, and the loop
            # continues for the others.
            with contextlib.suppress(SystemExit, KeyboardInterrupt):
                self.loop.run_forever()


_background = _Background()


def _forget_background() -> None:
    """Replace the loop after a fork, which does not copy its thread."""
    global _background
    _background = _Background()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_background)


async def _contained(coroutine: Coroutine[Any, Any, T]) -> tuple[list[T], BaseException | None]:
    try:
        return [await coroutine], None
    except (SystemExit, KeyboardInterrupt) as leaving:
        return [], leaving


def run_blocking(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine from synchronous code, whether or not this thread runs an event loop.

    Raises:
        RuntimeError: it is called on the background loop itself, where it would deadlock.
    """
    with _background.starting:
        if _background.ident is None:
            _background.start()
    if threading.current_thread() is _background:
        coroutine.close()
        raise RuntimeError(
            "graph.invoke was called inside a graph that runs synchronously, and would wait for itself: "
            "await graph.ainvoke there, or call graph.invoke in a thread"
        )
    future = asyncio.run_coroutine_threadsafe(_contained(coroutine), _background.loop)
    try:
        result, leaving = future.result()
    except BaseException:
        future.cancel()
        raise
    if leaving:
        raise leaving
    return result[0]
