"""Actions that are described by a JSON schema, such as LangChain's and MCP's tools."""

import json
import re
from ast import literal_eval
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from langgraph_reflexion.envs.actions import ActionSpec
from langgraph_reflexion.envs.json_schema import allowed_values, alternatives, literals, meant

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


@dataclass(frozen=True, slots=True)
class ToolSpec(ActionSpec):
    """A tool as text: `name[arguments]`, the required ones in order, or all as one JSON object."""

    @classmethod
    def of(cls, name: str, description: str, schema: dict[str, Any]) -> "ToolSpec":
        """Make the specification of a tool from the JSON schema of its arguments."""
        # Other keys, such as a title, are not for models.
        parameters: dict[str, Any] = {"type": "object", "properties": {}, "required": []}
        for key in ("properties", "required", "$defs", "definitions", "additionalProperties"):
            if key in schema:
                parameters[key] = schema[key]
        fields = parameters["properties"]
        parameters["properties"] = {argument: _untitled(field) for argument, field in fields.items()}
        shown = parameters["required"] or list(fields)[:1]
        inner = ", ".join(f"{{{argument}}}" for argument in shown)
        description = " ".join(description.split())
        return cls(name, (f"{name}[{inner}]",), "", parameters, description)

    @classmethod
    def from_function(cls, function: dict[str, Any]) -> "ToolSpec":
        """Return the specification whose `function` this is."""
        return cls.of(function["name"], function["description"], function["parameters"])

    @property
    def written(self) -> set[str]:
        return set()

    @property
    def shown(self) -> list[str]:
        """The names of the arguments in the text form: the required ones, or the first one."""
        return self.required or list(self.parameters["properties"])[:1]

    @property
    def note(self) -> str:
        """The optional arguments, and how they are written."""
        known = self.explained()
        names = [name for name in self.parameters["properties"] if name not in self.shown]
        if not names:
            return ""
        optional = "; ".join(known.get(name, f"{{{name}}}") for name in names)
        return f"Further arguments, if all are written as one JSON object: {optional}"

    def validate(self, args: Any) -> dict[str, Any]:
        """Return the arguments in their types: models write numbers as text, and text as numbers.

        Raises:
            ValueError: one is missing, unknown, or of another type. Other rules are the tool's to check.
        """
        if not isinstance(args, dict):
            raise ValueError(f"the arguments are an object, not {args!r:.100}")
        properties = self.parameters["properties"]
        for name in self.required:
            if name not in args:
                raise ValueError(f"{name}: is missing")
        for name in args:
            if name not in properties and not self.parameters.get("additionalProperties"):
                raise ValueError(f"{name}: there is no such argument")
        return {name: self._fitted(name, value) for name, value in args.items()}

    def dump(self, args: Any) -> dict[str, Any]:
        return self.validate(args)

    def read(self, text: str) -> dict[str, Any] | None:
        """Read the arguments from text; return None if it is another action."""
        name = re.escape(self.name)
        # `*+` gives nothing back, so that a long reply of blanks is read in linear time.
        called = re.fullmatch(rf"\s*+{name}\s*+\[(.*)\]\s*+\.?\s*+", text, re.DOTALL | re.IGNORECASE)
        if not called:
            if self.required or not self._is_bare(text):
                return None
            return {}
        inner = called[1]
        given = _object(inner)
        if given is not None and self._names(given):
            return given
        if "\n" not in text and inner.count("[") > inner.count("]"):
            # The first line of several.
            return None
        if not inner.strip() or not self.shown:
            return {}
        values = self._quoted(inner)
        if values is None:
            values = self._in_order(inner)
        return dict(zip(self.shown, values, strict=False))

    def render(self, args: dict[str, Any]) -> str:
        """Return the action as text that `read` understands."""
        if set(args) == set(self.shown):
            values = ", ".join(_as_text(args[name]) for name in self.shown)
            text = f"{self.name}[{values}]"
            with suppress(ValueError):
                # Only if it is read as the same action: a value may hold commas or brackets.
                if self.validate(self.read(text)) == self.validate(args):
                    return text
        if not args:
            return f"{self.name}[]"
        return f"{self.name}[{_json(args)}]"

    def _is_bare(self, text: str) -> bool:
        """Return whether a text is the name alone, or with empty parentheses."""
        name = re.escape(self.name)
        bare = rf"\s*+{name}\s*+(?:\(\s*+\)\s*+)?\.?\s*+"
        return re.fullmatch(bare, text, re.IGNORECASE) is not None

    def _names(self, given: dict[str, Any]) -> bool:
        """Return whether an object is all the arguments by name; else it is one of them."""
        all_known = set(given).issubset(self.parameters["properties"])
        if not self.required:
            return all_known
        if not given:
            return False
        return all_known or set(self.required).issubset(given)

    def _in_order(self, text: str) -> list[str]:
        """Read the arguments between commas; the last one may contain some, and several lines."""
        *first, last = text.split(",", len(self.shown) - 1)
        values = [each.strip() for each in first]
        # Code of several lines keeps its indentation, but not the blank after the comma.
        if first and "\n" in last:
            last = last.removeprefix(" ").strip("\n")
        if "\n" in last:
            return [*values, last.strip("\n")]
        return [*values, last.strip()]

    def _quoted(self, text: str) -> list[str] | None:
        """Read several arguments of which one is in double quotes, as a call in a program has them."""
        with suppress(ValueError, RecursionError):
            values = json.loads(f"[{text}]")
            has_text = any(isinstance(each, str) for each in values)
            if has_text and 1 < len(values) == len(self.shown):
                return [_as_text(each) for each in values]
        return None

    def _fitted(self, name: str, value: Any) -> Any:
        schema = self.parameters["properties"].get(name, {})
        allowed = list(alternatives(schema, self.parameters))
        listed: list[Any] = []
        for one in allowed:
            listed.extend(literals(one))
        for each in (value, *meant(value, listed)):
            if any(_fits(each, one) for one in allowed):
                return each
        types = " or ".join(str(each["type"]) for each in allowed if "type" in each)
        wanted = allowed_values(schema, self.parameters) or types
        raise ValueError(f"{name}: must be {wanted}, not {value!r:.100}")


def _untitled(field: Any) -> dict[str, Any]:
    """Return the schema of an argument without the title, which Pydantic makes of its name."""
    if not isinstance(field, dict):
        return {}
    return {key: value for key, value in field.items() if key != "title"}


def _as_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return _json(value)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _object(text: str) -> dict[str, Any] | None:
    """Read an object as JSON or Python writes it."""
    if not text.lstrip().startswith("{"):
        return None
    for read in (json.loads, literal_eval):
        with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
            given = read(text.strip())
            if isinstance(given, dict) and all(isinstance(key, str) for key in given):
                return given
            return None
    return None


def _fits(value: Any, schema: dict[str, Any]) -> bool:
    exact = literals(schema)
    if exact:
        return value in exact
    kinds = schema.get("type", list(_TYPES))
    if isinstance(kinds, str):
        kinds = [kinds]
    for kind in kinds:
        # In Python, True is a number.
        if isinstance(value, bool) and kind != "boolean":
            continue
        if isinstance(value, _TYPES.get(kind, (object,))):
            return True
    return False
