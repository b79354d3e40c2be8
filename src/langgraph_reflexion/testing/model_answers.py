"""Conversion between OpenAI's chat completions and LangChain's messages."""

import json
import re
import time
from collections.abc import Iterator
from typing import Any

from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage, convert_to_messages
from langchain_core.runnables import Runnable

from langgraph_reflexion.testing.model_faults import ErrorAnswer, ModelRequest, refused

DONE = b"data: [DONE]\n\n"
"""The last event of a stream."""


def ask(model: BaseChatModel, request: ModelRequest) -> AIMessage:
    """Return the model's reply.

    Raises:
        ErrorAnswer: the request is malformed, or the model has no tools.
    """
    body = request.body
    messages = _messages(body["messages"])
    options = {"seed": body["seed"]} if body.get("seed") is not None else {}
    stops = [body["stop"]] if isinstance(body.get("stop"), str) else body.get("stop") or []
    asked = _with_tools(model, request) if body.get("tools") else model
    return _stopped(asked.invoke(messages, stop=stops or None, **options), stops)


def completion(request: ModelRequest, reply: AIMessage) -> dict[str, Any]:
    """Return a reply as one completion."""
    choice = {"index": 0, "message": _message(reply), "logprobs": None, "finish_reason": _finish_reason(reply)}
    whole = {**_head(request, "chat.completion"), "choices": [choice]}
    # No usage is better than an invented one.
    return whole | ({"usage": _usage(reply)} if reply.usage_metadata else {})


def events(request: ModelRequest, reply: AIMessage) -> list[bytes]:
    """Return a reply as the events of a stream."""
    deltas = [*_deltas(_message(reply)), {}]
    choices: list[dict[str, Any]] = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    choices[-1]["finish_reason"] = _finish_reason(reply)
    head = _head(request, "chat.completion.chunk")
    chunks = [{**head, "choices": [choice]} for choice in choices]
    if (request.body.get("stream_options") or {}).get("include_usage") and reply.usage_metadata:
        chunks.append({**head, "choices": [], "usage": _usage(reply)})
    return [*(event(chunk) for chunk in chunks), DONE]


def event(data: dict[str, Any]) -> bytes:
    """Return one event of a stream."""
    return b"data: " + json.dumps(data).encode() + b"\n\n"


def _with_tools(model: BaseChatModel, request: ModelRequest) -> Runnable[LanguageModelInput, AIMessage]:
    choice = {"tool_choice": request.body["tool_choice"]} if request.body.get("tool_choice") else {}
    try:
        return model.bind_tools(request.body["tools"], **choice)
    except NotImplementedError as error:
        raise refused("tools") from error


def _messages(given: list[dict[str, Any]]) -> list[BaseMessage]:
    try:
        return convert_to_messages([_readable(message) for message in given])
    except Exception as error:
        raise ErrorAnswer(400, f"These are not messages: {error}", param="messages") from error


def _readable(message: dict[str, Any]) -> dict[str, Any]:
    """Return the message with calls that LangChain can read; OpenAI also accepts arguments that are not JSON."""
    if not message.get("tool_calls"):
        return message
    calls = [{**call, "function": {**call["function"]}} for call in message["tool_calls"]]
    for call in calls:
        call["function"]["arguments"] = json.dumps(_arguments(call["function"].get("arguments")))
    return {**message, "tool_calls": calls}


def _arguments(written: Any) -> dict[str, Any]:
    try:
        read = json.loads(written)
    except (TypeError, ValueError):
        return {}
    return read if isinstance(read, dict) else {}


def _stopped(reply: AIMessage, stops: list[str]) -> AIMessage:
    """Return the reply up to the first stop sequence, for models that ignore them."""
    ends = [found for found in (reply.text.find(stop) for stop in stops) if found >= 0]
    return reply.model_copy(update={"content": reply.text[: min(ends)]}) if ends else reply


def _message(reply: AIMessage) -> dict[str, Any]:
    calls = [(call["id"], call["name"], json.dumps(call["args"])) for call in reply.tool_calls]
    calls += [(call["id"], call["name"] or "", call["args"] or "") for call in reply.invalid_tool_calls]
    refusal = reply.additional_kwargs.get("refusal")
    message = {
        "role": "assistant",
        "content": reply.text or (None if calls or refusal else ""),
        "refusal": refusal,
    }
    if calls:
        message["tool_calls"] = [
            {
                "id": call_id or f"call_{index}",
                "type": "function",
                "function": {"name": name, "arguments": arguments},
            }
            for index, (call_id, name, arguments) in enumerate(calls)
        ]
    return message


def _deltas(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"role": "assistant", "content": ""}
    for field in ("content", "refusal"):
        for piece in _pieces(message[field] or ""):
            yield {field: piece}
    for index, call in enumerate(message.get("tool_calls", [])):
        opening = {**call["function"], "arguments": ""}
        yield {"tool_calls": [{"index": index, **call, "function": opening}]}
        for piece in _pieces(call["function"]["arguments"]):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def _pieces(text: str) -> list[str]:
    """Split a text into words, or a long one into a hundred pieces."""
    if len(text) > 1000:
        size = len(text) // 100
        return [text[start : start + size] for start in range(0, len(text), size)]
    return re.findall(r"\s*\S+\s*$|\s*\S+|\s+", text)


def _finish_reason(reply: AIMessage) -> str:
    if reply.tool_calls or reply.invalid_tool_calls:
        return "tool_calls"
    return str(reply.response_metadata.get("finish_reason", "stop"))


def _head(request: ModelRequest, kind: str) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{request.number}",
        "object": kind,
        "created": int(time.time()),
        "model": request.body.get("model", ""),
    }


def _usage(reply: AIMessage) -> dict[str, int]:
    counted = reply.usage_metadata or {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}
    return {
        "prompt_tokens": counted["input_tokens"],
        "completion_tokens": counted["output_tokens"],
        "total_tokens": counted["total_tokens"],
    }
