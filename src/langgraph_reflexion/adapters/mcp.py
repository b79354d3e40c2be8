"""MCP servers as the tools of an environment. Needs the extra `mcp`.

```python
from langgraph_reflexion import ToolEnvironment
from langgraph_reflexion.adapters.mcp import mcp_tools

memory = mcp_tools({"memory": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-memory"]}})
environment = ToolEnvironment(memory, ["Note that Ada likes ink."], lambda task, answer: "done" in answer)
```
"""

import asyncio
import json
import os
import re
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from datetime import timedelta
from http import HTTPStatus
from typing import Any

from langchain_core.tools import BaseTool

from langgraph_reflexion.adapters.tool_world import Held
from langgraph_reflexion.envs.base import Task
from langgraph_reflexion.errors import ConfigurationError, EnvironmentFault, EnvironmentUnavailable, the_extra

Connections = Mapping[str, Mapping[str, Any]]

START_SECONDS = 60.0
"""Seconds in which a server must have started and listed its tools; `npx` and `uvx` may download it first."""

PING_SECONDS = 5.0
"""Seconds between two pings of the server during a call."""

LONGEST_CALL = timedelta(minutes=5)
"""The time limit of a call over HTTP, where an answer may get lost, unless `session_kwargs` has a
`read_timeout_seconds`."""

_SESSION_FORGOTTEN = 32600
"""The code of an error by which the SDK says that the server does not know the session; it has no name there."""

_LAST_WORDS = 500
"""Number of characters of a server's standard error in a message."""


def mcp_tools(
    servers: Connections | Callable[[Task], Connections],
) -> Callable[[Task], AbstractAsyncContextManager[list[BaseTool]]]:
    """Return the tools of MCP servers, for `ToolEnvironment`: a function that opens them for a trial.

    Each trial has its own sessions, and its own process of each server with a `command`; both end with it. A server
    that dies is a fault, with the last words of its standard error. Where two servers have a tool of the same name,
    it is preceded by the server's name.

    Args:
        servers: The connection of each server by name, as `MultiServerMCPClient` of langchain-mcp-adapters takes
            them, or a function of the task that returns these. Without a `transport`, a `command` means `stdio`,
            and a `url` streamable HTTP.

    Raises:
        EnvironmentUnavailable: langchain-mcp-adapters is missing.
    """
    try:
        import langchain_mcp_adapters  # noqa: F401
    except ImportError as error:
        raise EnvironmentUnavailable(
            f"langchain-mcp-adapters is missing; it comes with {the_extra('mcp')}"
        ) from error

    @asynccontextmanager
    async def opened(task: Task) -> AsyncIterator[list[BaseTool]]:
        async with AsyncExitStack() as stack:
            connections = servers
            if callable(connections):
                connections = connections(task)
            found: list[tuple[str, BaseTool]] = []
            for name, connection in connections.items():
                server = _Server(name, connection)
                # Before it opens, so that it is closed even if that fails.
                stack.push_async_callback(server.close)
                tools = await server.open()
                found += [(name, tool) for tool in tools]
            yield _distinguished(found)

    return opened


def _distinguished(found: Sequence[tuple[str, BaseTool]]) -> list[BaseTool]:
    """Return the tools, given with their servers' names. If several have the same name, the server's precedes it."""
    number_of_tools = Counter(tool.name for _, tool in found)
    tools = []
    for server, tool in found:
        if number_of_tools[tool.name] > 1:
            tool = tool.model_copy(update={"name": f"{server}_{tool.name}"})
        tools.append(tool)
    return tools


