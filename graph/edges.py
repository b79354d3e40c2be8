"""Conditional edges that look at three fields of the state, and read no more than these."""

from collections.abc import Callable
from typing import Any

from langchain_core.runnables import Runnable, RunnableConfig

from langgraph_reflexion.graph.state import ReflexionState

WATCHED = ["fault", "status", "stop_reason"]
"""What routers look at (`graph.routing`)."""
BEFORE = "before"
"""Under which a router is given what these were before its node wrote."""
READ = "__pregel_read"
"""Where LangGraph has, in a config, what reads the state. The name is private."""


class Router(Runnable[ReflexionState, str]):
    """A conditional edge: a pure function of the state. As a runnable it costs half of what a plain function does."""

    def __init__(self, function: Callable[[ReflexionState], str]) -> None:
        self.function = function
        self.name = function.__name__

    def invoke(self, input: ReflexionState, config: RunnableConfig | None = None, **kwargs: Any) -> str:
        """Where to go from here."""
        state: Any = {**input.get(BEFORE, {}), **input}  # type: ignore[dict-item]
        return self.function(state)

    async def ainvoke(self, input: ReflexionState, config: RunnableConfig | None = None, **kwargs: Any) -> str:
        """Where to go from here."""
        return self.invoke(input)


class LeanEdge:
    """An edge of LangGraph's that does not copy the whole state at every step to see what its node has written.

    Its router is given what the node wrote in any case, and needs only what the watched fields were before. Where
    LangGraph keeps its reading elsewhere, the edge reads as it always did.

    Args:
        edge: The edge, as `StateGraph.branches` has it.
    """

    def __init__(self, edge: Any) -> None:
        self._edge = edge

    def __getattr__(self, name: str) -> Any:
        return getattr(self._edge, name)

    def run(self, writer: Any, reader: Callable[[RunnableConfig], Any] | None = None) -> Any:
        """What LangGraph does after the node."""

        def read(config: RunnableConfig) -> Any:
            try:
                return {BEFORE: config["configurable"][READ](WATCHED, False)}
            except (KeyError, TypeError):
                return reader(config) if reader else {}

        return self._edge.run(writer, read if reader and self._edge.input_schema is None else reader)
