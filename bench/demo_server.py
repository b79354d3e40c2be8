"""The demo model behind a loopback HTTP server that speaks OpenAI's chat completions and records every request.

The server lives in a process of its own, so that it goes on while its clients are killed.
"""

import hashlib
import json
import os
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Connection
from multiprocessing.context import BaseContext
from pathlib import Path
from typing import Any, NamedTuple, cast

from langchain_core.messages import AIMessage, convert_to_messages

from langgraph_reflexion.demo import DemoChatModel


class Request(NamedTuple):
    """A request as it was recorded."""

    life: str
    """Who asked: what the client's `OPENAI_PROJECT_ID` was, which it sends with every request."""
    seed: int | None
    """The seed that was asked with."""
    prompt: str
    """A digest of the messages."""


@contextmanager
def demo_server(context: BaseContext, requests: Path, seconds: float) -> Iterator[str]:
    """Run a server, and give its address.

    Args:
        context: How its process is started.
        requests: Where requests are recorded, one JSON line each, before they are answered.
        seconds: How long an answer takes on average.
    """
    ours, theirs = context.Pipe()
    process = cast(Any, context).Process(target=_serve, args=(theirs, str(requests), seconds), daemon=True)
    process.start()
    try:
        yield f"http://127.0.0.1:{ours.recv()}/v1"
    finally:
        process.kill()
        process.join()


def read_requests(path: Path) -> list[Request]:
    """The requests so far, in the order in which they arrived."""
    return [Request(**json.loads(line)) for line in path.read_bytes().splitlines()] if path.exists() else []


def _serve(pipe: Connection, requests: str, seconds: float) -> None:
    server = _Server(requests, seconds)
    pipe.send(server.server_address[1])
    server.serve_forever()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, requests: str, seconds: float) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.seconds = seconds
        self.model = DemoChatModel()
        self.requests = os.open(requests, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that were killed are no error."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Record the request, and answer as the demo model does."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        digest = hashlib.blake2b(json.dumps(body["messages"]).encode(), digest_size=16).hexdigest()
        request = Request(self.headers.get("OpenAI-Project", ""), body.get("seed"), digest)
        os.write(self.server.requests, (json.dumps(request._asdict()) + "\n").encode())
        time.sleep(self.server.seconds * random.uniform(0.5, 1.5))
        reply = self.server.model.invoke(convert_to_messages(body["messages"]), seed=body.get("seed"))
        data = json.dumps(_completion(body["model"], reply)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


def _completion(model: str, reply: AIMessage) -> dict[str, Any]:
    usage = reply.usage_metadata or {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}
    return {
        "id": "demo",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": reply.text}}],
        "usage": {
            "prompt_tokens": usage["input_tokens"],
            "completion_tokens": usage["output_tokens"],
            "total_tokens": usage["total_tokens"],
        },
    }
