"""What a caller sees of a stream with subgraphs: a wrapped agent's messages as if they were the graph's own."""

from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator, Sequence
from contextlib import aclosing, closing
from typing import Any, cast

from langgraph_reflexion.agents.transcript import as_message

Modes = str | Sequence[str]
"""The caller's `stream_mode`: chunks of a list of modes name theirs, chunks of a single mode do not."""


def shown_stream(chunks: Iterator[Any], modes: Modes, *, subgraphs: bool) -> Iterator[Any]:
    """Yield the chunks of a stream with subgraphs as the caller is to see them.

    Args:
        chunks: The stream, which is closed with this one.
        modes: The caller's stream modes.
        subgraphs: Whether the caller has asked for subgraphs.
    """
    # LangGraph declares an iterator and returns a generator, which can be closed.
    generator = cast(Generator[Any, None, None], chunks)
    with closing(generator):
        for chunk in generator:
            yield from shown(chunk, modes, subgraphs=subgraphs)


async def shown_astream(chunks: AsyncIterator[Any], modes: Modes, *, subgraphs: bool) -> AsyncIterator[Any]:
    """Yield the chunks of an asynchronous stream, as `shown_stream` does."""
    generator = cast(AsyncGenerator[Any, None], chunks)
    async with aclosing(generator):
        async for chunk in generator:
            for each in shown(chunk, modes, subgraphs=subgraphs):
                yield each


def shown(chunk: Any, modes: Modes, *, subgraphs: bool) -> Iterator[Any]:
    """Yield a chunk of a stream with subgraphs as the caller is to see it, if at all."""
    if not subgraphs:
        yield from outermost(chunk, modes)
    elif mode_of(chunk, modes) == "messages":
        yield with_message(chunk)
    else:
        yield chunk


def mode_of(chunk: Any, modes: Modes) -> str:
    """Return the mode of a chunk of a stream with subgraphs."""
    if isinstance(chunk, dict):  # LangGraph's version 2
        return str(chunk["type"])
    if isinstance(modes, str):
        return modes
    return str(chunk[1])


def outermost(chunk: Any, modes: Modes) -> Iterator[Any]:
    """Yield a chunk as a stream without subgraphs has it, if it is this graph's or a wrapped agent's message."""
    is_message = mode_of(chunk, modes) == "messages"
    if is_message:
        chunk = with_message(chunk)
    namespace, bare = without_namespace(chunk, modes)
    from_this_graph = not namespace
    from_agent = is_message and is_wrapped_agent(namespace)
    if from_this_graph or from_agent:
        yield bare


def without_namespace(chunk: Any, modes: Modes) -> tuple[Sequence[str], Any]:
    """Return the namespace of a chunk of a stream with subgraphs, and the chunk of one without."""
    if isinstance(chunk, dict):  # LangGraph's version 2
        return chunk["ns"], {**chunk, "ns": ()}
    namespace, *rest = chunk
    if isinstance(modes, str):
        return namespace, rest[0]
    return namespace, tuple(rest)


def is_wrapped_agent(namespace: Sequence[str]) -> bool:
    """Return whether chunks of this namespace are those of the agent that the node `act` calls."""
    # LangGraph documents a namespace as the path to the node that runs a subgraph, "node:task id" for each graph on
    # it. It is read here because a message's metadata name the innermost node alone, such as the agent's own `model`,
    # and because graphs that the agent calls itself, with a longer path, are not to be heard.
    return len(namespace) == 1 and namespace[0].startswith("act:")


def with_message(chunk: Any) -> Any:
    """Return a chunk of `messages` with a message, of which a server has sent the data."""
    if isinstance(chunk, dict):  # LangGraph's version 2
        [message, *about] = chunk["data"]
        return {**chunk, "data": (as_message(message), *about)}
    *where, [message, *about] = chunk
    return (*where, (as_message(message), *about))
