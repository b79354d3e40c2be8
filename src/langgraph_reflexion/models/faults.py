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
from langgraph_reflexion.support.text import DEEPEST, count, one_line, sanitize

TRANSIENT = {408, 409, 425, 429}
"""HTTP statuses below 500 after which a retry may succeed."""

LONGEST = 10_000
"""Characters of an error that are read."""

PERMANENT = {401, 403, 404}
"""HTTP statuses after which no retry can succeed."""

REFUSED_OPTION = {400, 404, 422, 501}
"""HTTP statuses with which servers refuse an option of a request."""

_NO_ANSWER = "the model could not answer"
_CHECK: dict[int | None, str] = {
    401: " (check the key)",
    403: " (check the key)",
    404: " (check the model's name and the server's address)",
}
"""What to check, by the HTTP status."""

_TOO_LONG = re.compile(
    r"context[ _](length|window|size|limit)|(prompt|input) (is )?too long|string too long|too many (input )?tokens|"
    r"reduce (the|your) (length|prompt|input)|(request|prompt|model token limit).{0,40}exceed|exceeded model token|"
    r"maximum (prompt|input) length|(prompt|inputs?\b).{0,60}(exceeds|longer than).{0,60}(limit|maximum|max|length)|"
    r"inputs?`? (tokens|length|must have less).{0,40}(<=|should be|tokens)",
    re.IGNORECASE,
)
_TOOLS = r"\b(tools?|tool[ _-](use|choice|calls?|calling)|function[ _-]call\w*)\b"
_SAID = {
    "stop": r"\bstop\b",
    "temperature": r"\btemperature\b",
    "seed": r"\bseed\b",
    "max_tokens": r"\bmax_(completion_|output_|new_)?tokens\b",
    "tool_choice": r"\btool[_ -]?choice\b",
    "stream": r"\bstream\b",
    "response_format": r"\bresponse[_ -]?format\b|\bjson[_ -]?schema\b|\bgrammar\b",
    # Servers mention tools for other reasons, too.
    "tools": rf"(support|enable|allow|unknown|unrecognized|unexpected).{{0,60}}{_TOOLS}|"
    rf"{_TOOLS}.{{0,40}}(not (supported|allowed|permitted|available)|unsupported)",
}
"""Options of a request that some servers refuse, and how their words name them."""
_UNKNOWN = re.compile(r"unexpected keyword argument '(\w+)'")
_CLIENTS = {"langgraph_sdk", "openai", "anthropic", "groq", "mistralai", "ollama", "cohere", "openrouter"}
_OWN_MISTAKES = (ImportError, NameError, NotImplementedError)


def to_fault(error: Exception, secrets: Sequence[str]) -> ModelFault:
    """Return the fault for a client's error, without the secrets: a server that refuses a key may quote it."""
    for cause in _causes(error):
        # A fault that `models.connections` has raised within the client, which some versions wrap in an error.
        if isinstance(cause, ModelFault):
            return cause
    # Cut only afterwards, as half a secret would not be recognized.
    detail = redact(_words(error), secrets, "***")[:LONGEST]
    status = _status(error)
    if _is_too_long(error, status, detail):
        return ContextTooLong(f"the prompt is too long for the model's context: {detail[:300]}")
    outcome = _NO_ANSWER
    if status is None and _is_odd_reply(error):
        outcome = "the model's reply could not be read"
    hint = ""
    retry_after = _retry_after(error)
    if retry_after:
        hint = f" (retry after {retry_after:g} s)"
    if status in _CHECK:
        hint += _CHECK[status]
    # OpenAI reports a used-up quota with the status of a rate limit, but no wait helps.
    out_of_quota = "insufficient_quota" in (getattr(error, "code", None), getattr(error, "type", None))
    return ModelFault(
        f"{outcome}: {type(error).__name__}: {detail[:300]}{hint}",
        permanent=status in PERMANENT or out_of_quota,
        transient=_is_transient(error, status),
        retry_after=retry_after,
    )


