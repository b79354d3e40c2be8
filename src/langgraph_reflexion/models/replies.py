"""Replies as JSON for the state, and back to the model as they came."""

import json
from collections.abc import Sequence
from typing import Any, TypeVar

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    InvalidToolCall,
    ToolCall,
    convert_to_openai_messages,
)
from langchain_core.messages.tool import invalid_tool_call
from pydantic import ValidationError

from langgraph_reflexion.support.text import plain

LONGEST_NAME = 200
"""Maximum number of characters of a call's name."""
LONGEST_CALL = 100_000
"""Maximum number of characters of a call's id and its arguments as JSON."""

TOO_LONG = "[a name or arguments that are too long]"
"""The arguments of a call that is too long."""

_KEPT = {"content", "additional_kwargs", "response_metadata", "id", "tool_calls", "invalid_tool_calls"}
_Message = TypeVar("_Message", bound=BaseMessage)


def storable(message: _Message) -> _Message:
    """Return a message with what a checkpoint can hold, of what a server may send; see `plain`."""
    kept = {name: plain(value) for name, value in message if name in _KEPT}
    return message.model_copy(update=kept)


def bounded(reply: AIMessage) -> AIMessage:
    """Return a reply without calls that are too long: half an action would be another action."""
    calls: list[ToolCall | InvalidToolCall] = []
    calls += reply.tool_calls
    calls += reply.invalid_tool_calls
    if not any(_is_too_long(call) for call in calls):
        return reply
    broken = []
    # All calls of the reply, as the others alone would be half of what it asked for.
    for call in calls:
        name = call["name"] or ""
        broken.append(invalid_tool_call(name=name[:LONGEST_NAME], args=TOO_LONG))
    update = {
        # Its blocks and keywords hold the arguments, too.
        "content": reply.text,
        "additional_kwargs": {},
        "tool_calls": [],
        "invalid_tool_calls": broken,
    }
    return reply.model_copy(update=update)


def _is_too_long(call: ToolCall | InvalidToolCall) -> bool:
    """Return whether the name of a call, or the rest of it as JSON, is too long."""
    name = call["name"] or ""
    if len(name) > LONGEST_NAME:
        return True
    rest = json.dumps([call["id"], call["args"]], default=str)
    return len(rest) > LONGEST_CALL


def invalid_call(error: Exception) -> AIMessage | None:
    """Return the reply that LangChain refuses to make of arguments that are not a JSON object, as an invalid call.

    Of the reply, no more than the arguments is known. None if the error is another one.
    """
    if not isinstance(error, ValidationError):
        return None
    for each in error.errors():
        place = each["loc"]
        if place[0] not in ("tool_calls", "invalid_tool_calls") or place[-1] != "args":
            continue
        given = each["input"]
        if not isinstance(given, str):
            given = json.dumps(plain(given))
        return AIMessage("", invalid_tool_calls=[invalid_tool_call(args=given)])
    return None


def to_json(message: AIMessage, number: int | str) -> dict[str, Any]:
    """Return a model's message as JSON, the fields of an `AIMessage`, with what its provider may want back.

    Usage, log probabilities and the like stay behind: of the response's metadata only texts are kept, which name the
    provider and the version of the content. A call without an id gets one by the step's number.
    """
    kept = message.model_dump(include=_KEPT)
    metadata = message.response_metadata
    kept["response_metadata"] = {name: value for name, value in metadata.items() if isinstance(value, str)}
    calls = kept["tool_calls"] + kept["invalid_tool_calls"]
    for index, call in enumerate(calls):
        # The result of the call is sent with this id.
        call["id"] = call["id"] or call_id_of(number, index)
    given = {name: value for name, value in kept.items() if value or name == "content"}
    stored: dict[str, Any] = plain(given)
    return stored


def with_content(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Return the messages with a text beside every tool call; llama-cpp-python answers 500 to a call without one.

    The text is a space: a small model writes what it finds there instead of a call.
    """
    given = []
    for message in messages:
        if isinstance(message, AIMessage) and _is_bare_call(message):
            message = message.model_copy(update={"content": " "})
        given.append(message)
    return given


def _is_bare_call(message: AIMessage) -> bool:
    """Return whether a message has calls without a text, and may be given one."""
    if not message.tool_calls or message.content:
        return False
    # Reasoning beside the content, as of OpenAI's Responses, belongs to the message as it came.
    return "reasoning" not in message.additional_kwargs


def call_id_of(number: int | str, index: int = 0) -> str:
    """Return the id of a call that has none of the provider's, of nine letters and digits as Mistral's are."""
    return f"c{number:0>6}{index:0>2}"


def passing_reasoning(model: BaseChatModel, messages: list[BaseMessage]) -> dict[str, Any]:
    """Return options of a call that hand DeepSeek's reasoning back to it; empty for all other models.

    In thinking mode DeepSeek refuses a history whose tool calls lack their `reasoning_content`. The integration reads
    it from replies, and leaves it out of requests; `extra_body` replaces fields of a request.
    """
    is_deepseek = any(cls.__module__.startswith("langchain_deepseek") for cls in type(model).__mro__)
    if not is_deepseek:
        return {}
    has_reasoning = any("reasoning_content" in message.additional_kwargs for message in messages)
    if not has_reasoning:
        return {}
    body = dict(getattr(model, "extra_body", None) or {})
    body["messages"] = [_for_deepseek(message) for message in messages]
    return {"extra_body": body}


def _for_deepseek(message: BaseMessage) -> dict[str, Any]:
    """Return a message in OpenAI's form, with its reasoning and with calls that are not JSON."""
    converted: Any = convert_to_openai_messages(message)
    written: dict[str, Any] = dict(converted)
    if not isinstance(message, AIMessage):
        return written
    # LangChain leaves these out, and the results that answer them would stand alone.
    broken = [_openai_call(call) for call in message.invalid_tool_calls]
    if broken:
        written["tool_calls"] = written.get("tool_calls", []) + broken
    reasoning = message.additional_kwargs.get("reasoning_content")
    if reasoning is not None:
        written["reasoning_content"] = reasoning
    return written


def _openai_call(call: InvalidToolCall) -> dict[str, Any]:
    function = {"name": call["name"], "arguments": call["args"]}
    return {"type": "function", "id": call["id"], "function": function}
