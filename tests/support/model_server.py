"""A model server on loopback: OpenAI's chat completions in LangChain's messages, and its faults.

    with ModelServer(faults=["429", "hang"]) as server:
        model = ChatOpenAI(model="any", base_url=server.url, api_key="any", timeout=1)

It listens while the `with` lasts.
"""

import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple, Self

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, convert_to_messages

from langgraph_reflexion.errors import ConfigurationError, one_of
from langgraph_reflexion.lab.demo import DemoChatModel
from langgraph_reflexion.models.usage import CHARACTERS_PER_TOKEN
from tests.support.loopback import ENDINGS, Answer, Call, Ending, ErrorAnswer, FaultyServer

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

    @property
    def characters(self) -> int:
        """The length of the messages' texts."""
        return sum(len(message.text) for message in convert_to_messages(self.body["messages"]))


def ask(model: BaseChatModel, body: dict[str, Any]) -> AIMessage:
    """Return the model's reply to a request."""
    messages = convert_to_messages(body["messages"])
    options = {"seed": body["seed"]} if body.get("seed") is not None else {}
    stops = [body["stop"]] if isinstance(body.get("stop"), str) else body.get("stop") or []
    asked: Any = model
    if body.get("tools"):
        choice = {"tool_choice": body["tool_choice"]} if body.get("tool_choice") else {}
        try:
            asked = model.bind_tools(body["tools"], **choice)
        except NotImplementedError as error:
            raise _error("refused", ModelRequest(0, body, {}, 0.0), "tools") from error
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
    "refused": "400 for a parameter: refused:stop",
}
"""The faults of `ModelServer`, each with a description."""

Odd = Callable[[dict[str, Any]], dict[str, Any] | Answer]
"""Makes an odd answer of a completion: another one, or the HTTP response itself."""

Fault = str | Odd | None
"""A name from `MODEL_FAULTS`, or a function of the completion; None means no fault."""


class ModelServer(FaultyServer[ModelRequest]):
    """A server that answers for a chat model as OpenAI would, inside `with`.

    Args:
        model: The model; the demo model unless given. Several clients call it in several threads.
        faults: The faults of the requests in order, none after the last; or a function that returns the fault of a
            request. It is called first, in the request's own thread, and may block.
        slots: Requests that are answered at once, while others wait; named at `/props` as llama.cpp does.
        port: The port; a free one unless given.

    Raises:
        ConfigurationError: there is no such fault.
    """

    def __init__(
        self,
        model: BaseChatModel | None = None,
        *,
        faults: Sequence[Fault] | Callable[[ModelRequest], Fault] = (),
        slots: int | None = None,
        port: int = 0,
    ) -> None:
        super().__init__([] if callable(faults) else [_checked(fault) for fault in faults], port)
        self.model = model or DemoChatModel()
        self._fault_for = faults if callable(faults) else None
        self._props = {"total_slots": slots}
        self._slots = threading.Semaphore(slots) if slots else nullcontext()

    def __enter__(self) -> Self:
        super().__enter__()
        self.url += "/v1"
        return self

    def _answer(self, call: Call) -> Answer:
        if call.path == "/props" and self._props["total_slots"]:
            return Answer(json.dumps(self._props).encode())
        if (call.method, call.path.partition("?")[0]) != ("POST", "/v1/chat/completions"):
            said = f"There is no {call.method} {call.path} here: this server has POST /v1/chat/completions."
            raise ErrorAnswer(404, said, code="unknown_url")
        with self._lock:
            body = json.loads(call.content)
            request = ModelRequest(len(self.requests) + 1, body, call.headers, time.monotonic())
            self.requests.append(request)
            fault = None if self._fault_for else next(self.faults, None)
        with self._slots:  # kept to the end, even if the client has left
            return self._complete(request, _checked(self._fault_for(request)) if self._fault_for else fault)

    def _complete(self, request: ModelRequest, fault: Fault) -> Answer:
        name, _, detail = (fault if isinstance(fault, str) else "").partition(":")
        if name in ENDINGS:
            return Answer(b"", ending=ENDINGS[name])
        if name in _ERRORS:
            raise _error(name, request, detail)
        try:
            reply = ask(self.model, request.body)
        except ConfigurationError as error:
            # A model that cannot answer this request will not answer it next time: no fault of the server.
            raise ErrorAnswer(400, str(error), kind="invalid_request_error") from error
        whole, in_events = completion(request, reply), bool(request.body.get("stream"))
        if odd := fault if callable(fault) else _ODD.get(name):
            made = odd(whole)
            if isinstance(made, Answer):
                return made
            return Answer(streamed(made) if in_events else json.dumps(made).encode())
        body = events(request, reply) if in_events else json.dumps(whole).encode()
        if name == "invalid-json":
            return Answer([body[0], body[1][:20] + b"\n\n"] if isinstance(body, list) else body[: len(body) // 2])
        return Answer(body, ending=_BROKEN.get(name, "whole"))


def _checked(fault: Fault) -> Fault:
    if isinstance(fault, str):
        name = fault.partition(":")[0]
        one_of("fault", name if name in ("429-retry-after", "refused") else fault, MODEL_FAULTS)
    return fault


_ODD: Mapping[str, Odd] = {"empty-choices": lambda completion: completion | {"choices": []}}
_BROKEN: Mapping[str, Ending] = {"truncated-stream": "half", "reset": "reset"}
_ERRORS: Mapping[str, tuple[int, str, str, str | None]] = {
    "429": (429, "Too many requests.", "requests", "rate_limit_exceeded"),
    "429-retry-after": (429, "Too many requests.", "requests", "rate_limit_exceeded"),
    "quota": (429, "You exceeded your quota, check your plan.", "insufficient_quota", "insufficient_quota"),
    "500": (500, "The server failed while it worked on your request.", "server_error", None),
    "503": (503, "The server is overloaded, try again later.", "server_error", None),
    "wrong-key": (401, "Invalid API key: {request.key}", "invalid_request_error", "invalid_api_key"),  # some quote it
    "unknown-model": (404, "There is no model {request.body[model]!r}.", "invalid_request_error", "model_not_found"),
    "context": (
        400,
        "{request.characters} characters.",
        "invalid_request_error",
        "context_length_exceeded",
    ),
    "refused": (
        400,
        "This model takes no {detail!r}.",
        "invalid_request_error",
        "unsupported_parameter",
    ),
}
"""The errors by fault: status, message, type and code."""


def _error(name: str, request: ModelRequest, detail: str) -> ErrorAnswer:
    status, said, kind, code = _ERRORS[name]
    headers = {"Retry-After": detail or "1"} if name == "429-retry-after" else {}
    param = {"context": "messages", "refused": detail}.get(name)
    return ErrorAnswer(
        status, said.format(request=request, detail=detail), kind=kind, param=param, code=code, headers=headers
    )