def _is_too_long(error: Exception, status: int | None, detail: str) -> bool:
    """Return whether an error says that the prompt is too long."""
    if status == 413:
        return True
    # Servers refuse long prompts with various statuses, or within a stream with none.
    if status not in (None, 400, 422, 500):
        return False
    return _is_overflow(error) or _TOO_LONG.search(detail) is not None


def _is_odd_reply(error: Exception) -> bool:
    """Return whether a client stumbled over a reply."""
    # The clients raise a plain ValueError for an error that came as a reply.
    if type(error) is ValueError:
        return False
    return isinstance(error, AttributeError | LookupError | TypeError | ValueError)


def _is_transient(error: Exception, status: int | None) -> bool:
    """Return whether a retry may succeed."""
    if status is None:
        # Without an answer it may have been the connection.
        return not isinstance(error, _OWN_MISTAKES)
    return status in TRANSIENT or status >= 500


def is_timeout(fault: ModelFault) -> bool:
    """Return whether a client's error was that the server did not answer in time."""
    return any(_is_late(error) for error in _causes(fault))


def _is_late(error: BaseException) -> bool:
    # The clients have timeouts of their own types.
    return isinstance(error, TimeoutError) or "Timeout" in type(error).__name__


def unanswered(fault: ModelFault, address: str, attempts: int) -> ModelFault:
    """Return the permanent fault of a server that has never answered.

    Args:
        fault: The last attempt's.
        address: The server's address, without secrets; empty for a provider's.
        attempts: Number of attempts in all.
    """
    # By their names, as each client has such errors of its own.
    unconnected = any("Connect" in type(error).__name__ for error in _causes(fault))
    if unconnected or is_timeout(fault):
        server = address or "the server"
        said = str(fault).removeprefix(f"{_NO_ANSWER}: ")
        message = f"no answer from {server} in {count(attempts, 'attempt')} (is the server up?): {said}"
        return ModelFault(message, permanent=True)
    message = f"the model has never answered: {fault}"
    if _status(fault) is None:
        message += " (check the server's address)"
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
    for fault in faults:
        if not fault.transient:
            return fault
    return faults[0]


def is_bug(error: Exception) -> bool:
    """Return whether an error is a bug in a model class or a callback of the user's.

    Clients raise builtin exceptions at odd replies, too, but then the client is in the traceback.
    """
    if type(error).__module__ != "builtins" or is_trouble(error):
        return False
    modules: list[str] = []
    for frame, _ in walk_tb(error.__traceback__):
        modules.append(str(frame.f_globals.get("__name__")))
    *around, raised_in = modules
    # langchain_core also calls the user's own models and callbacks: it is at fault only for what it raises itself.
    clients = [module for module in around if not module.startswith("langchain_core.")]
    return not any(_is_client(module) for module in (*clients, raised_in))


def refused_option(error: Exception, sent: Sequence[str]) -> str | None:
    """Return the option of those sent that the server or its client refuses, if the error says so."""
    named = _named_option(error)
    if named is not None:
        if named in sent:
            return named
        return None
    if _status(error) not in REFUSED_OPTION:
        return None
    words = _words(error)[:LONGEST]
    for option in sent:
        if re.search(_SAID[option], words, re.IGNORECASE):
            return option
    return None


def _named_option(error: Exception) -> str | None:
    """Return the option that an error is about by its type or a field, other than by its words."""
    if isinstance(error, TypeError):
        # OpenAI's client has no `seed` for the Responses API.
        unknown = _UNKNOWN.search(str(error))
        if unknown:
            return unknown[1]
    if isinstance(error, ValueError) and "No generations found in stream" in str(error):
        # The server does not stream: its reply came as a whole.
        return "stream"
    param = str(getattr(error, "param", None) or "")
    if param and _status(error) in REFUSED_OPTION:
        # Such as `tools[0].function`.
        return re.split(r"[\[.]", param)[0]
    return None


