"""JSON schemas of arguments: what they allow, in words, and what a model may mean by a value."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

_WORDS = {"true": True, "false": False, "none": None, "null": None}

_BOUNDS = {
    "minimum": "at least",
    "exclusiveMinimum": "more than",
    "maximum": "at most",
    "exclusiveMaximum": "less than",
}


def explained(schema: dict[str, Any]) -> dict[str, str]:
    """Return the explanation of each argument in a JSON schema; see `ActionSpec.explained`."""
    explained = {}
    for name, field in schema.get("properties", {}).items():
        what = field.get("description", "")
        values = allowed_values(field, schema)
        known = what or values
        if what and values:
            known = f"{what} ({values})"
        if known:
            explained[name] = f"{{{name}}}: {known}"
    return explained


def allowed_values(schema: Any, root: dict[str, Any]) -> str:
    """Return the values that a schema allows, in words; empty if it allows any value of its type."""
    words: list[str] = []
    for each in alternatives(schema, root):
        exact = literals(each)
        if exact:
            words += map(quoted, exact)
            continue
        some = _bounds(each) or _structure(each, root)
        if some:
            words.append(some)
        # That an argument may be null goes without saying.
        elif each.get("type") != "null":
            return ""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} or {words[-1]}"


def _bounds(schema: dict[str, Any]) -> str:
    """Return the bounds of a number, in words; empty without any."""
    bounds = [f"{what} {schema[key]}" for key, what in _BOUNDS.items() if key in schema]
    return " and ".join(bounds)


def _structure(schema: dict[str, Any], root: dict[str, Any]) -> str:
    """Return what a list or an object has in it, in words; empty for other types."""
    match schema.get("type"):
        case "array":
            names = _fields(alternatives(schema.get("items", {}), root))
            if names:
                return f"a JSON list of objects with {names}"
            return "a JSON list"
        case "object":
            names = _fields([schema])
            if names:
                return f"a JSON object with {names}"
            return "a JSON object"
    return ""


def _fields(schemas: Iterable[dict[str, Any]]) -> str:
    names: list[str] = []
    for schema in schemas:
        names.extend(schema.get("properties", {}))
    return ", ".join(names)


def alternatives(schema: Any, root: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the alternative schemas of a value; references point into the root schema."""
    # `true` allows anything.
    if not isinstance(schema, dict):
        yield {}
        return
    if "$ref" in schema:
        yield from alternatives(_referred(schema["$ref"], root), root)
        return
    several: list[Any] = []
    for key in ("anyOf", "oneOf", "allOf"):
        several += schema.get(key, [])
    if not several:
        yield schema
    for each in several:
        yield from alternatives(each, root)


def _referred(path: str, root: dict[str, Any]) -> Any:
    """Return what a path such as `#/$defs/Place` leads to in the root schema."""
    found: Any = root
    for part in path.split("/")[1:]:
        if isinstance(found, list):
            found = found[int(part)]
        else:
            found = found.get(part, {})
    return found


def literals(schema: dict[str, Any]) -> list[Any]:
    """Return the values that a schema lists, if any."""
    if "const" in schema:
        return [schema["const"]]
    return list(schema.get("enum", []))


def quoted(value: Any) -> str:
    """Return an allowed value for a prompt, quoted if it contains blanks."""
    # Without quotes, nobody sees where a value with blanks ends, or an empty one.
    if isinstance(value, str) and (not value or re.search(r"\s", value)):
        return json.dumps(value, ensure_ascii=False)
    return str(value)


def meant(value: Any, listed: Sequence[Any]) -> Iterator[Any]:
    """Yield what a model may mean by a value of another type: one that the schema lists, a number, JSON, a text."""
    if isinstance(value, float) and value.is_integer():
        yield int(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)
    if not isinstance(value, str):
        return
    for each in listed:
        if value in (str(each), quoted(each)):
            yield each
    word = value.strip().lower()
    if word in _WORDS:
        yield _WORDS[word]
    # A RecursionError comes from deeply nested brackets.
    with suppress(ValueError, RecursionError):
        yield json.loads(value)
