"""A small agent that answers questions from pages, with `search`, `lookup` and `finish`."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import lru_cache
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse, ModelRetryMiddleware
from langchain.tools.tool_node import ToolCallRequest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command

from langgraph_reflexion.envs.base import Action
from langgraph_reflexion.envs.hotpotqa.episode import HotPotQAEpisode, search_tools
from langgraph_reflexion.envs.hotpotqa.pages import Missing, Page, Pages
from langgraph_reflexion.models.faults import to_fault

QUESTION = "Question: "
"""The prefix of a question."""
FINISH = "finish"
"""The tool that submits the answer."""
KEPT = 256
"""Pages that are cached."""
RETRIES = 4
"""Retries of a model call."""


class CachedPages:
    """Pages that are read once."""

    def __init__(self, pages: Pages) -> None:
        self._find = lru_cache(KEPT)(pages.find)
        self.replays = pages.replays
        self.close = pages.close

    def find(self, entity: str) -> Page | Missing:
        return self._find(entity)


class PageTools(AgentMiddleware[Any, Any, Any]):
    """Puts the question into one message, and answers the model's calls.

    All chats share the agent, so each call finds the open page anew, from the calls before it.
    """

    def __init__(self, pages: Pages) -> None:
        super().__init__()
        self.pages = CachedPages(pages)

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        return await handler(request.override(messages=as_one_question(request.messages)))

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]]
    ) -> ToolMessage | Command[Any]:
        # Pages may come from a database, or from far away.
        return await asyncio.to_thread(self._answer, request)

    def _answer(self, request: ToolCallRequest) -> ToolMessage:
        episode = HotPotQAEpisode("", None, self.pages)
        for earlier in _calls_before(request.state["messages"], request.tool_call["id"]):
            episode.step(earlier)
        call = request.tool_call
        observation = episode.step(_action(call)).observation
        if call["name"] == FINISH and isinstance(answer := call["args"].get("answer"), str) and answer.strip():
            observation = answer
        return ToolMessage(observation, tool_call_id=call["id"], name=call["name"])


def make_qa_agent(model: BaseChatModel, pages: Pages, prompt: str) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Return the agent: its model, the pages that its tools search, and its system prompt."""
    tools = search_tools(pages)
    for tool in tools:
        tool.return_direct = tool.name == FINISH
    retry = ModelRetryMiddleware(
        max_retries=RETRIES, retry_on=lambda error: to_fault(error, ()).transient, on_failure="error"
    )
    return create_agent(model, tools, system_prompt=prompt, middleware=[retry, PageTools(pages)], name="qa_agent")


def as_one_question(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Return a conversation, after the reflections as a system message, as one question and the steps since."""
    last = max((index for index, each in enumerate(messages) if isinstance(each, HumanMessage)), default=None)
    if last is None:
        return list(messages)
    earlier = [each for each in messages[:last] if isinstance(each, HumanMessage | AIMessage) and each.text.strip()]
    parts = [str(each.text) for each in messages[:last] if isinstance(each, SystemMessage)]
    if earlier:
        lines = [f"- {'You' if isinstance(each, AIMessage) else 'Person'}: {each.text.strip()}" for each in earlier]
        parts.insert(0, "\n".join(["The conversation so far:", *lines]))
    if parts:
        parts.append("Here is the task again:")
    return [HumanMessage("\n\n".join([*parts, f"{QUESTION}{messages[last].text.strip()}"])), *messages[last + 1 :]]


def _calls_before(messages: Sequence[AnyMessage], call_id: str | None) -> list[Action]:
    """Return the calls since the question, up to this one."""
    begun = max((index for index, each in enumerate(messages) if isinstance(each, HumanMessage)), default=-1)
    calls = [call for each in messages[begun + 1 :] if isinstance(each, AIMessage) for call in each.tool_calls]
    # Some servers give every call the same id: the call that is being answered is the last of its id.
    at = max((index for index, call in enumerate(calls) if call["id"] == call_id), default=len(calls))
    return [_action(call) for call in calls[:at] if call["name"] != FINISH]


def _action(call: Any) -> Action:
    return Action(name=call["name"], args=call["args"], text="")
