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


class _Background:
    """An event loop in its own thread, for all synchronous calls of the process."""

    def __init__(self) -> None:
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._loop = asyncio.new_event_loop()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        with self._starting:
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, name="langgraph-reflexion", daemon=True)
                self._thread.start()
        if threading.current_thread() is self._thread:
            coroutine.close()
            raise RuntimeError(
                "graph.invoke was called inside a graph that runs synchronously, and would wait for itself: "
                "await graph.ainvoke there, or call graph.invoke in a thread"
            )
        future = asyncio.run_coroutine_threadsafe(_contained(coroutine), self._loop)
        try:
            result, leaving = future.result()
        except BaseException:
            future.cancel()
            raise
        if leaving:
            raise leaving
        return result[0]

    def _serve(self) -> None:
        while True:
            # An exit raised in a task also ends the loop. `_contained` passes it to the caller, and the loop
            # continues for the others.
            with contextlib.suppress(SystemExit, KeyboardInterrupt):
                self._loop.run_forever()


async def _contained(coroutine: Coroutine[Any, Any, T]) -> tuple[list[T], BaseException | None]:
    try:
        return [await coroutine], None
    except (SystemExit, KeyboardInterrupt) as leaving:
        return [], leaving


_background = _Background()


def _forget_background() -> None:
    """Replace the loop after a fork, which does not copy its thread."""
    global _background
    _background = _Background()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_background)


def run_blocking(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine from synchronous code, whether or not this thread runs an event loop.

    Raises:
        RuntimeError: it is called on the background loop itself, where it would deadlock.
    """
    return _background.run(coroutine)
