"""The faults of a model server, by name."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from langchain_core.messages import AIMessage
from langchain_core.messages.tool import invalid_tool_call, tool_call

from langgraph_reflexion.errors import ConfigurationError

OK = "ok"
"""The name for no fault."""

MODEL_FAULTS: Mapping[str, str] = {
    "429": "too many requests, without Retry-After",
    "429-retry-after": "too many requests, with Retry-After: 1; 429-retry-after:0.2 for other seconds",
    "quota": "429 with the code insufficient_quota, which no retry helps",
    "500": "the server failed",
    "503": "the server is overloaded",
    "hang": "no answer, until the client leaves",
    "reset": "the connection is reset in the middle of the answer",
    "truncated-stream": "a stream that ends early as if complete; without streaming, half of the body",
    "invalid-json": "an answer whose JSON breaks off, in a complete HTTP response",
    "empty-choices": "a completion without choices",
    "empty-text": "an empty reply",
    "refusal": "a refusal, without content",
    "broken-tool-call": "a call of the request's first tool, with arguments that are not JSON",
    "unknown-tool": "a call of a tool that does not exist",
    "megabyte": "a reply of a million characters",
    "wrong-key": "401, with the key in the message",
    "unknown-model": "404 for the model",
    "context": "400 with the code context_length_exceeded",
    "refuses-stop": "400 for a request with `stop`; others are answered",
    "refuses-temperature": "400 for a request with `temperature`; others are answered",
    "refuses-seed": "400 for a request with `seed`; others are answered",
    "refuses-tools": "400 for a request with `tools`; others are answered",
}
"""The faults of `ModelServer`, each with a description."""


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


class ErrorAnswer(Exception):
    """An error response in the format of OpenAI's API.

    Args:
        status: The HTTP status.
        message: The error's message.
        kind: The error's `type`.
        param: The wrong parameter.
        code: The error's `code`.
        headers: More headers.
    """

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
        self.status = status
        self.headers = dict(headers or {})
        self.body = {"error": {"message": message, "type": kind, "param": param, "code": code}}


def checked_fault(fault: str | None) -> str:
    """Return the fault, or `OK` for None.

    Raises:
        ConfigurationError: there is no such fault.
    """
    fault = OK if fault is None else fault
    name, _, detail = fault.partition(":")
    if name not in {OK, *MODEL_FAULTS} or (detail and not _takes(name, detail)):
        raise ConfigurationError(f"no model fault {fault!r}: choose one of {', '.join(MODEL_FAULTS)}")
    return fault


def _takes(name: str, detail: str) -> bool:
    try:
        return name == "429-retry-after" and float(detail) >= 0
    except ValueError:
        return False


def error_for(fault: str, request: ModelRequest) -> ErrorAnswer | None:
    """The error that a fault is; None where it is none, or not for this request."""
    name, _, detail = fault.partition(":")
    match name:
        case "429" | "429-retry-after":
            headers = {"Retry-After": detail or "1"} if name == "429-retry-after" else {}
            return ErrorAnswer(
                429, "Too many requests.", kind="requests", code="rate_limit_exceeded", headers=headers
            )
        case "quota":
            said = "Your quota is used up, see to your plan and billing."
            return ErrorAnswer(429, said, kind="insufficient_quota", code="insufficient_quota")
        case "500":
            return ErrorAnswer(500, "The server failed while it worked on your request.", kind="server_error")
        case "503":
            return ErrorAnswer(503, "The server is overloaded, try again later.", kind="server_error")
        case "wrong-key":
            return wrong_key(request)
        case "unknown-model":
            said = f"There is no model {request.body.get('model')!r}, or not for you."
            return ErrorAnswer(404, said, code="model_not_found")
        case "context":
            length = prompt_length(request)
            return context_exceeded(length, length // 2)
        case _ if name.startswith("refuses-"):
            parameter = name.removeprefix("refuses-")
            return refused(parameter) if has(request, parameter) else None
    return None


def reply_for(fault: str, request: ModelRequest) -> AIMessage | None:
    """The reply that a fault puts in place of the model's, if it does."""
    match fault:
        case "empty-text":
            return AIMessage("")
        case "refusal":
            return AIMessage("", additional_kwargs={"refusal": "I cannot help with that."})
        case "broken-tool-call":
            tools = request.body.get("tools") or [{"function": {"name": "act"}}]
            # Clients complete arguments that merely break off; these are beyond repair.
            broken = invalid_tool_call(
                name=tools[0]["function"]["name"], args='{"what" = the]', id="call_0", error=None
            )
            return AIMessage("", invalid_tool_calls=[broken])
        case "unknown-tool":
            return AIMessage("", tool_calls=[tool_call(name="no_such_tool", args={}, id="call_0")])
        case "megabyte":
            return AIMessage("and so on " * 100_000)
    return None


def wrong_key(request: ModelRequest) -> ErrorAnswer:
    """The key is refused, and quoted, as servers do that know no better."""
    return ErrorAnswer(401, f"This is no valid API key: {request.key}", code="invalid_api_key")


def context_exceeded(length: int, limit: int) -> ErrorAnswer:
    """The prompt is too long."""
    said = f"The messages are {length} characters long, and this model's context ends at {limit}: shorten them."
    return ErrorAnswer(400, said, param="messages", code="context_length_exceeded")


def has(request: ModelRequest, parameter: str) -> bool:
    """Whether a request has a parameter; null is none."""
    return request.body.get(parameter) is not None


def refused(parameter: str) -> ErrorAnswer:
    """A parameter is not taken."""
    # OpenAI's reasoning models know the temperature, and take one value only.
    code = "unsupported_value" if parameter == "temperature" else "unsupported_parameter"
    return ErrorAnswer(400, f"This model does not take {parameter!r} as given.", param=parameter, code=code)


def prompt_length(request: ModelRequest) -> int:
    """How many characters of text the messages have."""
    contents = [message.get("content") or "" for message in request.body["messages"]]
    blocks = [each for content in contents for each in ([content] if isinstance(content, str) else content)]
    return sum(len(block if isinstance(block, str) else block.get("text") or "") for block in blocks)