class _Server:
    """A session with a server, which a task of its own holds."""

    def __init__(self, name: str, connection: Mapping[str, Any]) -> None:
        self.name = name
        self.connection = dict(connection)
        self.connection.setdefault("transport", _transport_of(connection))
        self.stdio = self.connection["transport"] == "stdio"
        self.place = str(self.connection.get("url", ""))
        if self.stdio:
            command = [self.connection.get("command", ""), *self.connection.get("args", [])]
            self.place = " ".join(map(str, command))
        self.errors = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115 - closed by `close`
        self.held = Held(self._opened())
        self.session: Any = None

    async def open(self) -> list[BaseTool]:
        """Return the tools.

        Raises:
            ConfigurationError: the connection is malformed.
            EnvironmentUnavailable: the command cannot be executed.
            EnvironmentFault: the server did not start.
        """
        try:
            tools: list[BaseTool] = await self.held.enter()
        except Exception as error:
            cause = _cause(error)
            # A timeout is an `OSError`, too.
            not_found = isinstance(cause, OSError) and not isinstance(cause, TimeoutError)
            if self.stdio and not_found:
                raise EnvironmentUnavailable(f"{self} cannot be started: {cause}") from error
            if isinstance(cause, ValueError | TypeError):
                raise ConfigurationError(f"the connection of {self}: {cause}") from error
            raise EnvironmentFault(f"{self} did not start: {self._words(cause)}", transient=not self.stdio) from error
        return tools

    async def close(self) -> None:
        """End the session, and the process. A server that has died has no session to end."""
        with suppress(Exception):
            await self.held.leave()
        self.errors.close()

    def __str__(self) -> str:
        return f"the MCP server {self.name!r} ({self.place})"

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[list[BaseTool]]:
        """Begin the session, and yield the tools."""
        from langchain_mcp_adapters.tools import load_mcp_tools

        async with self._connected() as self.session:
            try:
                async with asyncio.timeout(START_SECONDS):
                    await self.session.initialize()
                    tools = await load_mcp_tools(self.session, tool_interceptors=[self._call], server_name=self.name)
            except TimeoutError:
                raise TimeoutError(f"no answer within {START_SECONDS:g} seconds") from None
            yield tools

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[Any]:
        """Connect to the server, and yield the session, which has not begun yet."""
        from langchain_mcp_adapters.sessions import create_session
        from mcp import ClientSession, StdioServerParameters
        from mcp.client.stdio import stdio_client

        options = dict(self.connection.get("session_kwargs") or {})
        if not self.stdio:
            options.setdefault("read_timeout_seconds", LONGEST_CALL)
            connection: Any = dict(self.connection)
            connection["session_kwargs"] = options
            async with create_session(connection) as session:
                yield session
            return
        # `create_session` does not say where the standard error goes.
        given = dict(self.connection)
        given.pop("transport")
        given.pop("session_kwargs", None)
        variables = given.pop("env", None) or {}
        given["env"] = {name: _expanded(value) for name, value in variables.items()}
        process = StdioServerParameters(**given)
        async with (
            stdio_client(process, errlog=self.errors) as streams,
            ClientSession(*streams, **options) as session,
        ):
            yield session

    async def _call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Call a tool (an interceptor).

        Raises:
            EnvironmentFault: the server is lost.
        """
        call = asyncio.ensure_future(handler(request))
        alive = asyncio.ensure_future(self._alive())
        trouble: BaseException | None = None
        try:
            # When its server dies, a request over HTTP may remain without an answer and without an error.
            await asyncio.wait([call, alive, self.held.task], return_when=asyncio.FIRST_COMPLETED)
            if call.done():
                trouble = call.exception()
                if trouble is None:
                    return _readable(call.result())
                if not _is_loss(trouble):
                    raise trouble
            elif alive.done():
                trouble = alive.exception()
            # Otherwise the session has ended: `_cause_of_loss` says why.
        finally:
            call.cancel()
            alive.cancel()
        cause = await self._cause_of_loss(trouble)
        raise EnvironmentFault(f"{self} was lost: {self._words(cause)}", transient=False) from cause

    async def _cause_of_loss(self, trouble: BaseException | None) -> BaseException:
        """Return why the server is lost.

        Args:
            trouble: What the call or the ping raised; None if the session ended before both.
        """
        # What ended the session says more than the call that met its end.
        await asyncio.wait([self.held.task], timeout=1.0)
        if self.held.task.done():
            trouble = self.held.task.exception() or trouble
        return _cause(trouble or EOFError("the session has ended"))

    async def _alive(self) -> None:
        """Ping the server until it is lost; what a ping raises then, this raises."""
        from mcp import McpError

        while True:
            await asyncio.sleep(PING_SECONDS)
            try:
                await self.session.send_ping()
            except McpError as error:
                # Some servers do not support pings, and answer with an error: these are alive.
                if _is_loss(error):
                    raise

    def _words(self, error: BaseException) -> str:
        """Return the last words of the server's standard error in one line, or the error if it wrote nothing."""
        self.errors.seek(0)
        words = self.errors.read().strip()[-_LAST_WORDS:]
        if not words:
            words = f"{type(error).__name__}: {error}"
        return " ".join(words.split())


def _transport_of(connection: Mapping[str, Any]) -> str:
    if "command" in connection:
        return "stdio"
    return "http"


def _is_loss(error: BaseException) -> bool:
    """Return whether an error of a call or a ping means that the server, or the session with it, is gone."""
    from anyio import BrokenResourceError, ClosedResourceError
    from mcp import McpError
    from mcp.types import CONNECTION_CLOSED

    if isinstance(error, McpError):
        # By the timeout the SDK says that the time limit of a call is over.
        return error.error.code in (CONNECTION_CLOSED, HTTPStatus.REQUEST_TIMEOUT, _SESSION_FORGOTTEN)
    return isinstance(error, BrokenResourceError | ClosedResourceError)


def _cause(error: BaseException) -> BaseException:
    """Return the first error that is not a group of errors."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _expanded(value: str) -> str:
    """Fill in `${NAME}`, as langchain-mcp-adapters does."""
    return re.sub(r"\$\{([^}]+)\}", _variable, value)


def _variable(reference: re.Match[str]) -> str:
    """Return the value of the variable in a `${NAME}`; without such a variable, it stays as it is."""
    return os.environ.get(reference[1], reference[0])


def _readable(result: Any) -> Any:
    """Return a result whose contents are texts."""
    from mcp.types import TextContent

    texts = [_as_text(each) for each in result.content]
    if not texts and result.structuredContent is not None:
        texts = [json.dumps(result.structuredContent, ensure_ascii=False)]
    content = [TextContent(type="text", text=each) for each in texts]
    return result.model_copy(update={"content": content})


def _as_text(content: Any) -> str:
    """Return a text in place of a content: of pictures and the like, what and where they are."""
    match content.type:
        case "text":
            return str(content.text)
        case "resource_link":
            link = f"[{content.name}: {content.uri}]"
            if content.description:
                return f"{link} {content.description}"
            return link
        case "resource":
            place = f"[{content.resource.uri}]"
            text = getattr(content.resource, "text", None)
            # A binary resource has none.
            if text is None:
                return place
            return f"{place}\n{text}"
    return f"[{content.type}: {content.mimeType}]"
