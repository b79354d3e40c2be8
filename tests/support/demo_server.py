"""The demo model behind a loopback server that writes down every request before it answers.

The server lives in a process of its own, so that it goes on while its clients are killed.
"""

import hashlib
import json
import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.context import BaseContext
from pathlib import Path
from typing import Any, NamedTuple, cast

from langgraph_reflexion.testing import ModelRequest, ModelServer


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
    with served(context, _serve, str(requests), seconds) as url:
        yield url


@contextmanager
def served(context: BaseContext, serve: Callable[..., None], *args: Any) -> Iterator[Any]:
    """Run a server in a process of its own, and give what it says first: where it is found.

    Args:
        context: How the process is started.
        serve: What runs there; it is given a pipe to say that into, and the arguments.
        args: These arguments.
    """
    ours, theirs = context.Pipe()
    process = cast(Any, context).Process(target=serve, args=(theirs, *args), daemon=True)
    process.start()
    theirs.close()  # a server that dies while it starts is then noticed, and not waited for
    try:
        yield ours.recv()
    finally:
        process.kill()
        process.join()


def read_requests(path: Path) -> list[Request]:
    """The requests so far, in the order in which they arrived."""
    return [Request(**json.loads(line)) for line in path.read_bytes().splitlines()] if path.exists() else []


def _serve(pipe: Connection, requests: str, seconds: float) -> None:
    file = os.open(requests, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def record(request: ModelRequest) -> None:
        digest = hashlib.blake2b(json.dumps(request.body["messages"]).encode(), digest_size=16).hexdigest()
        recorded = Request(request.headers.get("openai-project", ""), request.body.get("seed"), digest)
        os.write(file, (json.dumps(recorded._asdict()) + "\n").encode())
        time.sleep(seconds * random.uniform(0.5, 1.5))

    with ModelServer(faults=record) as server:
        pipe.send(server.url)
        threading.Event().wait()
