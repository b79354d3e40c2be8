"""JSON schemas of arguments: what they allow, in words, and what a model may mean by a value."""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any


def explained(schema: dict[str, Any]) -> dict[str, str]:
    """Return the explanation of each argument in a JSON schema; see `ActionSpec.explained`."""
    explained = {}
    for name, field in schema.get("properties", {}).items():
        what, values = field.get("description", ""), allowed_values(field, schema)
        if known := f"{what} ({values})" if what and values else what or values:
            explained[name] = f"{{{name}}}: {known}"
    return explained


def allowed_values(schema: Any, root: dict[str, Any]) -> str:
    """Return the values that a schema allows, in words; empty if it allows any value of its type."""
    words = list[str]()
    for each in alternatives(schema, root):
        kind = each.get("type")
        if exact := literals(each):
            words += map(quoted, exact)
        elif bounds := [f"{what} {each[key]}" for key, what in _BOUNDS.items() if key in each]:
            words.append(" and ".join(bounds))
        elif kind in ("array", "object"):
            named = alternatives(each.get("items", {}), root) if kind == "array" else [each]
            fields = ", ".join(name for one in named for name in one.get("properties", {}))
            what = f"a JSON {kind if kind == 'object' else 'list of objects' if fields else 'list'}"
            words.append(f"{what} with {fields}" if fields else what)
        elif kind != "null":
            return ""
    return " or ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


_BOUNDS = {
    "minimum": "at least",
    "exclusiveMinimum": "more than",
    "maximum": "at most",
    "exclusiveMaximum": "less than",
}


def alternatives(schema: Any, root: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the alternative schemas of a value; references point into the root schema."""
    if not isinstance(schema, dict):  # `true` allows anything
        yield {}
    elif "$ref" in schema:
        referred: Any = root
        for part in schema["$ref"].split("/")[1:]:
            referred = referred[int(part)] if isinstance(referred, list) else referred.get(part, {})
        yield from alternatives(referred, root)
    elif several := [each for key in ("anyOf", "oneOf", "allOf") for each in schema.get(key, [])]:
        for each in several:
            yield from alternatives(each, root)
    else:
        yield schema


def literals(schema: dict[str, Any]) -> list[Any]:
    """Return the values that a schema lists, if any."""
    return [schema["const"]] if "const" in schema else [*schema.get("enum", [])]


def quoted(value: Any) -> str:
    """Return an allowed value for a prompt, quoted if it contains blanks."""
    blank = isinstance(value, str) and (not value or re.search(r"\s", value))
    return json.dumps(value, ensure_ascii=False) if blank else str(value)


def meant(value: Any, listed: Sequence[Any]) -> Iterator[Any]:
    """Yield what a model may mean by a value of another type: one that the schema lists, a number, JSON, a text."""
    if isinstance(value, float) and value.is_integer():
        yield int(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)
    if isinstance(value, str):
        yield from (each for each in listed if value in (str(each), quoted(each)))
        words: dict[str, Any] = {"true": [True], "false": [False], "none": [None], "null": [None]}
        yield from words.get(value.strip().lower(), ())
        with suppress(ValueError, RecursionError):  # deeply nested brackets
            yield json.loads(value)
