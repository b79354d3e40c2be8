"""The tools of one trial: opened, called and closed in one thread, asynchronous ones on the background loop."""

import asyncio
import contextvars
import json
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, TypeVar, get_origin

from langchain.tools import InjectedState, InjectedStore, ToolRuntime
from langchain_core.messages import BaseMessage
from langchain_core.runnables import ensure_config
from langchain_core.tools import BaseTool, InjectedToolCallId, Tool
from langchain_core.tools import tool as to_tool
from langgraph.errors import GraphBubbleUp
from langgraph.runtime import Runtime, get_runtime
from langgraph.types import Command

from langgraph_reflexion.errors import ConfigurationError, Fault
from langgraph_reflexion.support.sync import finished, run_blocking

_WANTED = "give a list of LangChain tools and functions with docstrings, or a toolkit"

Injected = Mapping[str, Callable[[str], Any]]
"""The arguments by name: functions of a call's id."""


def injected(tool: BaseTool, known: Mapping[str, Any]) -> Injected:
    """Return the arguments of a tool that no model sees.

    These are LangChain's `InjectedState`, `InjectedStore` and `ToolRuntime`, whose state is the world's, and by name
    `task` and `state`.

    Raises:
        ConfigurationError: the tool needs another one, or a state that the world does not have.
    """
    # A JSON schema, as MCP servers send it, cannot mark an argument as injected: a model sees all of them.
    if isinstance(tool.args_schema, dict):
        return {}
    schema: Any = tool.get_input_schema()
    seen: Any = tool.tool_call_schema
    given: dict[str, Callable[[str], Any]] = {}
    for name, field in schema.model_fields.items():
        if name in seen.model_fields:
            continue
        # LangChain itself fills in the id of the call.
        if _note(field, InjectedToolCallId) is not None:
            continue
        argument = _argument(tool, name, field, known)
        if argument is not None:
            given[name] = argument
        elif field.is_required():
            raise ConfigurationError(
                f"the tool {tool.name!r} needs {name!r}, which is injected: here only {' and '.join(known)} are "
                "known, so bind it, such as with functools.partial"
            )
    return given


def _argument(tool: BaseTool, name: str, field: Any, known: Mapping[str, Any]) -> Callable[[str], Any] | None:
    """Return what gives an injected argument; None if nothing is known of it."""
    state = _note(field, InjectedState)
    if state is not None:
        return _state(tool, known["state"], getattr(state, "field", None))
    if _note(field, InjectedStore) is not None:
        return lambda call_id: _store(tool)
    if ToolRuntime in (field.annotation, get_origin(field.annotation)):
        return lambda call_id: _runtime(known["state"], call_id)
    if name in known:
        return _always(known[name])
    return None


def _note(field: Any, kind: type) -> Any:
    """Return the note of this kind in a field's annotation, which may be the class itself; None without one."""
    for note in reversed(field.metadata):
        if note is kind or type(note) is kind:
            return note
    return None


def _always(value: Any) -> Callable[[str], Any]:
    return lambda call_id: value


def _state(tool: BaseTool, state: Any, field: str | None) -> Callable[[str], Any]:
    if state is None:
        raise ConfigurationError(
            f"the tool {tool.name!r} needs the state: let the function that makes the tools return (tools, state)"
        )
    if field is None:
        return _always(state)
    if isinstance(state, Mapping):
        return lambda call_id: state[field]
    return lambda call_id: getattr(state, field)


def _store(tool: BaseTool) -> Any:
    store = _graph().store
    if store is None:
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


_T = TypeVar("_T")


class Opened:
    """What is made for one trial: entered, used and left in one thread.

    Args:
        given: It, a (possibly asynchronous) context manager of it, or a function of the task that returns either.
        task: The task.
    """

    def __init__(self, given: Any, task: Mapping[str, Any]) -> None:
        # Databases and browsers often belong to the thread that opened them.
        self._thread = ThreadPoolExecutor(1, "tools")
        self._leave: Callable[[], Any] | None = None
        try:
            self.run(lambda: self._open(given, task))
        except BaseException:
            self.close()
            raise

    def run(self, call: Callable[[], _T]) -> _T:
        """Make a call in the trial's thread."""
        # In the context of the caller, in which LangChain traces and LangGraph finds its runtime.
        return self._thread.submit(contextvars.copy_context().run, call).result()

    def close(self) -> None:
        """Leave the context manager, if any. May be called twice."""
        leave = self._leave
        self._leave = None
        try:
            if leave:
                self.run(leave)
        finally:
            self._thread.shutdown(wait=False)

    def _open(self, given: Any, task: Mapping[str, Any]) -> None:
        # Some tools are callable, too.
        if callable(given) and not isinstance(given, BaseTool):
            given = finished(given(task))
        if isinstance(given, AbstractContextManager):
            manager = given
            given = manager.__enter__()
            self._leave = lambda: manager.__exit__(None, None, None)
        elif hasattr(given, "__aenter__"):
            held = Held(given)
            given = run_blocking(held.enter())
            self._leave = lambda: run_blocking(held.leave())
        self.given: Any = given


class Called(NamedTuple):
    """The result of a call."""

    words: str
    failed: bool = False
    """Whether the tool raised an exception, or reported an error."""


