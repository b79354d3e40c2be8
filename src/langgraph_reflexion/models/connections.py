"""The connections of a run's OpenAI-compatible models: replies are bounded, and messages sent as they are."""

from typing import TYPE_CHECKING, Any

from langgraph_reflexion.errors import ModelFault

if TYPE_CHECKING:
    from openai import DefaultAsyncHttpxClient

MAX_BYTES = 64 << 20
"""Bytes that a response may announce."""
MAX_PACKED = 128 << 10
"""Bytes of a gzipped response, which may grow a thousandfold; none is asked for."""


def bounded_connections() -> "DefaultAsyncHttpxClient":
    """Return a client that does not read a response that is too large: that is a fault.

    Raises:
        OSError: the certificates cannot be read.
    """
    from openai import DefaultAsyncHttpxClient

    headers = {"Accept-Encoding": "identity"}
    # httpx calls the hook when it has the headers, and has not read the body yet.
    return DefaultAsyncHttpxClient(headers=headers, event_hooks={"response": [_expect_bounded]})


async def _expect_bounded(response: Any) -> None:
    encoding = response.headers.get("Content-Encoding", "").strip().lower()
    announced = response.headers.get("Content-Length", "")
    size = _as_size(announced)
    if encoding in ("", "identity"):
        if size is not None and size > MAX_BYTES:
            raise ModelFault(f"the server's response has {size} bytes, of which at most {MAX_BYTES} are read")
        return
    # Several in a row grow a millionfold, and so do others than these.
    bounded = encoding in ("gzip", "deflate") and size is not None and size <= MAX_PACKED
    if not bounded:
        raise ModelFault(f"the server's response is packed ({encoding:.100}), although none such was asked for")


def _as_size(announced: str) -> int | None:
    """Return the number in a Content-Length header; None if there is none that makes sense."""
    is_number = announced.isascii() and announced.isdigit()
    # `int` raises an error for thousands of digits.
    if not is_number or len(announced) >= 20:
        return None
    return int(announced)


class MessagesAsTheyAre:
    """OpenAI's `chat.completions`, as LangChain calls it, with messages that the SDK does not look at.

    Before it sends messages, the SDK compares each of them with all the types that messages can have. In JSON that
    changes nothing, and nothing else in a long prompt's request takes as much CPU. `extra_body` it sends as it is.
    """

    def __init__(self, completions: Any) -> None:
        self._completions = completions

    @property
    def with_raw_response(self) -> "MessagesAsTheyAre":
        return MessagesAsTheyAre(self._completions.with_raw_response)

    async def create(self, *, messages: Any, extra_body: Any = None, **request: Any) -> Any:
        """Send a request as `chat.completions.create` does."""
        body = {"messages": messages}
        # As without this class, the caller's `extra_body` replaces fields of its name.
        body.update(extra_body or {})
        return await self._completions.create(messages=[], extra_body=body, **request)
