"""A small agent that answers questions from pages, with `search`, `lookup` and `finish`."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse, ModelRetryMiddleware
from langchain.tools.tool_node import ToolCallRequest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolCall, ToolMessage
from langchain_core.tools import tool
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command

from langgraph_reflexion.envs.base import Action
from langgraph_reflexion.envs.hotpotqa.episode import Answer, HotPotQAEpisode, search_tools
from langgraph_reflexion.envs.hotpotqa.pages import Pages
from langgraph_reflexion.models.faults import to_fault

QUESTION = "Question: "
"""The prefix of a question."""


class PageTools(AgentMiddleware[Any, Any, Any]):
    """Puts the conversation into one message, and opens the page again for each lookup: the agent is shared."""

    def __init__(self, pages: Pages) -> None:
        super().__init__()
        self.pages = pages

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        return await handler(request.override(messages=as_one_question(request.messages)))

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]]
    ) -> ToolMessage | Command[Any]:
        if request.tool_call["name"] != "lookup":
            return await handler(request)
        # Pages may come from a database, or from far away.
        return await asyncio.to_thread(self._look_up, request)

    def _look_up(self, request: ToolCallRequest) -> ToolMessage:
        call, episode = request.tool_call, HotPotQAEpisode("", None, self.pages)
        for each in calls_since_search(request.state["messages"], call["id"]):
            observation = episode.step(Action(name=each["name"], args=each["args"], text="")).observation
        return ToolMessage(observation, tool_call_id=call["id"], name=call["name"])


@tool(return_direct=True)
def finish(answer: Answer) -> str:
    """Hand in the answer to the question."""
    return answer


def make_qa_agent(model: BaseChatModel, pages: Pages, prompt: str) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Return the agent: its model, the pages that its tools search, and its system prompt."""
    tools = [each for each in search_tools(pages) if each.name != finish.name]
    retry = ModelRetryMiddleware(retry_on=lambda error: to_fault(error, ()).transient, on_failure="error")
    middleware = [retry, PageTools(pages)]
    return create_agent(model, [*tools, finish], system_prompt=prompt, middleware=middleware, name="qa_agent")


def as_one_question(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Return a conversation as one question, and the steps since."""
    last = last_human(messages)
    earlier = [
        f"- {'You' if isinstance(each, AIMessage) else 'Person'}: {each.text.strip()}"
        for each in messages[:last]
        if isinstance(each, HumanMessage | AIMessage) and each.text.strip()
    ]
    before = ["\n".join(["The conversation so far:", *earlier]), "Here is the task again:"] if earlier else []
    return [HumanMessage("\n\n".join([*before, f"{QUESTION}{messages[last].text.strip()}"])), *messages[last + 1 :]]


def calls_since_search(messages: Sequence[AnyMessage], call_id: str | None) -> list[ToolCall]:
    """Return the calls from the last search up to this one."""
    asked = messages[last_human(messages) + 1 :]
    calls = [call for each in asked if isinstance(each, AIMessage) for call in each.tool_calls]
    # Some servers give every call the same id: the call that is being answered is the last of its id.
    at = max(index for index, call in enumerate(calls) if call["id"] == call_id)
    searches = [index for index, call in enumerate(calls[:at]) if call["name"] == "search"]
    return calls[searches[-1] if searches else at : at + 1]


def last_human(messages: Sequence[AnyMessage]) -> int:
    """Return the index of the question."""
    return max(index for index, each in enumerate(messages) if isinstance(each, HumanMessage))
