"""Tool calls that a model writes as text.

Small models write a call in a block of code, as bare JSON, between `<tool_call>` and `</tool_call>`, with the doubled
braces in which some chat templates show it, or as a prompt shows the calls of an example: `name(key="value")`.
Servers that read none of these pass it on as text.
"""

import json
import re
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

LONGEST = 20_000
"""A longer text is not searched for calls."""

ARGUMENTS = ("arguments", "parameters")
"""The keys of a call's arguments, the first that is there."""

_TAG = re.compile(r"<tool_call>(?P<inside>.*?)(?:</tool_call>|\Z)", re.DOTALL)
_FENCE = re.compile(r"```\w*[ \t]*\n(?P<inside>.*?)(?:```|\Z)", re.DOTALL)
_OBSERVATION = re.compile(r"^[ \t]*Observation:", re.MULTILINE)
_LINE_WITH_NAME = re.compile(r"^[ \t]*(?:Action:[ \t]*)?(?P<name>\w+)\(", re.MULTILINE)
_KEY = re.compile(r"\s*(?P<key>\w+)\s*=\s*")
_END = re.compile(r"\s*\)[ \t\"'`).;]*$", re.MULTILINE)
_LINE_WITH_BRACE = re.compile(r"^[ \t]*\{", re.MULTILINE)


class WrittenCall(NamedTuple):
    """A call of a tool."""

    name: str
    args: dict[str, Any]


def read_calls(text: str, names: Collection[str]) -> tuple[str, list[WrittenCall]]:
    """Return what a reply says beside its calls, and the calls.

    JSON in the middle of prose is not a call, nor is JSON without a known tool's name, or whose arguments are not an
    object.

    Args:
        text: The text of a reply without tool calls.
        names: The names of the tools.
    """
    if len(text) > LONGEST:
        return text.strip(), []
    # A result that the model has made up is not part of its reply.
    made_up = _OBSERVATION.search(text)
    if made_up:
        said, calls = _read(text[: made_up.start()], names)
        if calls:
            return said, calls
    return _read(text, names)


def _read(text: str, names: Collection[str]) -> tuple[str, list[WrittenCall]]:
    """Return what a text says beside its calls, and the calls."""
    for form in (_TAG, _FENCE):
        said = text
        calls: list[WrittenCall] = []
        for found in form.finditer(text):
            inside = list(_calls_in(found["inside"], names))
            if inside:
                calls += inside
                said = said.replace(found[0], "", 1)
        if calls:
            return said.strip(), calls
    begins = _LINE_WITH_BRACE.search(text)
    if begins is not None:
        calls = list(_calls_in(text[begins.start() :], names))
        if calls:
            return text[: begins.start()].strip(), calls
    return _read_shown(text, names)


def _read_shown(text: str, names: Collection[str]) -> tuple[str, list[WrittenCall]]:
    """Return what precedes the first call of the form `name(key="value")` on a line of its own, and that call.

    What follows it, such as a result that the model has made up, is neither.
    """
    for found in _LINE_WITH_NAME.finditer(text):
        if found["name"] not in names:
            continue
        args = _shown_arguments(text, found.end())
        if args is not None:
            return text[: found.start()].strip(), [WrittenCall(found["name"], args)]
    return text.strip(), []


def _shown_arguments(text: str, place: int) -> dict[str, Any] | None:
    """Return the arguments that begin at a place of a text, as `call_text` writes them; None if none do.

    Args:
        text: The text.
        place: The place after the opening bracket.
    """
    args: dict[str, Any] = {}
    while key := _KEY.match(text, place):
        try:
            args[key["key"]], place = _SHOWN.raw_decode(text, key.end())
        except (ValueError, RecursionError):
            return None
        if text[place : place + 1] == ",":
            place += 1
    if _END.match(text, place):
        return args
    return None


def _calls_in(text: str, names: Collection[str]) -> Iterator[WrittenCall]:
    """Yield the calls of a text that holds nothing else; none if it does. A last one may be cut off."""
    calls: list[WrittenCall] = []
    rest = text.strip()
    while rest:
        found = _object_at_start(rest)
        if found is None and calls and rest.startswith("{"):
            # A model that writes one call after the other is stopped by the limit of its reply.
            break
        if found is None:
            return
        value, rest = found
        call = _as_call(value, names)
        if call is None:
            return
        calls.append(call)
    yield from calls


def _refuse(constant: str) -> None:
    """Refuse `NaN` and `Infinity`, which are not JSON.

    Raises:
        ValueError: always.
    """
    raise ValueError(f"{constant} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse)
_SHOWN = json.JSONDecoder(parse_constant=_refuse, strict=False)
"""Reads texts with line ends in them, too, as a model writes a file's."""


def _object_at_start(text: str) -> tuple[Any, str] | None:
    """Return the JSON object at the beginning of a text, and what follows it."""
    readings = [text]
    if text.startswith("{{"):
        # Only the outer braces are doubled, or all of them are.
        all_halved = text.replace("{{", "{").replace("}}", "}")
        readings = [text[1:], all_halved]
    for reading in readings:
        try:
            value, end = _DECODER.raw_decode(reading)
        except (ValueError, RecursionError):
            continue
        # The second half of a doubled brace may be left over, or one brace too many.
        return value, reading[end:].lstrip(" \t\r\n},;")
    return None


def _as_call(value: Any, names: Collection[str]) -> WrittenCall | None:
    if not isinstance(value, dict):
        return None
    name = value.get("name")
    if not isinstance(name, str) or name not in names:
        return None
    given = [value[key] for key in ARGUMENTS if key in value]
    # A name alone may be any JSON that the reply quotes.
    if not given:
        return None
    args = given[0]
    # OpenAI's protocol writes the arguments as JSON in a text.
    if isinstance(args, str):
        try:
            args = _DECODER.decode(args)
        except (ValueError, RecursionError):
            return None
    if not isinstance(args, dict):
        return None
    return WrittenCall(name, args)
