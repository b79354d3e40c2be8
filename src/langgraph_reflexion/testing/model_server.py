"""A model server on loopback: OpenAI's chat completions, and its faults.

with ModelServer(faults=["429", "hang"]) as server:
model = ChatOpenAI(model="any", base_url=server.url, api_key="any", timeout=1)
"""

import json
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from typing import Any, Self

from langchain_core.language_models import BaseChatModel

from langgraph_reflexion.demo import DemoChatModel
from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.testing.loopback import ENDINGS, Answer, Call, ErrorAnswer, FaultyServer
from langgraph_reflexion.testing.model_answers import ModelRequest, ask, completion, events, refused, streamed

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
