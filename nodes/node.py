"""How a coroutine function becomes a node that also works under `graph.invoke`."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine
from functools import cache
from typing import Any, TypeVar

from langchain_core.runnables import Runnable, RunnableConfig

from langgraph_reflexion.graph.state import ReflexionState

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
        """Run on the caller's event loop."""
        return await self.function(input, config or {})


class Router(Runnable[ReflexionState, str]):
    """A conditional edge: a pure function of the state. As a runnable it costs half of what a plain function does."""

    def __init__(self, function: Callable[[ReflexionState], str]) -> None:
        self.function = function
        self.name = function.__name__

    def invoke(self, input: ReflexionState, config: RunnableConfig | None = None, **kwargs: Any) -> str:
        """Where to go from here."""
        return self.function(input)

    async def ainvoke(self, input: ReflexionState, config: RunnableConfig | None = None, **kwargs: Any) -> str:
        """Where to go from here."""
        return self.function(input)


def run_blocking(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine from synchronous code, whether or not this thread runs an event loop."""

    async def contained() -> tuple[list[T], BaseException | None]:
        # An exit that is raised in the loop would end its thread, and everybody who waits for it would wait for ever.
        try:
            return [await coroutine], None
        except (SystemExit, KeyboardInterrupt) as leaving:
            return [], leaving

    result, leaving = asyncio.run_coroutine_threadsafe(contained(), _background_loop()).result()
    if leaving:
        raise leaving
    return result[0]


@cache
def _background_loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="langgraph-reflexion", daemon=True).start()
    return loop