class ToolWorld(Opened):
    """The tools that `given` makes, and the state that it gives beside them.

    Args:
        given: Tools, a toolkit, a pair of these and a state; or what `Opened` makes these of.
        task: The task.
    """

    def __init__(self, given: Any, task: Mapping[str, Any]) -> None:
        self._calls = 0
        self.state: Any = None
        self.tools: dict[str, BaseTool] = {}
        self._injected: dict[str, Injected] = {}
        super().__init__(given, task)

    def call(self, name: str, args: dict[str, Any]) -> Called:
        """Call a tool, and return its result in words; an exception gives words, too.

        Raises:
            Fault: the tool raised one.
            ConfigurationError: it needs the graph's store, and there is none.
        """
        return self.run(lambda: self._call(self.tools[name], args))

    def _open(self, given: Any, task: Mapping[str, Any]) -> None:
        super()._open(given, task)
        given = self.given
        if _has_state(given):
            given, self.state = given
        for each in as_tools(given):
            if each.name in self.tools:
                raise ConfigurationError(f"two tools have the name {each.name!r}")
            self.tools[each.name] = each
            self._injected[each.name] = injected(each, {"task": task, "state": self.state})

    def _call(self, tool: BaseTool, args: dict[str, Any]) -> Called:
        self._calls += 1
        call_id = f"call_{self._calls}"
        args = dict(args)
        for name, given in self._injected[tool.name].items():
            args[name] = given(call_id)
        call = {"type": "tool_call", "name": tool.name, "args": args, "id": call_id}
        try:
            result = _invoked(tool, call)
            failed = getattr(result, "status", "") == "error"
            return Called(in_words(result), failed)
        except (Fault, GraphBubbleUp):
            raise
        except Exception as error:
            # The words of LangGraph's ToolNode.
            return Called(f"Error: {error!r}\n Please fix your mistakes.", failed=True)


def _has_state(given: Any) -> bool:
    """Return whether what was given is a pair of tools and a state, and not two tools."""
    if not isinstance(given, tuple) or len(given) != 2:
        return False
    return isinstance(given[0], list | tuple) or is_toolkit(given[0])


def _invoked(tool: BaseTool, call: dict[str, Any]) -> Any:
    """Return a tool's result, synchronously if the tool can be called so."""
    is_asynchronous = getattr(tool, "coroutine", None) and not getattr(tool, "func", None)
    if is_asynchronous:
        return finished(tool.ainvoke(call))
    try:
        return tool.invoke(call)
    except NotImplementedError:
        return finished(tool.ainvoke(call))


class Held:
    """An asynchronous context manager that one task enters and leaves, as anyio's cancel scopes require."""

    def __init__(self, manager: Any) -> None:
        self.manager = manager

    async def enter(self) -> Any:
        self.leaving = asyncio.Event()
        entered: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.task = asyncio.create_task(self._hold(entered))
        await asyncio.wait([entered, self.task], return_when=asyncio.FIRST_COMPLETED)
        if not entered.done():
            # It has failed, and raises here.
            await self.task
        return entered.result()

    async def leave(self) -> None:
        self.leaving.set()
        await self.task

    async def _hold(self, entered: "asyncio.Future[Any]") -> None:
        async with self.manager as given:
            entered.set_result(given)
            await self.leaving.wait()


def as_tools(given: Any) -> list[BaseTool]:
    """Return tools, functions or a toolkit as tools.

    Raises:
        ConfigurationError: one cannot be a tool.
    """
    several = given
    if is_toolkit(given):
        several = given.get_tools()
    elif isinstance(given, BaseTool):
        several = [given]
    if not isinstance(several, Iterable) or isinstance(several, str):
        raise ConfigurationError(f"tools: {_WANTED}, not {several!r:.100}")
    return [_as_tool(each) for each in several]


def _as_tool(given: Any) -> BaseTool:
    if isinstance(given, BaseTool):
        return given
    if not callable(given):
        raise ConfigurationError(f"tools: {_WANTED}: {given!r:.100} is none")
    try:
        made: BaseTool = to_tool(given)
        return made
    except (TypeError, ValueError) as error:
        raise ConfigurationError(f"tools: {_WANTED}: {given!r:.100}: {error}") from error


def is_toolkit(given: Any) -> bool:
    """Return whether it is a toolkit of LangChain's."""
    return callable(getattr(given, "get_tools", None))


def schema_of(tool: BaseTool) -> dict[str, Any]:
    """Return the JSON schema of a tool's arguments, without injected ones."""
    if isinstance(tool, Tool) and tool.args_schema is None:
        # It takes one text, whatever its function's parameters are.
        return {"properties": tool.args, "required": list(tool.args)}
    schema: Any = tool.tool_call_schema
    if not isinstance(schema, dict):
        schema = schema.model_json_schema()
    return {"properties": {}, **schema}


def in_words(result: Any) -> str:
    """Return a tool's message, or the messages of its `Command`, as text."""
    if isinstance(result, Command):
        update = dict(result.update or ())
        return in_words(list(update.get("messages", [])))
    content = result
    if isinstance(result, BaseMessage):
        content = result.content
    if not isinstance(content, list):
        content = [content]
    return "\n".join(_block(block) for block in content)


def _block(block: Any) -> str:
    if isinstance(block, str):
        return block
    if isinstance(block, BaseMessage | Command):
        return in_words(block)
    if isinstance(block, Mapping) and block.get("type") == "text":
        return str(block.get("text", ""))
    if isinstance(block, Mapping):
        # Ids are random, and data is not for reading.
        block = {key: value for key, value in block.items() if key not in ("id", "data", "base64")}
    return json.dumps(block, ensure_ascii=False, default=str)
