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
        keys = ("properties", "required", "$defs", "definitions", "additionalProperties")
        parameters: dict[str, Any] = {"type": "object", "properties": {}, "required": []}
        parameters |= {key: schema[key] for key in keys if key in schema}
        properties = {
            name: {key: value for key, value in field.items() if key != "title"} if isinstance(field, dict) else {}
            for name, field in parameters["properties"].items()
        }
        inner = ", ".join(f"{{{each}}}" for each in parameters["required"] or [*properties][:1])
        description = " ".join(description.split())
        return cls(name, (f"{name}[{inner}]",), "", {**parameters, "properties": properties}, description)

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
        return self.required or [*self.parameters["properties"]][:1]

    @property
    def note(self) -> str:
        """The optional arguments, and how they are written."""
        known = self.explained()
        optional = [
            known.get(name, f"{{{name}}}") for name in self.parameters["properties"] if name not in self.shown
        ]
        if not optional:
            return ""
        return f"Further arguments, if all are written as one JSON object: {'; '.join(optional)}"

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
        called = re.fullmatch(rf"\s*{name}\s*\[(.*)\]\s*\.?\s*", text, re.DOTALL | re.IGNORECASE)
        if not called:
            bare = not self.required and re.fullmatch(rf"\s*{name}\s*(\(\s*\))?\s*\.?\s*", text, re.IGNORECASE)
            return {} if bare else None
        inner = called[1]
        if (given := _object(inner)) is not None and self._names(given):
            return given
        if "\n" not in text and inner.count("[") > inner.count("]"):
            return None  # the first line of several
        if not inner.strip() or not self.shown:
            return {}
        values = self._quoted(inner)
        if values is None:
            *first, last = inner.split(",", len(self.shown) - 1)
            last = last.removeprefix(" ").strip("\n") if first and "\n" in last else last
            values = [*(each.strip() for each in first), last.strip("\n" if "\n" in last else None)]
        return dict(zip(self.shown, values, strict=False))

    def render(self, args: dict[str, Any]) -> str:
        """Return the action as text that `read` understands."""
        if {*args} == {*self.shown}:
            texts = [value if isinstance(value, str) else _json(value) for value in map(args.__getitem__, self.shown)]
            text = f"{self.name}[{', '.join(texts)}]"
            with suppress(ValueError):
                if self.validate(self.read(text)) == self.validate(args):
                    return text
        return f"{self.name}[{_json(args) if args else ''}]"

    def _names(self, given: dict[str, Any]) -> bool:
        """Return whether an object is all the arguments by name; else it is one of them."""
        if not given or not self.required:
            return not self.required and {*given} <= {*self.parameters["properties"]}
        return {*given} <= {*self.parameters["properties"]} or {*self.required} <= {*given}

    def _quoted(self, text: str) -> list[str] | None:
        """Read several arguments of which one is in double quotes, as a call in a program has them."""
        with suppress(ValueError, RecursionError):
            values = json.loads(f"[{text}]")
            if 1 < len(values) == len(self.shown) and any(isinstance(each, str) for each in values):
                return [each if isinstance(each, str) else _json(each) for each in values]
        return None

    def _fitted(self, name: str, value: Any) -> Any:
        schema = self.parameters["properties"].get(name, {})
        allowed = [*alternatives(schema, self.parameters)]
        listed = [each for one in allowed for each in literals(one)]
        for each in (value, *meant(value, listed)):
            if any(_fits(each, one) for one in allowed):
                return each
        types = " or ".join(str(each["type"]) for each in allowed if "type" in each)
        raise ValueError(f"{name}: must be {allowed_values(schema, self.parameters) or types}, not {value!r:.100}")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _object(text: str) -> dict[str, Any] | None:
    """Read an object as JSON or Python writes it."""
    if text.lstrip().startswith("{"):
        for read in (json.loads, literal_eval):
            with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
                given = read(text.strip())
                return given if isinstance(given, dict) and all(isinstance(key, str) for key in given) else None
    return None


def _fits(value: Any, schema: dict[str, Any]) -> bool:
    if exact := literals(schema):
        return value in exact
    kinds = schema.get("type", [*_TYPES])
    for kind in [kinds] if isinstance(kinds, str) else kinds:
        if isinstance(value, bool) and kind != "boolean":
            continue
        if isinstance(value, _TYPES.get(kind, (object,))):
            return True
    return False
