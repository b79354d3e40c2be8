"""Classification of model clients' errors: transient, permanent, or a prompt that is too long."""

import re
from collections.abc import Iterator, Mapping, Sequence
from traceback import walk_tb
from typing import Any
from urllib.error import HTTPError

from langchain_core.messages import AIMessage

from langgraph_reflexion.errors import ContextTooLong, Fault, ModelFault, is_trouble
from langgraph_reflexion.models.limits import is_cut
from langgraph_reflexion.support.retries import parse_retry_after
from langgraph_reflexion.support.secrets import redact
from langgraph_reflexion.support.text import DEEPEST, one_line, sanitize

TRANSIENT = {408, 409, 425, 429}
"""HTTP statuses below 500 after which a retry may succeed."""

LONGEST = 10_000
"""Characters of an error that are read."""

PERMANENT = {401, 403, 404}
"""HTTP statuses after which no retry can succeed."""

_NO_ANSWER = "the model could not answer"
_CHECK = dict.fromkeys((401, 403), " (check the key)") | {404: " (check the model's name and the server's address)"}

OPTIONS = ("stop", "temperature", "seed", "max_tokens", "tool_choice", "tools", "stream")
"""Options of a request that some servers refuse."""

_TOO_LONG = re.compile(
    r"context[ _](length|window|size|limit)|(prompt|input) (is )?too long|string too long|too many (input )?tokens|"
    r"reduce (the|your) (length|prompt|input)|(request|prompt|model token limit).{0,40}exceed|exceeded model token|"
    r"maximum (prompt|input) length|(prompt|inputs?\b).{0,60}(exceeds|longer than).{0,60}(limit|maximum|max|length)|"
    r"inputs?`? (tokens|length|must have less).{0,40}(<=|should be|tokens)",
    re.IGNORECASE,
)
_TOOLS = r"\b(tools?|tool[ _-](use|choice|calls?|calling)|function[ _-]call\w*)\b"
_SAID = {
    **{option: rf"\b{option}\b" for option in OPTIONS},
    "max_tokens": r"\bmax_(completion_|output_|new_)?tokens\b",
    "tool_choice": r"\btool[_ -]?choice\b",
    # Servers mention tools for other reasons, too.
    "tools": rf"(support|enable|allow|unknown|unrecognized|unexpected).{{0,60}}{_TOOLS}|"
    rf"{_TOOLS}.{{0,40}}(not (supported|allowed|permitted|available)|unsupported)",
}
_UNKNOWN = re.compile(r"unexpected keyword argument '(\w+)'")
_CLIENTS = {"langgraph_sdk", "openai", "anthropic", "groq", "mistralai", "ollama", "cohere", "openrouter"}
_OWN_MISTAKES = (ImportError, NameError, NotImplementedError)


def to_fault(error: Exception, secrets: Sequence[str]) -> ModelFault:
    """Return the fault for a client's error, without the secrets: a server that refuses a key may quote it."""
    for cause in _causes(error):
        # Of the connection itself, which some versions of the clients wrap.
        if isinstance(cause, ModelFault):
            return cause
    detail = redact(_words(error), secrets, "***")[:LONGEST]
    status = _status(error)
    long = _is_overflow(error) or _TOO_LONG.search(detail)
    if status == 413 or (status in (None, 400, 422, 500) and long):
        return ContextTooLong(f"the prompt is too long for the model's context: {detail[:300]}")
    retry_after = _retry_after(error)
    asked = f" (retry after {retry_after:g} s)" if retry_after else ""
    # The clients raise a plain ValueError for an error that came as a reply.
    odd = type(error) is not ValueError and isinstance(error, AttributeError | LookupError | TypeError | ValueError)
    outcome = "the model's reply could not be read" if odd and status is None else _NO_ANSWER
    out_of_quota = "insufficient_quota" in (getattr(error, "code", None), getattr(error, "type", None))
    transient = not isinstance(error, _OWN_MISTAKES) if status is None else status in TRANSIENT or status >= 500
    return ModelFault(
        f"{outcome}: {type(error).__name__}: {detail[:300]}{asked}{_CHECK.get(status or 0, '')}",
        permanent=status in PERMANENT or out_of_quota,
        transient=transient,
        retry_after=retry_after,
    )


def is_timeout(fault: ModelFault) -> bool:
    """Return whether a client's error was that the server did not answer in time."""
    return any(isinstance(error, TimeoutError) or "Timeout" in type(error).__name__ for error in _causes(fault))


def unanswered(fault: ModelFault, address: str, attempts: int) -> ModelFault:
    """Return the permanent fault of a server that has never answered.

    Args:
        fault: The last attempt's.
        address: The server's address, without secrets; empty for a provider's.
        attempts: Number of attempts in all.
    """
    if is_timeout(fault) or any("Connect" in type(error).__name__ for error in _causes(fault)):
        said = str(fault).removeprefix(f"{_NO_ANSWER}: ")
        tried = f"{attempts} attempt{'s' * (attempts > 1)}"
        message = f"no answer from {address or 'the server'} in {tried} (is the server up?): {said}"
    else:
        check = "" if _status(fault) else " (check the server's address)"
        message = f"the model has never answered: {fault}{check}"
    return ModelFault(message, permanent=True)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__


def is_client_error(error: Exception) -> bool:
    """Return whether an error comes from a model client, not from another user of HTTP."""
    return any(_is_client(cls.__module__) for cls in type(error).__mro__)


