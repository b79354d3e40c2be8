"""Around LangGraph and LangChain: names that lower layers need or that are not documented, and fast routing."""

from collections.abc import Callable
from typing import Any

from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.errors import GraphBubbleUp

AGENT_NAME = "lc_agent_name"
"""Key in `metadata` of an agent's name, which LangChain's `create_agent` sets and LangGraph's streams show."""

Pause = GraphBubbleUp
"""Raised where a graph stops to ask a person; the same code runs again with the answer."""


class Router(Runnable[Any, str]):
    """A routing function that runs where it is called. LangGraph runs plain functions in threads: +40% CPU."""

    def __init__(self, function: Callable[[Any], str]) -> None:
        self.function = function
        self.name = function.__name__

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> str:
        return self.function(input)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> str:
        return self.function(input)
