"""HTTP servers on loopback whose answers may fail to arrive."""

import contextlib
import json
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer
from typing import Any, Generic, Literal, NamedTuple, Self, TypeVar

CLOSING = 1.0
"""Seconds that closing a server waits for answers in flight."""

_R = TypeVar("_R")
Ending = Literal["whole", "half", "reset", "never", "drip", "raw"]

ENDINGS: dict[str, Ending] = {"hang": "never", "drip": "drip", "cut": "half"}
"""How an answer ends, by the name of the fault."""

HTML = "text/html; charset=utf-8"


class Call(NamedTuple):
    """An HTTP request."""

    method: str
    path: str
    headers: dict[str, str]
    """The names in lower case."""
    content: bytes


@dataclass(frozen=True)
class Answer:
    """What is sent back: a text, or the events of a stream.

    It ends `whole`; `half`, after which the connection is closed or the stream ends in good order; with a `reset` of
    the connection; is `never` sent; is replaced by endless blanks (`drip`); or is `raw`, the body alone.
    """

    body: bytes | list[bytes]
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    ending: Ending = "whole"
    kind: str = "application/json"
    pause: float = 0.0
    """Seconds after each event of a stream."""


class ErrorAnswer(Exception):
    """An error response in the format of OpenAI's API; `kind` is its `type`."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        kind: str = "invalid_request_error",
        param: str | None = None,
        code: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        body = {"error": {"message": message, "type": kind, "param": param, "code": code}}
        self.answer = Answer(json.dumps(body).encode(), status, headers or {})


class Listener(ThreadingTCPServer):
    """An HTTP server with a thread per connection, on a free port if it is 0; `answer` may raise `ErrorAnswer`."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128

    def __init__(self, port: int, answer: Callable[[Call], Answer]) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.answer = answer
        self._connections: set[Any] = set()
        self._accepting = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._accepting.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def close(self) -> None:
        """Stop, and end all connections, even those on which a client waits."""
        self.shutdown()
        self._accepting.join()
        self.server_close()
        for connection in list(self._connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        deadline = time.monotonic() + CLOSING
        while self._connections and time.monotonic() < deadline:
            time.sleep(0.005)

    def process_request(self, request: Any, client_address: Any) -> None:
        self._connections.add(request)
        super().process_request(request, client_address)

    def close_request(self, request: Any) -> None:
        super().close_request(request)
        self._connections.discard(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        # A client that disconnects is not an error.
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: Listener
    protocol_version = "HTTP/1.1"
    # Small answers on kept connections would otherwise wait for the client's acknowledgement.
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        try:
            answer = self.server.answer(self._call())
        except ErrorAnswer as error:
            answer = error.answer
        except Exception as error:
            answer = ErrorAnswer(500, f"{type(error).__name__}: {error}", kind="server_error").answer
        if answer.ending == "never":
            # Returns when the client leaves, and when the server is closed.
            self.rfile.read(1)
            self.close_connection = True
        elif answer.ending == "raw" and isinstance(answer.body, bytes):
            self.wfile.write(answer.body)
            self.close_connection = True
        else:
            self._send(answer)
        if answer.ending == "reset":
            self._reset()

    def do_POST(self) -> None:
        self.do_GET()

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def _call(self) -> Call:
        headers = {name.lower(): value for name, value in self.headers.items()}
        length = headers.get("content-length", "0")
        if not length.isdecimal() or "transfer-encoding" in headers:
            self.close_connection = True
            raise ErrorAnswer(411, "Send the request with its Content-Length, and in one piece.")
        return Call(self.command, self.path, headers, self.rfile.read(int(length)))

    def _send(self, answer: Answer) -> None:
        body = answer.body
        drips, streamed = answer.ending == "drip", isinstance(body, list)
        self.close_connection |= drips or (answer.ending != "whole" and not streamed)
        headers = {"Content-Type": "text/event-stream" if streamed else answer.kind, **answer.headers}
        if streamed:
            headers["Transfer-Encoding"] = "chunked"
        elif not drips:
            headers["Content-Length"] = str(len(body))
        if self.close_connection:
            headers["Connection"] = "close"
        phrase, _ = self.responses.get(answer.status, ("", ""))
        lines = [f"HTTP/1.1 {answer.status} {phrase}", *(f"{name}: {value}" for name, value in headers.items())]
        head = "\r\n".join([*lines, "\r\n"]).encode()
        sent = body if answer.ending == "whole" else body[: len(body) // 2]
        if isinstance(sent, bytes):
            self.wfile.write(head if drips else head + sent)
        else:
            chunks = [head, *(b"%x\r\n%b\r\n" % (len(event), event) for event in sent)]
            chunks += [] if answer.ending == "reset" else [b"0\r\n\r\n"]
            for chunk in chunks if answer.pause else [b"".join(chunks)]:
                self.wfile.write(chunk)
                time.sleep(answer.pause)
        while drips:  # ends with an error when the client leaves, and when the server is closed
            self.wfile.write(b" ")
            time.sleep(0.02)

    def _reset(self) -> None:
        self.close_connection = True
        # Closing a socket without lingering resets it; the standard library would shut it down first.
        linger = struct.pack("hh" if sys.platform == "win32" else "ii", 1, 0)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        socket.close(self.connection.detach())


class FaultyServer(Generic[_R]):
    """A server on loopback inside `with`.

    Attributes:
        url: Its address, once it runs.
        requests: The requests so far.
        faults: The faults of the next requests; may be set at any time.
    """

    def __init__(self, faults: Iterable[Any], port: int = 0) -> None:
        self.faults: Iterator[Any] = iter(faults)
        self.requests: list[_R] = []
        self.url = ""
        self._port = port
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        self._listener = Listener(self._port, self._answer)
        self.url = self._listener.url
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()

    def _answer(self, call: Call) -> Answer:
        raise NotImplementedError

    def _record(self, request: _R) -> str | None:
        """Keep a request, and return its fault."""
        with self._lock:
            self.requests.append(request)
            return next(self.faults, None)
