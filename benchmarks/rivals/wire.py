"""The way of a rival's requests to the model, on which each one is counted.

    with way_to("http://127.0.0.1:8080/v1", most=8) as wire:
        ...  # the rival asks the model at wire.url

Requests pass the count, then the proxy that reads tool calls of small models, and then, if replies are kept, their
keeper. The count refuses what is above the number of calls allowed.
"""

import json
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Self

import httpx

from tests.support.loopback import Answer, Call, ErrorAnswer, Listener
from tests.support.reflections.reply_cache import ReplyKeeper
from tests.support.tool_call_proxy import ToolCallProxy, as_stream

SECONDS = 1200.0
"""Longest time that a reply may take."""

USED_UP = "calls_used_up"
"""The code of a refusal. Its status is 400, which no client tries again."""

RANDOM_MARK = r"(?<=-)[0-9a-f]{16}\b"
"""What RubricMiddleware puts anew into the tags of each prompt for its grader, as in `<rubric-...>`."""

Row = dict[str, Any]


class Wire:
    """Counts requests while the `with` lasts, and passes them on.

    A stream is asked for as a whole reply, so that its tokens are counted and its reply is kept as any other, and is
    sent on as a stream.

    Args:
        server: The address to pass requests on to, which ends in `/v1`.
        most: Calls that are passed on at most.
        failing: The numbers of requests, from 1, that are answered with the status 500.
        before: Called with the number and the body of each request before it is answered.

    Attributes:
        requests: All requests.
        calls: Those that were passed on.
        refused: Those above the limit.
        when_used_up: Called before the first one is refused.
        failed: Those answered with an error, planted or not.
        keeper: Keeps the replies behind the proxy, and counts for itself; None if they are not kept.
    """

    def __init__(
        self,
        server: str,
        most: int | None = None,
        failing: Collection[int] = (),
        before: Callable[[int, Row], None] | None = None,
    ) -> None:
        self.server, self.most, self.failing, self.before = server.rstrip("/"), most, failing, before
        self.requests = self.calls = self.refused = self.failed = 0
        self.prompt_tokens = self.completion_tokens = 0
        self.without_usage = 0
        self.when_used_up: Callable[[], None] = lambda: None
        self.keeper: ReplyKeeper | None = None
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        self._client = httpx.Client(timeout=SECONDS)
        self._listener = Listener(0, self._answer)
        self.url = f"{self._listener.url}/v1"
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()
        self._client.close()

    def spent(self) -> tuple[int, int]:
        """Return the calls and tokens so far."""
        return self.calls, self.prompt_tokens + self.completion_tokens

    def left(self) -> int:
        """Return the calls that are left.

        Raises:
            ValueError: there is no limit.
        """
        if self.most is None:
            raise ValueError("there is no limit on calls")
        return self.most - self.calls

    @property
    def lost_requests(self) -> bool:
        """Whether requests have failed on their way to the model's server; those that were kept never went there."""
        if self.keeper and not self.keeper.asked:
            return False
        return self.failed > 0

    def row(self) -> Row:
        """Return the counts."""
        names = ("requests", "calls", "refused", "failed", "prompt_tokens", "completion_tokens", "without_usage")
        row: Row = {name: getattr(self, name) for name in names}
        if self.keeper:
            # A second count, of which the proxy could have lost or added something.
            row["calls_behind_proxy"] = self.keeper.asked + self.keeper.found
        return row

    def _answer(self, call: Call) -> Answer:
        if call.method != "POST" or not call.path.endswith("/chat/completions"):
            got = self._client.get(self.server + call.path.removeprefix("/v1"))
            return Answer(got.content, got.status_code)
        body = json.loads(call.content)
        if "max_completion_tokens" in body:
            # Servers that know the older name alone would limit the replies to some packages and not to others.
            body["max_tokens"] = body.pop("max_completion_tokens")
        with self._lock:
            self.requests += 1
            if self.before:
                self.before(self.requests, body)
            self._admit()
        streamed = bool(body.pop("stream", False))
        wants_usage = bool((body.pop("stream_options", None) or {}).get("include_usage"))
        got = self._client.post(f"{self.server}/chat/completions", json=body)
        with self._lock:
            self._count(got)
        if streamed and got.status_code == 200:
            return Answer(as_stream(got.json(), wants_usage), kind="text/event-stream")
        return Answer(got.content, got.status_code)

    def _admit(self) -> None:
        """Let a request pass.

        Raises:
            ErrorAnswer: it is above the limit, or one that fails.
        """
        if self.requests in self.failing:
            self.failed += 1
            raise ErrorAnswer(500, "a failure that was planted", kind="server_error")
        if self.most is not None and self.calls >= self.most:
            if not self.refused:
                self.when_used_up()
            self.refused += 1
            raise ErrorAnswer(400, f"all {self.most} calls are used up", code=USED_UP)
        self.calls += 1

    def _count(self, got: httpx.Response) -> None:
        if got.status_code != 200:
            self.failed += 1
            return
        usage = got.json().get("usage")
        if not usage:
            self.without_usage += 1
            return
        self.prompt_tokens += usage["prompt_tokens"]
        self.completion_tokens += usage["completion_tokens"]


@contextmanager
def way_to(
    server: str,
    most: int | None = None,
    *,
    replies: Path | None = None,
    label: str = "",
    failing: Collection[int] = (),
    before: Callable[[int, Row], None] | None = None,
) -> Iterator[Wire]:
    """Open the way to a model's server.

    Args:
        server: The model's address, which ends in `/v1`.
        most: Calls that are allowed.
        replies: A file in which replies are kept. The n-th request for a prompt gets the n-th reply, counted anew on
            each way: all rivals begin with the same replies, and a repeated run asks the server nothing.
        label: Tells samples apart.
        failing: The numbers of requests that fail.
        before: Called before each request.
    """
    with ExitStack() as stack:
        keeper = None
        if replies:
            keeper = stack.enter_context(ReplyKeeper(server, replies, label, RANDOM_MARK))
            server = keeper.url
        reader = stack.enter_context(ToolCallProxy(server))
        wire = stack.enter_context(Wire(reader.url, most, failing, before))
        wire.keeper = keeper
        yield wire
