"""Texts and plain data of models, pages and servers, made safe to print, to store and to show."""

import json
import re
import reprlib
from collections.abc import Sequence
from typing import Any

from langgraph_reflexion.support.secrets import redact, secrets_around

DEEPEST = 50
"""Levels of lists and objects in what a server sends that are read as such."""


# Control characters except line feed and tab, marks of text direction, lone surrogates, and what XML forbids.
_UNPRINTABLE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)


def printable(text: str) -> str:
    """Return a text with control characters made visible instead of effective."""
    return _UNPRINTABLE.sub(lambda found: _symbol(ord(found[0])), text)


def _symbol(code: int) -> str:
    if code < 0x20:
        return chr(0x2400 + code)
    if 0xD800 <= code <= 0xDFFF:
        return "\N{REPLACEMENT CHARACTER}"
    if code == 0x7F:
        return "\N{SYMBOL FOR DELETE}"
    return f"\\u{code:04x}"


def sanitize(text: str) -> str:
    """Replace what neither checkpoints nor HTTP can hold: lone surrogates, and NULs, which Postgres refuses."""
    return text.encode("utf-8", "replace").decode().replace("\0", "\ufffd")


def plain(value: Any, depth: int = 0) -> Any:
    """Return JSON-like data as a checkpoint can hold it: what is too large or too deep, as text."""
    match value:
        case str():
            return sanitize(value)
        case dict() if depth < DEEPEST:
            return {sanitize(str(key)): plain(each, depth + 1) for key, each in value.items()}
        case list() | tuple() if depth < DEEPEST:
            return [plain(each, depth + 1) for each in value]
        case None | bool() | float():
            return value
        # Checkpoints hold no larger ones.
        case int() if -(2**63) <= value < 2**64:
            return value
    if isinstance(value, dict | list | tuple):
        # It is too deep, and may be long.
        return sanitize(reprlib.repr(value))
    return sanitize(str(value))


def one_line(error: BaseException) -> str:
    """Return an error in one line, without keys of the process's environment; of a group, the first error in it."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    words = " ".join(sanitize(str(error)).split())
    detail = redact(words, secrets_around(), "***")
    return f"{type(error).__name__}: {detail[:300]}"


def count(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless it is 1."""
    if number == 1:
        return f"1 {noun}"
    return f"{number} {noun}s"


def as_text(result: Any) -> str:
    """Return an agent's result, or a reference answer, as text: data as JSON, and nothing as an empty text."""
    if isinstance(result, str):
        return result
    if result is None:
        return ""
    return json.dumps(result, default=str)


def call_text(name: str, args: dict[str, Any]) -> str:
    """Return a tool call as text, for actions and arguments without a text form."""
    arguments = [f"{key}={json.dumps(value)}" for key, value in args.items()]
    return f"{name}({', '.join(arguments)})"


MOST_LISTED = 10
"""Names that `listed` writes."""


def listed(names: Sequence[str]) -> str:
    """Return names in words, separated by commas: the first ones, and how many more there are."""
    shown = ", ".join(names[:MOST_LISTED])
    more = len(names) - MOST_LISTED
    if more > 0:
        shown += f" and {more} more"
    return shown
