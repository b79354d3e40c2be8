"""A model server on loopback: OpenAI's chat completions in LangChain's messages, and its faults.

    with ModelServer(faults=["429", "hang"]) as server:
        model = ChatOpenAI(model="any", base_url=server.url, api_key="any", timeout=1)

It listens while the `with` lasts.
"""

import json
import re
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple, Self

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, convert_to_messages

from langgraph_reflexion.demo import DemoChatModel
from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.models.usage import CHARACTERS_PER_TOKEN
from langgraph_reflexion.testing.loopback import ENDINGS, Answer, Call, ErrorAnswer, FaultyServer

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


__all__ = ["MODEL_FAULTS", "Faults", "ModelRequest", "ModelServer"]

MODEL_FAULTS: Mapping[str, str] = {
    "429": "too many requests, without Retry-After",
    "429-retry-after": "too many requests, with Retry-After: 1; 429-retry-after:0.2 for other seconds",
    "quota": "429 with the code insufficient_quota, which no retry helps",
    "500": "the server failed",
    "503": "the server is overloaded",
    "hang": "no answer, until the client leaves",
    "reset": "the connection is reset in the middle of the answer",
    "drip": "endless blanks instead of the answer, one at a time",
    "truncated-stream": "a stream that ends early as if complete; without streaming, half of the body",
    "invalid-json": "an answer whose JSON breaks off, in a complete HTTP response",
    "empty-choices": "a completion without choices",
    "wrong-key": "401, with the key in the message",
    "unknown-model": "404 for the model",
    "context": "400 with the code context_length_exceeded",
}
"""The faults of `ModelServer`, each with a description."""

Odd = Callable[[dict[str, Any]], dict[str, Any] | Answer]
"""Makes an odd answer of a completion: another one, or the HTTP response itself."""

Faults = Sequence[str | Odd | None] | Callable[[ModelRequest], str | Odd | None]
"""Names from `MODEL_FAULTS` or functions of the completion, one per request, or a function that returns one for a
request; None and `ok` mean no fault."""