def _is_client(module: str) -> bool:
    package = module.partition(".")[0]
    return package in _CLIENTS or package.startswith("langchain_")


def outside_fault(error: Exception, what: str) -> Fault | None:
    """Return the fault for trouble outside; None if the error is a bug.

    Args:
        error: What was raised.
        what: Who raised it, such as "the evaluator".
    """
    if isinstance(error, Fault):
        return error
    if isinstance(error, ExceptionGroup):
        return _fault_of_group(error, what)
    words = f"{what} failed: {one_line(error)}"
    if isinstance(error, HTTPError):
        # urllib's error is also the unread answer, and would keep the connection open.
        error.close()
    if is_client_error(error):
        found = to_fault(error, [])
        return Fault(words, transient=found.transient, retry_after=found.retry_after)
    if is_trouble(error):
        return Fault(words, retry_after=_retry_after(error))
    return None


def _fault_of_group(group: ExceptionGroup[Exception], what: str) -> Fault | None:
    """Return the fault for what a task group raises; None if a bug is among it."""
    found = [outside_fault(each, what) for each in group.exceptions]
    faults = [each for each in found if each is not None]
    if len(faults) < len(found):
        return None
    # One that no retry cures decides.
    return min(faults, key=lambda fault: fault.transient)


def is_bug(error: Exception) -> bool:
    """Return whether an error is a bug in a model class or a callback of the user's.

    Clients raise builtin exceptions at odd replies, too, but then the client is in the traceback.
    """
    if type(error).__module__ != "builtins" or is_trouble(error):
        return False
    *around, raised_in = [str(frame.f_globals.get("__name__")) for frame, _ in walk_tb(error.__traceback__)]
    # langchain_core also calls the user's own models and callbacks.
    clients = [module for module in around if not module.startswith("langchain_core.")]
    return not any(map(_is_client, [*clients, raised_in]))


def refused_option(error: Exception, sent: Sequence[str]) -> str | None:
    """Return the option of those sent that the server or its client refuses, if the error says so."""
    if isinstance(error, TypeError) and (unknown := _UNKNOWN.search(str(error))):
        # OpenAI's client has no `seed` for the Responses API.
        return unknown[1] if unknown[1] in sent else None
    if isinstance(error, ValueError) and "No generations found in stream" in str(error):
        return "stream" if "stream" in sent else None  # the reply came as a whole
    if _status(error) not in (400, 404, 422, 501):
        return None
    param = str(getattr(error, "param", None) or "")
    if param:
        named = re.split(r"[\[.]", param)[0]
        return named if named in sent else None
    words = _words(error)[:LONGEST]
    return next((option for option in sent if re.search(_SAID[option], words, re.IGNORECASE)), None)


def validate_reply(reply: AIMessage) -> None:
    """Raise ModelFault if a reply is empty, a refusal, or truncated in transit."""
    ended = reply.response_metadata
    if refusal := reply.additional_kwargs.get("refusal"):
        raise ModelFault(f"the model refused: {' '.join(str(refusal).split())[:300]}")
    # OpenAI's protocol ends every reply with a reason; without one, the stream broke off.
    if ended.get("model_provider") == "openai" and not (ended.get("finish_reason") or ended.get("status")):
        raise ModelFault("the model's reply was cut off")
    if not (reply.text.strip() or reply.tool_calls or reply.invalid_tool_calls):
        if ended.get("finish_reason") == "content_filter":
            raise ModelFault("the model refused: its provider's content filter withheld the reply")
        limited = ": it reached its limit, or the end of the context, before any text" if is_cut(reply) else ""
        raise ModelFault(f"the model's reply is empty{limited}")


def _words(error: Exception) -> str:
    """Return what an error says, and what the server's body or the first cause says beside it, in one line."""
    first: BaseException = error
    while _status(error) is None and first.__cause__:
        first = first.__cause__
    said = (str(error), _said(getattr(error, "body", None)), str(first))
    text, *more = (" ".join(sanitize(each).split()) for each in said)
    return ": ".join([text, *(each for each in dict.fromkeys(more) if each not in text)]).replace(".: ", ": ")


def _said(body: Any, depth: int = 0) -> str:
    """Return the sentences in an error's body: OpenAI's, FastAPI's or Mistral's JSON, plain text, or a page."""
    if isinstance(body, str):
        return re.sub(r"(?is)<(style|script)\b.*?</\1>|<[^<>]*>", " ", body[:LONGEST])
    if isinstance(body, list) and depth < DEEPEST:
        return "; ".join(filter(None, (_said(each, depth + 1) for each in body[:20])))
    if not isinstance(body, Mapping) or depth == DEEPEST:
        return ""
    inner = (_said(body.get(name), depth + 1) for name in ("error", "message", "detail", "msg"))
    said = next(filter(None, inner), "")
    where = body.get("loc")  # FastAPI's
    return f"{'.'.join(map(str, where))}: {said}" if isinstance(where, list) else said


def _sources(error: Any) -> Iterator[Any]:
    """Yield the objects that may hold the server's status and headers: the error, its cause, and their responses."""
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
            if (wait := parse_retry_after(str(headers.get(name, "")))) is not None:
                return wait * unit
    return None


def _is_overflow(error: Exception) -> bool:
    named = any(cls.__name__ == "ContextOverflowError" for cls in type(error).__mro__)
    return named or getattr(error, "code", None) == "context_length_exceeded"
