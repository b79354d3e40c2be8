"""The compiled graph: how LangGraph runs it, alone or as a part of another graph."""

from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler, BaseCallbackManager
from langchain_core.runnables import RunnableConfig, ensure_config
from langgraph.graph.state import CompiledStateGraph

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.graph.streaming import Modes, shown_astream, shown_stream
from langgraph_reflexion.loop.context import ReflexionContext, check_context
from langgraph_reflexion.loop.tracing import TrialTracer
from langgraph_reflexion.support.choices import UNLIMITED
from langgraph_reflexion.support.langgraph import AGENT_NAME

NAME = "Reflexion"
"""The name of a graph that is compiled without one."""


class CompiledReflexion(CompiledStateGraph[Any, Any, Any, Any]):
    """A compiled graph without LangGraph's recursion limit, as the number of trials and the heuristic bound the loop.

    Inside a tool or a pipe, a graph would otherwise get a default limit of 25, and as a subgraph its parent's.

    `invoke` returns the whole final state, like the last value of `stream`. As a node of another graph it returns
    only the fields of the output schema, so that the other graph can have a `task` or a `status` of its own.
    """

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} of {self.builder!r}>"

    def invoke(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> Any:
        if not _is_node(config):
            # All channels of the state, which is more than the output schema has.
            options.setdefault("output_keys", self.stream_channels_asis)
        return super().invoke(input, config, **options)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> Any:
        if not _is_node(config):
            options.setdefault("output_keys", self.stream_channels_asis)
        return await super().ainvoke(input, config, **options)

    def stream(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> Iterator[Any]:
        # No generator: what is wrong with a call is said by the call, and not by its first chunk.
        check_input(self.builder.input_schema, input)
        called = self._called(config, options)
        modes = self._modes(options)
        if not _streams_tokens(modes):
            return super().stream(input, called, **options)
        # A wrapped agent is a subgraph, whose messages LangGraph streams only with subgraphs.
        wanted = bool(options.pop("subgraphs", False))
        chunks = super().stream(input, called, subgraphs=True, **options)
        return shown_stream(chunks, modes, subgraphs=wanted)

    def astream(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> AsyncIterator[Any]:
        check_input(self.builder.input_schema, input)
        called = self._called(config, options)
        modes = self._modes(options)
        if not _streams_tokens(modes):
            return super().astream(input, called, **options)
        wanted = bool(options.pop("subgraphs", False))
        chunks = super().astream(input, called, subgraphs=True, **options)
        return shown_astream(chunks, modes, subgraphs=wanted)

    def _modes(self, options: Mapping[str, Any]) -> Modes:
        """Return the modes in which a call streams: its own, or else the graph's."""
        modes: Modes = options.get("stream_mode") or self.stream_mode
        return modes

    def _called(self, config: RunnableConfig | None, options: Mapping[str, Any]) -> RunnableConfig:
        """Return the config of a run: without a limit, with a tracer of trials, and with the graph's name.

        Raises:
            ConfigurationError: the context has an unknown setting, or a pause could not be resumed.
        """
        # An agent's own context schema has fields that are not ours to refuse.
        if self.context_schema is ReflexionContext:
            check_context(options.get("context"))
        self._check_pauses(config)
        # A copy, as the caller's config may be used again.
        called = RunnableConfig(**(config or {}))
        called["recursion_limit"] = UNLIMITED
        called["callbacks"] = self._traced(config)
        # Streams and the answer show a name that somebody has given, and not the default.
        if self.name != NAME:
            metadata = dict(called.get("metadata", {}))
            metadata[AGENT_NAME] = self.name
            called["metadata"] = metadata
        return called

    def _check_pauses(self, config: RunnableConfig | None) -> None:
        """Refuse to run without a checkpointer what pauses for a person.

        Raises:
            ConfigurationError: the run could not be resumed.
        """
        pauses = getattr(self.builder, "pauses", False)
        if not pauses or self.checkpointer is not None:
            return
        # In a run of another graph, its checkpointer is this graph's, too.
        alone = "checkpoint_ns" not in ensure_config(config)["configurable"]
        if alone:
            how = "create_reflexion(...).compile(checkpointer=...)"
            raise ConfigurationError(f"approval pauses the run, which needs a checkpointer: {how}")

    def _traced(self, config: RunnableConfig | None) -> BaseCallbackManager | list[BaseCallbackHandler]:
        """Return the callbacks of a run, with a tracer of trials of its own."""
        given = self._callbacks(config)
        if not isinstance(given, BaseCallbackManager):
            return [*given, TrialTracer()]
        # A copy, as the manager may belong to a run around this one.
        callbacks = given.copy()
        callbacks.add_handler(TrialTracer(), inherit=True)
        return callbacks

    def _callbacks(self, config: RunnableConfig | None) -> Any:
        """Return the callbacks of a call: its own, else the graph's, else those of the run in which it is called."""
        for source in (config, self.config, ensure_config()):
            if source and source.get("callbacks"):
                return source["callbacks"]
        return []


def _is_node(config: RunnableConfig | None) -> bool:
    """Return whether another graph calls this one as its node: then only the output schema's fields are returned."""
    # Not `ensure_config`, which knows of a run around a tool, too: a graph that a tool calls is not a node.
    configurable = (config or {}).get("configurable", {})
    return bool(configurable.get("checkpoint_ns"))


def _streams_tokens(modes: Modes) -> bool:
    """Return whether a wrapped agent's messages are streamed; without subgraphs, as if they were this graph's."""
    # Within a run of another graph, that graph streams them.
    if "checkpoint_ns" in ensure_config()["configurable"]:
        return False
    if isinstance(modes, str):
        return modes == "messages"
    return "messages" in modes


def check_input(schema: Any, input: Any) -> None:
    """Refuse the unknown fields of an input whose schema forbids them, which LangGraph would ignore.

    Raises:
        ConfigurationError: there is such a field.
    """
    forbids = getattr(schema, "model_config", {}).get("extra") == "forbid"
    if not forbids or not isinstance(input, Mapping):
        return
    unknown = [repr(name) for name in input if name not in schema.model_fields]
    if not unknown:
        return
    takes = ", ".join(schema.model_fields)
    raise ConfigurationError(f"unknown input field {', '.join(unknown)}: the input has the fields {takes}")
