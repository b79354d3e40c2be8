"""How a coroutine function becomes a node that also works under `graph.invoke`."""

import asyncio
import contextlib
import os
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from langchain_core.runnables import Runnable, RunnableConfig

from langgraph_reflexion.state import ReflexionState

T = TypeVar("T")

Update = dict[str, Any]
"""What a node writes: some keys of the state."""


class Node(Runnable[ReflexionState, Update]):
    """A node of the graph: asynchronous at heart, callable from synchronous code too.

    Synchronous calls run on one background event loop for the whole process, so that they work in a notebook, where
    a loop is running already, and so that an HTTP client always meets the loop it began with.
    """

    def __init__(self, function: Callable[[ReflexionState, RunnableConfig], Awaitable[Update]]) -> None:
        self.function = function
        self.name = type(function).__name__

    def invoke(self, input: ReflexionState, config: RunnableConfig | None = None, **kwargs: Any) -> Update:
        """Run from synchronous code."""
        return run_blocking(self.ainvoke(input, config))

    async def ainvoke(self, input: ReflexionState, config: RunnableConfig | None = None, **kwargs: Any) -> Update:
        """Run on the caller's event loop, and add the time that it takes to the task's."""
        began = time.perf_counter()
        return timed(await self.function(input, config or {}), input, began)


def timed(update: Update, state: ReflexionState, began: float) -> Update:
    """A node's update with the time since it began added to the task's."""
    before = update.get("seconds", state.get("seconds", 0.0))
    return update | {"seconds": before + time.perf_counter() - began}


class _Background:
    """One event loop in a thread of its own, for all synchronous calls of the process."""

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
                "graph.invoke was called from within a graph that runs synchronously, and would wait for itself: "
                "await graph.ainvoke there, or do it in a thread"
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
            # An exit that is raised in one of the loop's tasks leaves the loop as well as the task. The task keeps
            # it for whoever waits; the loop goes on for the others.
            with contextlib.suppress(SystemExit, KeyboardInterrupt):
                self._loop.run_forever()


async def _contained(coroutine: Coroutine[Any, Any, T]) -> tuple[list[T], BaseException | None]:
    try:
        return [await coroutine], None
    except (SystemExit, KeyboardInterrupt) as leaving:
        return [], leaving


_background = _Background()


def _forget_background() -> None:
    """After a fork: the loop was inherited, and its thread was not."""
    global _background
    _background = _Background()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_background)


def run_blocking(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine from synchronous code, whether or not this thread runs an event loop.

    Raises:
        RuntimeError: it is called on the background loop itself, and would wait for ever.
    """
    return _background.run(coroutine)
