"""Conversion between OpenAI's chat completions and LangChain's messages."""

import json
import re
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, convert_to_messages

from langgraph_reflexion.models.usage import CHARACTERS_PER_TOKEN
from langgraph_reflexion.testing.loopback import ErrorAnswer

LIMITS = ("max_tokens", "max_completion_tokens")
"""The fields of a request that limit the reply."""

DONE = b"data: [DONE]\n\n"
"""The last event of a stream."""


class ModelRequest(NamedTuple):
    """A request for a completion, as it arrived."""

    number: int
    """Counted from 1."""
    body: dict[str, Any]
    """The fields `messages`, `model`, `seed` and so on."""
    headers: dict[str, str]
    """The HTTP headers, their names in lower case."""
    arrived: float
    """The time of arrival, by `time.monotonic`."""

    @property
    def key(self) -> str:
        """The bearer key, or an empty text."""
        return self.headers.get("authorization", "").removeprefix("Bearer").strip()


def refused(parameter: str) -> ErrorAnswer:
    """Return the error for a parameter that the model does not take."""
    # OpenAI's reasoning models know the temperature, and take one value only.
    code = "unsupported_value" if parameter == "temperature" else "unsupported_parameter"
    return ErrorAnswer(400, f"This model does not take {parameter!r} as given.", param=parameter, code=code)


def ask(model: BaseChatModel, body: dict[str, Any]) -> AIMessage:
    """Return the model's reply to a request."""
    messages = _messages(body["messages"])
    options = {"seed": body["seed"]} if body.get("seed") is not None else {}
    stops = [body["stop"]] if isinstance(body.get("stop"), str) else body.get("stop") or []
    asked: Any = model
    if body.get("tools"):
        choice = {"tool_choice": body["tool_choice"]} if body.get("tool_choice") else {}
        try:
            asked = model.bind_tools(body["tools"], **choice)
        except NotImplementedError as error:
            raise refused("tools") from error
    reply: AIMessage = asked.invoke(messages, stop=stops or None, **options)
    # Models that ignore stop sequences go on after them.
    ends = [found for found in (reply.text.find(stop) for stop in stops) if found >= 0]
    text = reply.text[: min(ends)] if ends else reply.text
    limit = CHARACTERS_PER_TOKEN * min(body.get(name) or len(text) for name in LIMITS)
    if len(text) > limit:
        return reply.model_copy(update={"content": text[:limit], "response_metadata": {"finish_reason": "length"}})
    return reply.model_copy(update={"content": text}) if ends else reply


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
    return [*map(event, chunks), DONE]


def streamed(whole: dict[str, Any]) -> list[bytes]:
    """Return a completion of any form as a stream: all of it in its first event."""
    choices = whole.get("choices")
    if isinstance(choices, list):
        choices = [{**each, "delta": each.get("message")} if isinstance(each, dict) else each for each in choices]
    return [event(whole | {"object": "chat.completion.chunk", "choices": choices}), DONE]


def event(data: dict[str, Any]) -> bytes:
    """Return one event of a stream."""
    return b"data: " + json.dumps(data).encode() + b"\n\n"


def _messages(given: list[dict[str, Any]]) -> list[BaseMessage]:
    try:
        return convert_to_messages(given)
    except Exception as error:
        raise ErrorAnswer(400, f"These are not messages: {error}", param="messages") from error


def _message(reply: AIMessage) -> dict[str, Any]:
    calls = [(call["id"], call["name"], json.dumps(call["args"])) for call in reply.tool_calls]
    calls += [(call["id"], call["name"] or "", call["args"] or "") for call in reply.invalid_tool_calls]
    refusal = reply.additional_kwargs.get("refusal")
    content = reply.text or (None if calls or refusal else "")
    message = {"role": "assistant", "content": content, "refusal": refusal}
    if calls:
        message["tool_calls"] = [
            {"id": call_id or f"call_{index}", "type": "function", "function": {"name": name, "arguments": arguments}}
            for index, (call_id, name, arguments) in enumerate(calls)
        ]
    return message


def _deltas(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"role": "assistant", "content": ""}
    for field in ("content", "refusal"):
        for piece in re.findall(r"\s*\S+\s*$|\s*\S+|\s+", message[field] or ""):
            yield {field: piece}
    for index, call in enumerate(message.get("tool_calls", [])):
        yield {"tool_calls": [{"index": index, **call, "function": {**call["function"], "arguments": ""}}]}
        yield {"tool_calls": [{"index": index, "function": {"arguments": call["function"]["arguments"]}}]}


def _finish_reason(reply: AIMessage) -> str:
    if reply.tool_calls or reply.invalid_tool_calls:
        return "tool_calls"
    return str(reply.response_metadata.get("finish_reason", "stop"))


def _head(request: ModelRequest, kind: str) -> dict[str, Any]:
    name = request.body.get("model", "")
    return {"id": f"chatcmpl-{request.number}", "object": kind, "created": int(time.time()), "model": name}


def _usage(reply: AIMessage) -> dict[str, int]:
    counted: Any = reply.usage_metadata
    names = {"prompt_tokens": "input_tokens", "completion_tokens": "output_tokens", "total_tokens": "total_tokens"}
    return {theirs: counted[ours] for theirs, ours in names.items()}
