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
        return self._thread.submit(contextvars.copy_context().run, call).result()

    def close(self) -> None:
        """Leave the context manager, if any. May be called twice."""
        leave, self._leave = self._leave, None
        try:
            if leave:
                self.run(leave)
        finally:
            self._thread.shutdown(wait=False)

    def _open(self, given: Any, task: Mapping[str, Any]) -> None:
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
        if (
            isinstance(given, tuple)
            and len(given) == 2
            and (isinstance(given[0], list | tuple) or is_toolkit(given[0]))
        ):
            given, self.state = given
        for each in as_tools(given):
            if each.name in self.tools:
                raise ConfigurationError(f"two tools have the name {each.name!r}")
            self.tools[each.name] = each
            self._injected[each.name] = injected(each, {"task": task, "state": self.state})

    def _call(self, tool: BaseTool, args: dict[str, Any]) -> Called:
        self._calls += 1
        call_id = f"call_{self._calls}"
        args = args | {name: given(call_id) for name, given in self._injected[tool.name].items()}
        call = {"type": "tool_call", "name": tool.name, "args": args, "id": call_id}
        try:
            if getattr(tool, "coroutine", None) and not getattr(tool, "func", None):
                result = finished(tool.ainvoke(call))
            else:
                try:
                    result = tool.invoke(call)
                except NotImplementedError:
                    result = finished(tool.ainvoke(call))
            return Called(in_words(result), getattr(result, "status", "") == "error")
        except (Fault, GraphBubbleUp):
            raise
        except Exception as error:
            # The words of LangGraph's ToolNode.
            return Called(f"Error: {error!r}\n Please fix your mistakes.", failed=True)


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
            await self.task  # raises
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
    several = given.get_tools() if is_toolkit(given) else [given] if isinstance(given, BaseTool) else given
    wanted = "give a list of LangChain tools and functions with docstrings, or a toolkit"
    if not isinstance(several, Iterable) or isinstance(several, str):
        raise ConfigurationError(f"tools: {wanted}, not {several!r:.100}")
    made = list[BaseTool]()
    for each in several:
        if not callable(each) and not isinstance(each, BaseTool):
            raise ConfigurationError(f"tools: {wanted}: {each!r:.100} is none")
        try:
            made.append(each if isinstance(each, BaseTool) else to_tool(each))
        except (TypeError, ValueError) as error:
            raise ConfigurationError(f"tools: {wanted}: {each!r:.100}: {error}") from error
    return made


def is_toolkit(given: Any) -> bool:
    """Return whether it is a toolkit of LangChain's."""
    return callable(getattr(given, "get_tools", None))


def schema_of(tool: BaseTool) -> dict[str, Any]:
    """Return the JSON schema of a tool's arguments, without injected ones."""
    if isinstance(tool, Tool) and tool.args_schema is None:  # of one text, whatever its function's parameters are
        return {"properties": tool.args, "required": [*tool.args]}
    schema: Any = tool.tool_call_schema
    described: dict[str, Any] = schema if isinstance(schema, dict) else schema.model_json_schema()
    return {"properties": {}, **described}


def in_words(result: Any) -> str:
    """Return a tool's message, or the messages of its `Command`, as text."""
    if isinstance(result, Command):
        update = result.update if isinstance(result.update, Mapping) else dict(result.update or ())
        return in_words([*update.get("messages", [])])
    content = result.content if isinstance(result, BaseMessage) else result
    blocks = content if isinstance(content, list) else [content]
    return "\n".join(each if isinstance(each, str) else _block(each) for each in blocks)


def _block(block: Any) -> str:
    if isinstance(block, BaseMessage | Command):
        return in_words(block)
    if isinstance(block, Mapping) and block.get("type") == "text":
        return str(block.get("text", ""))
    if isinstance(block, Mapping):  # ids are random, data is not for reading
        block = {key: value for key, value in block.items() if key not in ("id", "data", "base64")}
    return json.dumps(block, ensure_ascii=False, default=str)
