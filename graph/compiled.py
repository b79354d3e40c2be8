"""The graph as it is run: without LangGraph's limit on supersteps."""

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.graph import StateGraph
from langgraph.graph.state import CompiledStateGraph

from langgraph_reflexion._langgraph import AGENT_NAME
from langgraph_reflexion.envs.pool import EpisodePool
from langgraph_reflexion.models.client import Client

NO_LIMIT = 1_000_000
"""More supersteps than any run takes: trials and the heuristic bound the loop."""
UNNAMED = "LangGraph"
"""What LangGraph calls a graph that was given no name."""


class CompiledReflexion(CompiledStateGraph[Any, None, Any, Any]):
    """A compiled graph whose runs end by their own rules.

    Called inside a tool, a pipe or a batch, a graph is handed a recursion limit of 25 that nobody chose, and as a
    node it inherits its parent's: one trial takes more supersteps than that. So the limit does not apply here.
    """

    def stream(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> Iterator[Any]:
        """See `Pregel.stream`; `invoke` and `batch` come by here, too."""
        return super().stream(input, self._as_called(config), **options)

    def astream(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> AsyncIterator[Any]:
        """See `Pregel.astream`; `ainvoke` and `abatch` come by here, too."""
        return super().astream(input, self._as_called(config), **options)

    def _as_called(self, config: RunnableConfig | None) -> RunnableConfig:
        called: RunnableConfig = {**(config or {}), "recursion_limit": NO_LIMIT}
        if self.name != UNNAMED:
            called["metadata"] = {**called.get("metadata", {}), AGENT_NAME: self.name}
        return called


class ReflexionGraph(StateGraph[Any, None, Any, Any]):
    """The graph before it is compiled, so that checkpointer, store and name are the caller's.

    Attributes:
        clients: Its models as its nodes call them: the actor's, and the one that reflects.
        pool: The episodes that its nodes share. Close it when no run is left.
    """

    clients: Sequence[Client] = ()
    pool: EpisodePool

    def compile(self, *args: Any, **options: Any) -> CompiledReflexion:
        """See `StateGraph.compile`."""
        compiled = super().compile(*args, **options)
        # LangGraph names the class itself; ours adds methods and no state.
        compiled.__class__ = CompiledReflexion
        return cast(CompiledReflexion, compiled)
