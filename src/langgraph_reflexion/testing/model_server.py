"""A model server on loopback: OpenAI's chat completions, and its faults.

    with ModelServer(faults=["429", "hang"]) as server:
        model = ChatOpenAI(model="any", base_url=server.url, api_key="any", timeout=1)

For agents in other processes and languages:

    python -m langgraph_reflexion.testing.model_server --fault 429 --fault hang --port 8000
"""

import argparse
import json
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import cycle
from typing import Any, NoReturn

from langchain_core.language_models import BaseChatModel

from langgraph_reflexion.demo import DemoChatModel
from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.testing.loopback import Answer, Call, Listener
from langgraph_reflexion.testing.model_answers import ask, completion, event, events
from langgraph_reflexion.testing.model_faults import (
    MODEL_FAULTS,
    ErrorAnswer,
    ModelRequest,
    checked_fault,
    context_exceeded,
    error_for,
    has,
    prompt_length,
    refused,
    reply_for,
    wrong_key,
)

__all__ = ["MODEL_FAULTS", "Faults", "ModelRequest", "ModelServer"]

Faults = Iterable[str | None] | Callable[[ModelRequest], str | None]
"""Names from `MODEL_FAULTS`, one per request, or a function of the request; None and `ok` are no fault."""


class ModelServer:
    """A server that answers for a chat model as OpenAI would, inside `with`.

    Args:
        model: The model; the demo model unless given. Several clients call it in several threads.
        faults: The faults of the requests in order, none after the last. A function is called first, in the
            request's own thread, and may block.
        key: The only accepted key; any key or none unless given.
        context_chars: Characters of messages that fit into the model's context.
        refuses: Parameters that the model refuses (`stop`, `temperature`, `seed`, `tools`).
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
        port: int = 0,
    ) -> None:
        self.model = model or DemoChatModel()
        self._fault_for = faults if callable(faults) else _one_by_one(faults)
        self._key, self._context_chars, self._refuses, self._port = key, context_chars, refuses, port
        self._requests: list[ModelRequest] = []
        self._lock = threading.Lock()
        self._listener: Listener | None = None

    def __enter__(self) -> "ModelServer":
        self._listener = Listener(self._port, self._answer)
        return self

    def __exit__(self, *_: object) -> None:
        if self._listener:
            self._listener.close()

    @property
    def url(self) -> str:
        """The `base_url` for clients."""
        if self._listener is None:
            raise RuntimeError("the server runs inside `with` only")
        return f"{self._listener.url}/v1"

    @property
    def requests(self) -> list[ModelRequest]:
        """All requests for a completion so far, in order of arrival."""
        with self._lock:
            return self._requests.copy()

    def _answer(self, call: Call) -> Answer:
        path = call.path.partition("?")[0]
        if (call.method, path) == ("GET", "/v1/models"):
            known = {"id": self.model._llm_type, "object": "model", "created": 0, "owned_by": "langgraph-reflexion"}
            return Answer(_json({"object": "list", "data": [known]}))
        if (call.method, path) == ("POST", "/v1/chat/completions"):
            request = self._record(_body(call.content), call.headers)
            return self._complete(request, checked_fault(self._fault_for(request)))
        said = f"There is no {call.method} {path} here: this server has GET /v1/models, POST /v1/chat/completions."
        raise ErrorAnswer(404, said, code="unknown_url")

    def _record(self, body: dict[str, Any], headers: dict[str, str]) -> ModelRequest:
        with self._lock:
            request = ModelRequest(len(self._requests) + 1, body, headers, time.monotonic())
            self._requests.append(request)
        return request

    def _complete(self, request: ModelRequest, fault: str) -> Answer:
        if self._key is not None and request.key != self._key:
            raise wrong_key(request)
        if fault == "hang":
            return Answer(b"", ending="never")
        if error := error_for(fault, request) or self._refusal(request):
            raise error
        reply = reply_for(fault, request) or ask(self.model, request)
        whole = completion(request, reply)
        streamed = events(request, reply) if request.body.get("stream") else None
        if fault == "empty-choices":
            whole["choices"] = []
            streamed = streamed and [event(whole | {"object": "chat.completion.chunk"}), streamed[-1]]
        body = streamed or _json(whole)
        if fault == "invalid-json":
            return Answer([body[0], body[1][:20] + b"\n\n"] if isinstance(body, list) else body[: len(body) // 2])
        if fault == "truncated-stream":
            return Answer(body, ending="half")
        return Answer(body, ending="reset" if fault == "reset" else "whole")

    def _refusal(self, request: ModelRequest) -> ErrorAnswer | None:
        for parameter in self._refuses:
            if has(request, parameter):
                return refused(parameter)
        if self._context_chars is not None and (length := prompt_length(request)) > self._context_chars:
            return context_exceeded(length, self._context_chars)
        return None


def _one_by_one(faults: Iterable[str | None]) -> Callable[[ModelRequest], str | None]:
    # An endless iterable is checked request by request.
    left: Iterator[str | None] = iter(
        [checked_fault(each) for each in faults] if isinstance(faults, Sequence) else faults
    )
    taken: list[str | None] = []
    lock = threading.Lock()

    def take(request: ModelRequest) -> str | None:
        with lock:
            while len(taken) < request.number:
                taken.append(next(left, None))
            return taken[request.number - 1]

    return take


def _body(content: bytes) -> dict[str, Any]:
    try:
        body = json.loads(content)
    except ValueError as error:
        raise ErrorAnswer(400, f"The request is not JSON: {error}") from error
    messages = body.get("messages") if isinstance(body, dict) else None
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        raise ErrorAnswer(400, "The request has no list of messages.", param="messages")
    return dict(body)


def _json(data: dict[str, Any]) -> bytes:
    return json.dumps(data).encode()


def main() -> NoReturn:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m langgraph_reflexion.testing.model_server",
        description="Serve a chat model on loopback as OpenAI would, until interrupted.",
        epilog="faults:\n" + "\n".join(f"  {name:21}{what}" for name, what in MODEL_FAULTS.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--model", default="demo", help="demo, or provider:name (demo)")
    parser.add_argument("--port", type=int, default=0, help="the port (a free one)")
    parser.add_argument(
        "--fault", action="append", default=[], help="the fault of the next request; may be repeated; ok is none"
    )
    parser.add_argument("--repeat", action="store_true", help="repeat the faults without end")
    parser.add_argument("--key", help="the only accepted key")
    parser.add_argument("--context-chars", type=int, metavar="N", help="size of the model's context")
    parser.add_argument("--refuse", action="append", default=[], metavar="NAME", help="a parameter to refuse")
    args = parser.parse_args()
    from langgraph_reflexion.models.load import load_model

    try:
        faults = [checked_fault(each) for each in args.fault]
        server = ModelServer(
            load_model(args.model),
            faults=cycle(faults) if args.repeat else faults,
            key=args.key,
            context_chars=args.context_chars,
            refuses=args.refuse,
            port=args.port,
        )
        with server:
            print(server.url, flush=True)
            threading.Event().wait()
    except (ConfigurationError, OSError, OverflowError) as error:
        parser.exit(2, f"{error}\n")
    except KeyboardInterrupt:
        parser.exit(0)
    raise AssertionError("waiting never ends")


if __name__ == "__main__":
    main()
