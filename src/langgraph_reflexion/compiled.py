"""The compiled graph: how LangGraph runs it, alone or as a part of another graph."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

from langchain_core.runnables import RunnableConfig, ensure_config
from langgraph.graph.state import CompiledStateGraph

from langgraph_reflexion._langgraph import AGENT_NAME
from langgraph_reflexion.choices import UNLIMITED
from langgraph_reflexion.errors import ConfigurationError

NAME = "Reflexion"
"""The name of a graph that is compiled without one."""


class CompiledReflexion(CompiledStateGraph[Any, Any, Any, Any]):
    """A compiled graph without LangGraph's limit on supersteps, as trials and the heuristic bound the loop.

    Inside a tool or a pipe a graph gets a limit of 25 that nobody chose, and as a subgraph its parent's.

    `invoke` returns the whole final state, as the last value of `stream` does. As a node of another graph it returns
    the fields of the output schema, so that the other graph keeps a `task` or a `status` of its own.
    """

    def invoke(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> Any:
        return super().invoke(input, config, **self._whole(config) | options)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> Any:
        return await super().ainvoke(input, config, **self._whole(config) | options)

    def stream(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> Iterator[Any]:
        return super().stream(input, self._unlimited(config), **options)

    def astream(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> AsyncIterator[Any]:
        return super().astream(input, self._unlimited(config), **options)

    def _whole(self, config: RunnableConfig | None) -> dict[str, Any]:
        """Return the option by which the whole state is returned, unless a graph calls this one as its node."""
        as_node = bool((config or {}).get("configurable", {}).get("checkpoint_ns"))
        return {} if as_node else {"output_keys": self.stream_channels_asis}

    def _unlimited(self, config: RunnableConfig | None) -> RunnableConfig:
        alone = "checkpoint_ns" not in ensure_config(config)["configurable"]  # not in a run of another graph
        if alone and self.checkpointer is None and getattr(self.builder, "pauses", False):
            how = "create_reflexion(...).compile(checkpointer=...)"
            raise ConfigurationError(f"pauses for approval need a checkpointer: {how}")
        called: RunnableConfig = {**(config or {}), "recursion_limit": UNLIMITED}
        if self.name != NAME:
            called["metadata"] = {**called.get("metadata", {}), AGENT_NAME: self.name}
        return called
