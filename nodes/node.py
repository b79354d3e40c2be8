"""Nodes: asynchronous functions of the state that also work under `graph.invoke`."""

import time
from collections.abc import Awaitable, Callable
from typing import Any

from langchain_core.runnables import Runnable, RunnableConfig

from langgraph_reflexion.loop.tracing import observed
from langgraph_reflexion.state import ReflexionState, Update
from langgraph_reflexion.support.sync import run_blocking


class Node(Runnable[ReflexionState, Update]):
    """A node of the graph: a function of the state and the config, traced, with its time added to `seconds`."""

    def __init__(self, function: Callable[[ReflexionState, RunnableConfig], Awaitable[Update]], node: str) -> None:
        self.function = function
        self.node = node
        # The name of the run in traces.
        self.name = type(function).__name__

    def invoke(self, input: ReflexionState, config: RunnableConfig | None = None, **kwargs: Any) -> Update:
        return run_blocking(self.ainvoke(input, config))

    async def ainvoke(self, input: ReflexionState, config: RunnableConfig | None = None, **kwargs: Any) -> Update:
        began = time.perf_counter()
        update = await observed(self.node, self.function, input, config or {})
        return timed(update, input, began)


def timed(update: Update, state: ReflexionState, began: float) -> Update:
    """Add the seconds since `began` to the task's."""
    # `reset` sets the seconds of a new task to zero, while the state may still have those of the task before.
    before = update.get("seconds", state.get("seconds", 0.0))
    seconds = time.perf_counter() - began
    return update | {"seconds": before + seconds}