def validate_reply(reply: AIMessage) -> None:
    """Raise ModelFault if a reply is empty, a refusal, or truncated in transit."""
    ended = reply.response_metadata
    refusal = reply.additional_kwargs.get("refusal")
    if refusal:
        words = " ".join(str(refusal).split())
        raise ModelFault(f"the model refused: {words[:300]}")
    # OpenAI's protocol ends every reply with a reason; without one, the stream broke off.
    reason = ended.get("finish_reason") or ended.get("status")
    if ended.get("model_provider") == "openai" and not reason:
        raise ModelFault("the model's reply was cut off")
    if reply.text.strip() or reply.tool_calls or reply.invalid_tool_calls:
        return
    if ended.get("finish_reason") == "content_filter":
        raise ModelFault("the model refused: its provider's content filter withheld the reply")
    if is_cut(reply):
        raise ModelFault(
            "the model's reply is empty: it reached its limit, or the end of the context, before any text"
        )
    raise ModelFault("the model's reply is empty")


def _words(error: Exception) -> str:
    """Return what an error says, and what the server's body or the first cause says beside it, in one line."""
    first: BaseException = error
    # Without an answer, the first cause says the most: clients say no more than "Connection error."
    if _status(error) is None:
        while first.__cause__:
            first = first.__cause__
    text = _in_one_line(str(error))
    parts = [text]
    for more in (_said(getattr(error, "body", None)), str(first)):
        part = _in_one_line(more)
        # An error mostly quotes the body already.
        if part not in text and part not in parts:
            parts.append(part)
    words = ": ".join(parts)
    # No full stop remains in the middle, where a part was a sentence.
    return words.replace(".: ", ": ")


def _in_one_line(text: str) -> str:
    return " ".join(sanitize(text).split())


def _said(body: Any, depth: int = 0) -> str:
    """Return the sentences in an error's body: OpenAI's, FastAPI's or Mistral's JSON, plain text, or a page."""
    if isinstance(body, str):
        # A proxy answers with a page.
        return re.sub(r"(?is)<(style|script)\b.*?</\1>|<[^<>]*>", " ", body[:LONGEST])
    # A server may nest its JSON deeper than Python's stack reaches.
    if depth == DEEPEST:
        return ""
    if isinstance(body, list):
        sentences = [_said(each, depth + 1) for each in body[:20]]
        return "; ".join(filter(None, sentences))
    if not isinstance(body, Mapping):
        return ""
    said = ""
    for name in ("error", "message", "detail", "msg"):
        said = _said(body.get(name), depth + 1)
        if said:
            break
    where = body.get("loc")  # FastAPI's
    if isinstance(where, list):
        place = ".".join(map(str, where))
        return f"{place}: {said}"
    return said


def _sources(error: Any) -> Iterator[Any]:
    """Yield the objects that may hold the server's status and headers: the error, its cause, and their responses."""
    for each in (error, error.__cause__):
        yield each
        yield getattr(each, "response", None)


def _status(error: Any) -> int | None:
    for source in _sources(error):
        if isinstance(source, Mapping):  # botocore
            values = [source.get("ResponseMetadata", {}).get("HTTPStatusCode")]
        else:
            values = [getattr(source, name, None) for name in ("status_code", "status", "code")]
        for value in values:
            # Some clients have a word as their `code`, such as OpenAI's.
            if isinstance(value, int) and 400 <= value < 600:
                return value
    return None


def _retry_after(error: Any) -> float | None:
    for source in _sources(error):
        if isinstance(source, Mapping):  # botocore
            headers = source.get("ResponseMetadata", {}).get("HTTPHeaders", {})
        else:
            headers = getattr(source, "headers", None)
        if not isinstance(headers, Mapping):
            continue
        for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
            wait = parse_retry_after(str(headers.get(name, "")))
            if wait is not None:
                return wait * unit
    return None


def _is_overflow(error: Exception) -> bool:
    named = any(cls.__name__ == "ContextOverflowError" for cls in type(error).__mro__)
    return named or getattr(error, "code", None) == "context_length_exceeded"