class ModelServer(FaultyServer[ModelRequest]):
    """A server that answers for a chat model as OpenAI would, inside `with`.

    Args:
        model: The model; the demo model unless given. Several clients call it in several threads.
        faults: The faults of the requests in order, none after the last. A function is called first, in the
            request's own thread, and may block.
        key: The only accepted key; any key or none unless given.
        context_chars: Characters of messages that fit into the model's context.
        refuses: Parameters that the model refuses (`stop`, `temperature`, `seed`, `tools`).
        slots: Requests that are answered at once, while others wait; named at `/props` as llama.cpp does.
        seconds: Time that each answer takes.
        names_slots: Whether `/props` exists.
        port: The port; a free one unless given.

    Raises:
        ConfigurationError: there is no such fault.
    """

    def __init__(
        self,
        model: BaseChatModel | None = None,
        *,
        faults: Faults = (),
        key: str | None = None,
        context_chars: int | None = None,
        refuses: Collection[str] = (),
        slots: int | None = None,
        seconds: float = 0.0,
        names_slots: bool = True,
        port: int = 0,
    ) -> None:
        super().__init__([] if callable(faults) else [_checked(fault) for fault in faults], port)
        self.model = model or DemoChatModel()
        self._fault_for = faults if callable(faults) else None
        self._key, self._context_chars, self._refuses = key, context_chars, refuses
        self._seconds, self._props = seconds, {"total_slots": slots} if slots and names_slots else None
        self._slots = threading.Semaphore(slots) if slots else nullcontext()

    def __enter__(self) -> Self:
        super().__enter__()
        self.url += "/v1"
        return self

    def _answer(self, call: Call) -> Answer:
        if call.path == "/props" and self._props:
            return Answer(json.dumps(self._props).encode())
        if (call.method, call.path.partition("?")[0]) != ("POST", "/v1/chat/completions"):
            said = f"There is no {call.method} {call.path} here: this server has POST /v1/chat/completions."
            raise ErrorAnswer(404, said, code="unknown_url")
        body = _body(call.content)
        with self._lock:
            request = ModelRequest(len(self.requests) + 1, body, call.headers, time.monotonic())
            self.requests.append(request)
            fault = None if self._fault_for else next(self.faults, None)
        with self._slots:  # kept to the end, even if the client has left
            time.sleep(self._seconds)
            return self._complete(request, _checked(self._fault_for(request) if self._fault_for else fault))

    def _complete(self, request: ModelRequest, fault: str | Odd) -> Answer:
        if not isinstance(fault, str):
            made = fault(completion(request, ask(self.model, request.body)))
            if isinstance(made, Answer):
                return made
            return Answer(streamed(made) if request.body.get("stream") else json.dumps(made).encode())
        if fault in ENDINGS:
            return Answer(b"", ending=ENDINGS[fault])
        if error := _error_for(fault, request) or self._refusal(request):
            raise error
        reply = ask(self.model, request.body)
        whole = completion(request, reply)
        if fault == "empty-choices":
            whole["choices"] = []
        in_events = streamed(whole) if fault == "empty-choices" else events(request, reply)
        body = in_events if request.body.get("stream") else json.dumps(whole).encode()
        if fault == "invalid-json":
            return Answer([body[0], body[1][:20] + b"\n\n"] if isinstance(body, list) else body[: len(body) // 2])
        if fault == "truncated-stream":
            return Answer(body, ending="half")
        return Answer(body, ending="reset" if fault == "reset" else "whole")

    def _refusal(self, request: ModelRequest) -> ErrorAnswer | None:
        if self._key is not None and request.key != self._key:
            return _error_for("wrong-key", request)
        for parameter in self._refuses:
            if request.body.get(parameter) is not None:
                return refused(parameter)
        if self._context_chars is None or _length(request.body["messages"]) <= self._context_chars:
            return None
        return _error_for("context", request)


def _checked(fault: str | Odd | None) -> str | Odd:
    if callable(fault):
        return fault
    name, _, detail = (fault or "ok").partition(":")
    if name in {"ok", *MODEL_FAULTS} and (not detail or name == "429-retry-after"):
        return fault or "ok"
    raise ConfigurationError(f"no model fault {fault!r}: choose one of {', '.join(MODEL_FAULTS)}")


_ERRORS: Mapping[str, tuple[int, str, str, str | None]] = {
    "429": (429, "Too many requests.", "requests", "rate_limit_exceeded"),
    "429-retry-after": (429, "Too many requests.", "requests", "rate_limit_exceeded"),
    "quota": (429, "You exceeded your quota, check your plan.", "insufficient_quota", "insufficient_quota"),
    "500": (500, "The server failed while it worked on your request.", "server_error", None),
    "503": (503, "The server is overloaded, try again later.", "server_error", None),
    "wrong-key": (401, "Invalid API key: {key}", "invalid_request_error", "invalid_api_key"),
    "unknown-model": (404, "The model {model!r} does not exist.", "invalid_request_error", "model_not_found"),
    "context": (400, "{length} characters do not fit.", "invalid_request_error", "context_length_exceeded"),
}
"""The errors by fault: status, message, type and code."""


def _error_for(fault: str, request: ModelRequest) -> ErrorAnswer | None:
    name, _, seconds = fault.partition(":")
    if name not in _ERRORS:
        return None
    status, said, kind, code = _ERRORS[name]
    model, length = request.body.get("model"), _length(request.body["messages"])
    said = said.format(key=request.key, model=model, length=length)  # some servers quote the key
    headers = {"Retry-After": seconds or "1"} if name == "429-retry-after" else {}
    param = "messages" if name == "context" else None
    return ErrorAnswer(status, said, kind=kind, param=param, code=code, headers=headers)


def _length(messages: list[dict[str, Any]]) -> int:
    contents = [message.get("content") or "" for message in messages]
    blocks = [each for content in contents for each in ([content] if isinstance(content, str) else content)]
    return sum(len(block if isinstance(block, str) else block.get("text") or "") for block in blocks)


def _body(content: bytes) -> dict[str, Any]:
    try:
        body = json.loads(content)
    except ValueError as error:
        raise ErrorAnswer(400, f"The request is not JSON: {error}") from error
    messages = body.get("messages") if isinstance(body, dict) else None
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        raise ErrorAnswer(400, "The request has no list of messages.", param="messages")
    return dict(body)
