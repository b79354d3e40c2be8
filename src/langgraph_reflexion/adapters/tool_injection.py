"""The arguments of tools that no model sees."""

from collections.abc import Callable, Mapping
from typing import Any, get_origin

from langchain.tools import InjectedState, InjectedStore, ToolRuntime
from langchain_core.runnables import ensure_config
from langchain_core.tools import BaseTool, InjectedToolCallId
from langgraph.runtime import Runtime, get_runtime

from langgraph_reflexion.errors import ConfigurationError

Injected = Mapping[str, Callable[[str], Any]]
"""The arguments by name: functions of a call's id."""


def injected(tool: BaseTool, known: Mapping[str, Any]) -> Injected:
    """Return the arguments of a tool that no model sees.

    These are LangChain's `InjectedState`, `InjectedStore` and `ToolRuntime`, whose state is the world's, and by name
    `task` and `state`.

    Raises:
        ConfigurationError: it needs another one, or a state that the world does not have.
    """
    if isinstance(tool.args_schema, dict):
        return {}
    schema: Any = tool.get_input_schema()
    seen: Any = tool.tool_call_schema
    given: dict[str, Callable[[str], Any]] = {}
    for name, field in schema.model_fields.items():
        if name in seen.model_fields:
            continue
        notes = {note if isinstance(note, type) else type(note): note for note in field.metadata}
        if InjectedToolCallId in notes:
            continue  # LangChain fills it in
        if InjectedState in notes:
            given[name] = _state(tool, known["state"], getattr(notes[InjectedState], "field", None))
        elif InjectedStore in notes:
            given[name] = lambda call_id: _store(tool)
        elif ToolRuntime in (field.annotation, get_origin(field.annotation)):
            given[name] = lambda call_id: _runtime(known["state"], call_id)
        elif name in known:
            given[name] = _always(known[name])
        elif field.is_required():
            raise ConfigurationError(
                f"the tool {tool.name!r} needs {name!r}, which is injected: here only {' and '.join(known)} are "
                "known, so bind it, such as with functools.partial"
            )
    return given


def _always(value: Any) -> Callable[[str], Any]:
    return lambda call_id: value


def _state(tool: BaseTool, state: Any, field: str | None) -> Callable[[str], Any]:
    if state is None:
        raise ConfigurationError(
            f"the tool {tool.name!r} needs the state: let the function that makes the tools return (tools, state)"
        )
    if field is None:
        return _always(state)
    return lambda call_id: state[field] if isinstance(state, Mapping) else getattr(state, field)


def _store(tool: BaseTool) -> Any:
    if (store := _graph().store) is None:
        raise ConfigurationError(f"the tool {tool.name!r} needs a store: compile the graph with store=...")
    return store


def _runtime(state: Any, call_id: str) -> ToolRuntime:
    graph = _graph()
    return ToolRuntime(
        state=state,
        context=graph.context,
        config=ensure_config(),
        stream_writer=graph.stream_writer,
        tool_call_id=call_id,
        store=graph.store,
    )


def _graph() -> Runtime[Any]:
    """Return the runtime of the graph; an empty one where no graph runs, such as in a test of the environment."""
    try:
        return get_runtime()
    except (KeyError, RuntimeError):
        return Runtime()
