"""What clients raise, told apart: what may pass, what stays, and what is too long."""

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from traceback import walk_tb
from typing import Any

from langchain_core.messages import AIMessage

from langgraph_reflexion.errors import ContextTooLong, ModelFault
from langgraph_reflexion.models.secrets import blotted, secrets_around

TRANSIENT = {408, 409, 425, 429}
"""HTTP statuses below 500 that may be another one in a moment."""

PERMANENT = {401, 403, 404}
"""HTTP statuses that asking again cannot change."""

OPTIONS = ("stop", "temperature", "seed", "tools")
"""What a request may say besides the prompt, and some servers refuse."""

_TOO_LONG = re.compile(
    r"context_length_exceeded|context (length|window|size)|prompt is too long|too many (input )?tokens|"
    r"exceed_context_size|input.{0,30}(exceeds|longer than).{0,40}(limit|maximum|length)",
    re.IGNORECASE,
)
_TOOLS = r"\b(tools?|tool[ _-](use|choice|calls?|calling)|function[ _-]call\w*)\b"
_SAID = {
    # Servers speak of tools for other reasons, too.
    "tools": re.compile(
        rf"(support|enable|allow|unknown|unrecognized|unexpected).{{0,60}}{_TOOLS}|"
        rf"{_TOOLS}.{{0,40}}(not (supported|allowed|permitted|available)|unsupported)",
        re.IGNORECASE,
    )
}
_CLIENTS = {"openai", "anthropic", "groq", "mistralai", "ollama", "cohere", "openrouter"}
_OWN_MISTAKES = (AttributeError, ImportError, NameError, NotImplementedError)


def as_fault(error: Exception, secrets: Sequence[str]) -> ModelFault:
    """Say in one line what went wrong, and whether asking again may help.

    Args:
        error: What the client raised.
        secrets: What is taken out of its words: a server that refuses a key may quote it.
    """
    detail = blotted(" ".join(str(error).split()), secrets, "***")
    status = _status(error)
    if status in (None, 400, 413, 422, 500) and (_is_overflow(error) or _TOO_LONG.search(detail)):
        return ContextTooLong(f"the prompt is too long for the model's context: {detail[:300]}")
    out_of_quota = "insufficient_quota" in (getattr(error, "code", None), getattr(error, "type", None))
    transient = not isinstance(error, _OWN_MISTAKES) if status is None else status in TRANSIENT or status >= 500
    return ModelFault(
        f"the model could not answer: {type(error).__name__}: {detail[:300]}",
        permanent=status in PERMANENT or out_of_quota,
        transient=transient,
        retry_after=_retry_after(error),
    )


def in_a_line(error: BaseException) -> str:
    """What an error says, in one line, and without what looks like a key."""
    detail = blotted(" ".join(str(error).split()), secrets_around(), "***")
    return f"{type(error).__name__}: {detail[:300]}"


def by_a_client(error: Exception) -> bool:
    """Whether an error is a model client's, and not that of anything else that speaks HTTP."""
    roots = {cls.__module__.partition(".")[0] for cls in type(error).__mro__}
    return any(_is_client(root) for root in roots)


def _is_client(package: str) -> bool:
    return package in _CLIENTS or package.startswith("langchain_")


def is_bug(error: Exception) -> bool:
    """Return whether an error is a bug in a model class or a callback of the user's, and no trouble with the server.

    Clients meet odd replies with errors of Python's own, too, but then the client is in the traceback.
    """
    if type(error).__module__ != "builtins" or isinstance(error, OSError):
        return False
    frames = [frame.f_globals.get("__name__", "") for frame, _ in walk_tb(error.__traceback__)]
    *around, raised_in = [str(name).partition(".")[0] for name in frames]
    # langchain_core is around the user's own models and callbacks, too.
    return not (_is_client(raised_in) or any(_is_client(root) for root in {*around} - {"langchain_core"}))


def refused_option(error: Exception, sent: Sequence[str]) -> str | None:
    """Which of the options that were sent a server refuses, where that is what it says.

    Args:
        error: What the client raised.
        sent: The options that the request had.
    """
    if _status(error) not in (400, 404, 422, 501):
        return None
    param = str(getattr(error, "param", None) or "")
    for option in sent:
        if param.split("[")[0].split(".")[0] == option:
            return option
    said = str(error)
    return next((option for option in sent if not param and _SAID.get(option, _word(option)).search(said)), None)


def check_reply(reply: AIMessage) -> None:
    """Make sure that a reply is one.

    Raises:
        ModelFault: it is empty, a refusal, or was cut off on its way.
    """
    ended = reply.response_metadata
    if refusal := reply.additional_kwargs.get("refusal"):
        raise ModelFault(f"the model refused: {' '.join(str(refusal).split())[:300]}")
    # OpenAI's protocol ends every answer with a reason; one without it is the first half of a stream.
    if ended.get("model_provider") == "openai" and not (ended.get("finish_reason") or ended.get("status")):
        raise ModelFault("the model's answer was cut off on its way")
    if not (reply.text.strip() or reply.tool_calls or reply.invalid_tool_calls):
        if ended.get("finish_reason") == "content_filter":
            raise ModelFault("the model refused: its provider's content filter kept the answer")
        raise ModelFault("the model answered with nothing")


def _sources(error: Any) -> Iterator[Any]:
    """Where clients say what the server said: in the error, its response, or the error that it was made of."""
    for each in (error, error.__cause__):
        yield each
        yield getattr(each, "response", None)


def _status(error: Any) -> int | None:
    for source in _sources(error):
        values = [getattr(source, name, None) for name in ("status_code", "status", "code")]
        if isinstance(source, Mapping):  # botocore
            values = [source.get("ResponseMetadata", {}).get("HTTPStatusCode")]
        for value in values:
            if isinstance(value, int) and 400 <= value < 600:
                return value
    return None


def _retry_after(error: Any) -> float | None:
    for source in _sources(error):
        headers = getattr(source, "headers", None)
        headers = headers if isinstance(headers, Mapping) else {}
        if isinstance(source, Mapping):
            headers = source.get("ResponseMetadata", {}).get("HTTPHeaders", {})
        for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
            said = str(headers.get(name, ""))
            try:
                return max(0.0, float(said) * unit)
            except ValueError:
                with contextlib.suppress(ValueError, TypeError, OverflowError):
                    return max(0.0, (parsedate_to_datetime(said) - datetime.now(UTC)).total_seconds())
    return None


def _is_overflow(error: Exception) -> bool:
    named = any(cls.__name__ == "ContextOverflowError" for cls in type(error).__mro__)
    return named or getattr(error, "code", None) == "context_length_exceeded"


def _word(option: str) -> re.Pattern[str]:
    return re.compile(rf"\b{option}\b", re.IGNORECASE)
