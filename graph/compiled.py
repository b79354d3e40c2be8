"""The compiled graph: how LangGraph runs it, alone or as a part of another graph."""

from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator, Mapping, Sequence
from contextlib import aclosing, closing
from typing import Any, cast

from langchain_core.callbacks import BaseCallbackHandler, BaseCallbackManager
from langchain_core.runnables import RunnableConfig, ensure_config
from langgraph.graph.state import CompiledStateGraph

from langgraph_reflexion.agents.transcript import as_message
from langgraph_reflexion.errors import ConfigurationError
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
        return super().invoke(input, config, **self._whole(config) | options)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> Any:
        return await super().ainvoke(input, config, **self._whole(config) | options)

    def stream(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> Iterator[Any]:
        self._check(input)
        called = self._unlimited(config, options)
        if not self._streams_tokens(options):
            return super().stream(input, called, **options)
        return self._outer(super().stream(input, called, **options | {"subgraphs": True}), options)

    def astream(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> AsyncIterator[Any]:
        self._check(input)
        called = self._unlimited(config, options)
        if not self._streams_tokens(options):
            return super().astream(input, called, **options)
        return self._aouter(super().astream(input, called, **options | {"subgraphs": True}), options)

    def _streams_tokens(self, options: Mapping[str, Any]) -> bool:
        """Return whether a wrapped agent's messages are streamed; without subgraphs, as if they were this graph's."""
        modes = options.get("stream_mode") or self.stream_mode
        alone = "checkpoint_ns" not in ensure_config()["configurable"]
        return alone and "messages" in ([modes] if isinstance(modes, str) else modes)

    def _outer(self, chunks: Iterator[Any], options: Mapping[str, Any]) -> Iterator[Any]:
        with closing(cast(Generator[Any, None, None], chunks)):
            for chunk in chunks:
                yield from self._shown(chunk, options)

    async def _aouter(self, chunks: AsyncIterator[Any], options: Mapping[str, Any]) -> AsyncIterator[Any]:
        async with aclosing(cast(AsyncGenerator[Any, None], chunks)):
            async for chunk in chunks:
                for each in self._shown(chunk, options):
                    yield each

    def _shown(self, chunk: Any, options: Mapping[str, Any]) -> Iterator[Any]:
        """Yield a chunk of a stream with subgraphs as the caller is to see it."""
        modes = options.get("stream_mode") or self.stream_mode
        if not options.get("subgraphs"):
            yield from outermost(chunk, modes)
        elif mode_of(chunk, modes) == "messages":
            yield with_message(chunk)
        else:
            yield chunk

    def _whole(self, config: RunnableConfig | None) -> dict[str, Any]:
        """Return the option by which the whole state is returned, unless a graph calls this one as its node."""
        as_node = bool((config or {}).get("configurable", {}).get("checkpoint_ns"))
        return {} if as_node else {"output_keys": self.stream_channels_asis}

    def _check(self, input: Any) -> None:
        """Refuse the unknown fields of an input whose schema forbids them, which LangGraph would ignore."""
        schema: Any = self.builder.input_schema
        if not isinstance(input, Mapping) or getattr(schema, "model_config", {}).get("extra") != "forbid":
            return
        if unknown := ", ".join(repr(name) for name in input if name not in schema.model_fields):
            takes = ", ".join(schema.model_fields)
            raise ConfigurationError(f"unknown input field {unknown}: the input has the fields {takes}")

    def _unlimited(self, config: RunnableConfig | None, options: Mapping[str, Any]) -> RunnableConfig:
        if self.context_schema is ReflexionContext:
            check_context(options.get("context"))
        alone = "checkpoint_ns" not in ensure_config(config)["configurable"]  # not in a run of another graph
        if alone and self.checkpointer is None and getattr(self.builder, "pauses", False):
            how = "create_reflexion(...).compile(checkpointer=...)"
            raise ConfigurationError(f"approval pauses the run, which needs a checkpointer: {how}")
        called: RunnableConfig = {**(config or {}), "recursion_limit": UNLIMITED}
        called["callbacks"] = self._traced(config)
        if self.name != NAME:
            called["metadata"] = {**called.get("metadata", {}), AGENT_NAME: self.name}
        return called

    def _traced(self, config: RunnableConfig | None) -> BaseCallbackManager | list[BaseCallbackHandler]:
        """Return the callbacks of a run, with a tracer of trials of its own."""
        sources: list[Any] = [config, self.config, ensure_config()]
        given: Any = next((found for each in sources if each and (found := each.get("callbacks"))), [])
        if not isinstance(given, BaseCallbackManager):
            return [*given, TrialTracer()]
        callbacks = given.copy()
        callbacks.add_handler(TrialTracer(), inherit=True)
        return callbacks


def mode_of(chunk: Any, modes: str | Sequence[str]) -> str:
    """Return the mode of a chunk of a stream with subgraphs."""
    if isinstance(chunk, dict):  # LangGraph's version 2
        return str(chunk["type"])
    return modes if isinstance(modes, str) else str(chunk[1])


def outermost(chunk: Any, modes: str | Sequence[str]) -> Iterator[Any]:
    """Yield a chunk as a stream without subgraphs has it, if it is this graph's or a wrapped agent's message."""
    bare: Any
    mode = mode_of(chunk, modes)
    if mode == "messages":
        chunk = with_message(chunk)
    if isinstance(chunk, dict):
        within, bare = chunk["ns"], {**chunk, "ns": ()}
    else:
        within, *rest = chunk
        bare = rest[0] if isinstance(modes, str) else tuple(rest)
    if not within or (mode == "messages" and len(within) == 1 and within[0].startswith("act:")):
        yield bare


def with_message(chunk: Any) -> Any:
    """Return a chunk of `messages` with a message, of which a server has sent the data."""
    if isinstance(chunk, dict):  # LangGraph's version 2
        [message, *about] = chunk["data"]
        return {**chunk, "data": (as_message(message), *about)}
    *where, [message, *about] = chunk
    return (*where, (as_message(message), *about))
