"""Tools with which a judge looks at the world of a trial before it gives its verdicts."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.tools import BaseTool, ToolException
from langchain_core.tools import tool as as_tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import ValidationError

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.evaluators.verdicts import REPORT
from langgraph_reflexion.models.written_calls import WrittenCall, read_calls
from langgraph_reflexion.support.sync import to_own_thread
from langgraph_reflexion.support.text import as_text, call_text, one_line, sanitize

MOST_ROUNDS = 5
"""Replies of a judge that may call tools, before it has to give its verdicts."""

MOST_CALLS = 5
"""Calls of one reply that are done."""

LONGEST_RESULT = 10_000
"""Characters of a tool's result that the judge sees."""

LONGEST_LOOKS = 40_000
"""Characters of all results together that the judge sees."""

Agent = Runnable[Any, Any]
"""A compiled graph, or another runnable, that judges."""

GivenTools = Sequence[BaseTool | Callable[..., Any]] | Agent | Callable[[Any], Any]
"""Tools, an agent, or a function of the world that returns either."""


class Look(NamedTuple):
    """A call of a tool, and its result."""

    call: str
    result: str


def bounded(looks: Sequence[Look]) -> list[Look]:
    """Return looks whose results are at most `LONGEST_LOOKS` characters together: the newest in full, if it fits."""
    room = LONGEST_LOOKS
    shown: list[Look] = []
    for each in reversed(looks):
        result = each.result[:room]
        if len(result) < len(each.result):
            # If there is no room at all, the mark stands alone, without a blank.
            result = f"{result} [...]".lstrip()
        # Never below zero: a slice up to a negative number would only cut the end off.
        room -= min(room, len(each.result))
        shown.append(Look(each.call, result))
    return shown[::-1]


def needs_world(given: GivenTools) -> bool:
    """Return whether tools are a function of the world."""
    return callable(given) and not isinstance(given, Runnable | Sequence)


async def tools_in(given: GivenTools, world: object) -> list[BaseTool] | Agent:
    """Return the tools, or the agent, that look at a trial.

    Args:
        given: What the rubric was given.
        world: The trial's world, for a function of it.

    Raises:
        ConfigurationError: they are neither tools nor an agent, or two have the same name.
    """
    if needs_world(given):
        function: Any = given
        # It may open a file or a connection.
        given = await to_own_thread(function, world)
        # A function that is not asynchronous may return a coroutine all the same.
        while inspect.isawaitable(given):
            given = await given
    return read_tools(given)


def read_tools(given: Any) -> list[BaseTool] | Agent:
    """Return tools as LangChain's, or the agent.

    Raises:
        ConfigurationError: they are neither tools nor an agent, or two have the same name.
    """
    is_agent = isinstance(given, Runnable) and not isinstance(given, BaseTool)
    if is_agent:
        agent: Agent = given
        return agent
    if not isinstance(given, list | tuple):
        raise ConfigurationError(
            "Rubric.tools is a list of LangChain tools or functions, an agent (a compiled graph), or a function of "
            f"the world that returns either; got {type(given).__name__}"
        )
    tools = [_as_tool(each) for each in given]
    # The judge gives its verdicts by a tool of this name.
    names = {REPORT}
    for each in tools:
        if each.name in names:
            raise ConfigurationError(f"Rubric.tools: the name {each.name!r} is taken: give the tool another one")
        names.add(each.name)
    return tools


def _as_tool(given: Any) -> BaseTool:
    if isinstance(given, BaseTool):
        return given
    # A class can be called as well, but LangChain would fail at it with an error that does not say so.
    if not callable(given) or isinstance(given, type | Runnable):
        raise ConfigurationError(f"Rubric.tools: a LangChain tool or a function is needed; got {given!r:.100}")
    try:
        made: BaseTool = as_tool(given)
    except (TypeError, ValueError) as error:
        raise ConfigurationError(f"Rubric.tools: {given!r:.100} cannot be a tool: {one_line(error)}") from error
    return made


def schemas_of(tools: Sequence[BaseTool]) -> list[dict[str, Any]]:
    """Return the schemas by which a model is offered the tools."""
    return [convert_to_openai_tool(each) for each in tools]


def calls_in(reply: AIMessage, offered: Sequence[Mapping[str, Any]]) -> list[WrittenCall]:
    """Return the calls of a reply, as the model made them, or as a small model wrote them as text.

    Text counts only if it is nothing but calls of what was offered: a judge copies words of the trial.

    Args:
        reply: The reply.
        offered: The schemas of the tools that the model may call.
    """
    if reply.tool_calls:
        return [WrittenCall(call["name"], call["args"]) for call in reply.tool_calls]
    names = [each["function"]["name"] for each in offered]
    prose, written = read_calls(reply.text, names)
    if prose:
        return []
    return written


async def look(tools: Sequence[BaseTool], calls: Sequence[WrittenCall], config: RunnableConfig) -> list[Look]:
    """Do the calls of one reply, the first `MOST_CALLS` of them.

    A mistake that the judge can mend is told to it as the result. Any other exception of a tool is raised.
    """
    known = {each.name: each for each in tools}
    looks: list[Look] = []
    for call in calls[:MOST_CALLS]:
        result = await _result(known, call, config)
        looks.append(Look(call_text(call.name, call.args), sanitize(result)[:LONGEST_RESULT]))
    return looks


async def _result(tools: Mapping[str, BaseTool], call: WrittenCall, config: RunnableConfig) -> str:
    """Return what a tool says."""
    found = tools.get(call.name)
    if found is None:
        return f"Error: there is no tool of this name. There are: {', '.join(tools)}."
    # Checked before the call, as a bug in the tool may raise the same error.
    wrong = _wrong_arguments(found, call.args)
    if wrong:
        return f"Error: {wrong}"
    # A whole call, and not its arguments alone: otherwise LangChain refuses tools that want the call's id.
    asked = {"type": "tool_call", "id": "look", "name": call.name, "args": call.args}
    try:
        said = await found.ainvoke(asked, config)
    except ToolException as error:
        return f"Error: {error}"
    if isinstance(said, ToolMessage):
        return said.text
    return as_text(said)


def _wrong_arguments(tool: BaseTool, args: dict[str, Any]) -> str:
    """Return what is wrong with the arguments of a call; empty if nothing is. A tool's own bug is not among it."""
    schema: Any = tool.tool_call_schema
    # A tool of an MCP server has plain JSON, which the server checks.
    if not hasattr(schema, "model_validate"):
        return ""
    try:
        schema.model_validate(args)
    except ValidationError as error:
        return one_line(error)
    return ""


def said_by(result: Any) -> str:
    """Return the answer in what an agent has returned: the last message's text."""
    said = result
    if isinstance(result, Mapping):
        messages = result.get("messages")
        if messages:
            said = messages[-1]
    if isinstance(said, BaseMessage):
        return said.text
    return as_text(said)
