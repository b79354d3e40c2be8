"""Actions: methods of an episode, marked with `@action`.

The signature gives the tool's schema, the docstring its description, and the text forms say how the action is written
in a transcript.
"""

import inspect
import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    create_model,
)
from typing_extensions import TypedDict  # pydantic makes schemas of these alone before Python 3.12

from langgraph_reflexion.errors import ConfigurationError

_FIELD = re.compile(r"\{(\w+)\}")
"""A place for an argument in a text form."""


class ShownAction(NamedTuple):
    """An action as a prompt shows it to a model that writes its actions as text."""

    form: str
    """How it is written, arguments in braces."""
    explanation: str
    """What it does, and what its arguments are; empty where nothing says so."""


class Action(TypedDict):
    """One call of one of the environment's tools."""

    name: str
    """The tool's name; empty when the actor's reply held no allowed action."""
    args: dict[str, Any]
    """The tool's arguments by name."""
    text: str
    """The action as it is written in a transcript ("go to cabinet 1")."""


@dataclass(frozen=True, slots=True)
class ActionSpec:
    """How one action is called: as a tool, and as text."""

    name: str
    forms: tuple[str, ...]
    method: str
    schema: type[BaseModel]
    description: str

    def read(self, text: str) -> dict[str, Any] | None:
        """The arguments of the action as it is written in one of its text forms; None where it is not."""
        for form in self.forms:
            if match := _pattern(form).fullmatch(text):
                around = "\n" if "\n" in form else None
                return {name: value.strip(around) for name, value in match.groupdict().items()}
        return None

    def render(self, args: dict[str, Any]) -> str:
        """The action in its first text form."""
        return fill(self.forms[0], args)

    @property
    def function(self) -> dict[str, Any]:
        """The action as a tool's schema."""
        raw = self.schema.model_json_schema()
        for field in raw.get("properties", {}).values():
            field.pop("title", None)
        parameters = {
            "type": "object",
            "properties": raw.get("properties", {}),
            "required": raw.get("required", []),
        }
        # Arguments that are models or enumerations refer to their definitions.
        parameters |= {"$defs": raw["$defs"]} if "$defs" in raw else {}
        return {"name": self.name, "description": self.description, "parameters": parameters}


def action(*forms: str, name: str | None = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Mark a method of an episode as an action.

    Args:
        *forms: How the action is written as text, arguments in braces; the first form is the one that is shown, all
            of them are understood. Where a form has several lines, the arguments after its first line may have
            several lines, too. Lists and objects are written as JSON. Without any form: `name[argument, ...]`.
        name: The tool's name, where it is not the method's.

    The method returns a `StepResult`, or a string where nothing but the observation is to be said.
    """

    def mark(method: Callable[..., Any]) -> Callable[..., Any]:
        method.__reflexion_action__ = (name or method.__name__, forms)  # type: ignore[attr-defined]
        return method

    return mark


def spec_of(method_name: str, method: Callable[..., Any]) -> ActionSpec:
    """How an action is called, from the method that is marked as one.

    Raises:
        ConfigurationError: an argument has no type hint, or a form does not fit the arguments.
    """
    name, forms = method.__reflexion_action__  # type: ignore[attr-defined]
    where = f"the action {name!r} ({method.__qualname__})"
    hints = get_type_hints(method, include_extras=True)
    fields: dict[str, Any] = {}
    for parameter in list(inspect.signature(method).parameters.values())[1:]:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise ConfigurationError(f"{where} takes {parameter}: give each argument a name of its own")
        if parameter.name not in hints:
            example = f"`{parameter.name}: str`"
            raise ConfigurationError(f"{where}: {parameter.name!r} has no type hint: give one, such as {example}")
        hint = hints[parameter.name]
        notes = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
        described = next((note for note in notes if isinstance(note, str)), None)
        default = ... if parameter.default is parameter.empty else parameter.default
        given = Field(default, description=described) if described else Field(default)
        fields[parameter.name] = (Annotated[hint, WrapValidator(_reader(hint))], given)
    if not forms:
        inner = ", ".join("{" + field + "}" for field in fields)
        forms = (f"{name}[{inner}]",)
    for form in forms:
        if wrong := _misfit(form, {field: given.is_required() for field, (_, given) in fields.items()}):
            raise ConfigurationError(f"{where}: the form {form!r} {wrong}")
    description = inspect.cleandoc(method.__doc__ or "").split("\n\n")[0].replace("\n", " ")
    return ActionSpec(name, forms, method_name, create_model(name, __config__=_LENIENT, **fields), description)


# Models call with numbers where words are meant: a year, a length.
_LENIENT = ConfigDict(coerce_numbers_to_str=True)


def fill(form: str, args: dict[str, Any]) -> str:
    """A text form with arguments in place of the braces; lists and objects are written as JSON."""

    def written(match: re.Match[str]) -> str:
        value = args.get(match[1], match[0])
        return json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, list | dict) else str(value)

    return _FIELD.sub(written, form)


def shown_actions(forms: Sequence[str], specs: Sequence[ActionSpec]) -> list[ShownAction]:
    """Pair each form with the action's description and the descriptions and allowed values of its arguments.

    An argument that several actions share is explained at the first of them.

    Args:
        forms: How the actions are written, one form for each.
        specs: The actions.
    """
    shown, known = [], set[str]()
    for form, spec in zip(forms, specs, strict=True):
        arguments = [each for name, each in _explained(spec.schema).items() if "{" + name + "}" in form]
        new = [each for each in arguments if each not in known]
        known.update(new)
        sentences = [spec.description, "; ".join(new)]
        shown.append(ShownAction(form, " ".join(_ended(each) for each in sentences if each)))
    return shown


def invalid_action(why: str, forms: Sequence[str]) -> str:
    """The observation for an action that is not allowed, naming what is.

    Args:
        why: What was wrong, in a few words.
        forms: How the allowed actions are written.
    """
    return f"Invalid action: {why}. Allowed actions: {'; '.join(forms)}."


def tidy(text: str) -> str:
    """An action in brackets without the blanks round them or the full stop at the end, which models write."""
    return re.sub(
        # The blanks are taken off afterwards: a pattern for them takes for ever on a long run of them.
        r"^(\w+)\s*\[(.*)\]$",
        lambda found: f"{found[1]}[{found[2].strip()}]",
        text.strip().rstrip(". "),
        flags=re.DOTALL,
    )


@cache
def _pattern(form: str) -> re.Pattern[str]:
    parts = _FIELD.split(form)
    body, line = "", 0
    for literal, name in zip(parts[::2], [*parts[1::2], ""], strict=True):
        line += literal.count("\n")
        body += re.escape(literal).replace(r"\ ", r"[^\S\n]+").replace("\\\n", r"[^\S\n]*\n")
        if name:
            # What has a line to itself has as many as it likes.
            body += rf"(?P<{name}>(?s:.*?))" if line else rf"(?P<{name}>\S(?:.*?\S)?)"
    return re.compile(body, re.IGNORECASE)


@cache
def _explained(schema: type[BaseModel]) -> dict[str, str]:
    """What is known of each argument, such as `{direction}: which way (up or down)`."""
    described = schema.model_json_schema()
    explained = {}
    for name, field in described["properties"].items():
        what, values = field.get("description", ""), _allowed(field, described.get("$defs", {}))
        if known := f"{what} ({values})" if what and values else what or values:
            explained[name] = f"{{{name}}}: {known}"
    return explained


def _allowed(schema: dict[str, Any], definitions: dict[str, Any], inside: bool = False) -> str:
    """The values that a schema allows, in words; empty where it allows any of their type.

    Args:
        schema: The schema.
        definitions: What it refers to.
        inside: Whether these are the items of a list, which are written as JSON.
    """
    words, narrow = list[str](), False
    for each in _alternatives(schema, definitions):
        if exact := [json.dumps(value) if inside else _shown(value) for value in _literals(each)]:
            words += exact
        elif bounds := [f"{what} {each[key]}" for key, what in _BOUNDS.items() if key in each]:
            both = "minimum" in each and "maximum" in each
            words.append(f"{each['minimum']} to {each['maximum']}" if both else " and ".join(bounds))
        elif each.get("type") == "array":
            items = "" if inside else _allowed(each.get("items", {}), definitions, inside=True)
            words.append(f"a JSON list of {items}" if items else "a JSON list")
        elif each.get("type") == "object":
            names = " and ".join(json.dumps(name) for name in each.get("properties", {}))
            words.append(f"a JSON object with {names}" if names else "a JSON object")
        elif each.get("type") != "null":
            words.append(_TYPES.get(each.get("type", ""), "anything else"))
            continue
        else:
            continue
        narrow = True
    if not narrow:
        return ""
    *others, last = words
    return f"{', '.join(others)} or {last}" if others else last


_BOUNDS = {
    "minimum": "at least",
    "exclusiveMinimum": "more than",
    "maximum": "at most",
    "exclusiveMaximum": "less than",
}
_TYPES = {"integer": "a whole number", "number": "a number", "boolean": "true or false", "string": "any text"}


def _alternatives(schema: dict[str, Any], definitions: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The schemas of which a value must fit one, without references."""
    if "$ref" in schema:
        yield from _alternatives(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    elif several := [each for key in ("anyOf", "oneOf", "allOf") for each in schema.get(key, [])]:
        for each in several:
            yield from _alternatives(each, definitions)
    else:
        yield schema


def _literals(schema: dict[str, Any]) -> list[Any]:
    return [schema["const"]] if "const" in schema else [*schema.get("enum", [])]


def _shown(value: Any) -> str:
    """An allowed value as a prompt shows it: quoted where its ends would be unclear."""
    quoted = isinstance(value, str) and (not value or re.search(r"\s", value))
    return json.dumps(value, ensure_ascii=False) if quoted else str(value)


def _reader(hint: Any) -> Callable[[Any, ValidatorFunctionWrapHandler], Any]:
    """Validate an argument that may be written as text: a number for `Literal[1, 2]`, JSON for a list."""
    schema = TypeAdapter(hint).json_schema()
    allowed = [value for each in _alternatives(schema, schema.get("$defs", {})) for value in _literals(each)]

    def read(value: Any, validate: ValidatorFunctionWrapHandler) -> Any:
        try:
            return validate(value)
        except ValidationError:
            for meant in _meant(value, allowed):
                with suppress(ValidationError):
                    return validate(meant)
            raise

    return read


def _meant(value: Any, allowed: Sequence[Any]) -> Iterator[Any]:
    if isinstance(value, str):
        yield from (each for each in allowed if value in (str(each), _shown(each)))
        if value.startswith(("[", "{")):
            # RecursionError: brackets nested without end.
            with suppress(ValueError, RecursionError):
                yield json.loads(value)


def _misfit(form: str, required: dict[str, bool]) -> str:
    """What is wrong with the places for arguments in a form; empty if nothing is."""
    named = _FIELD.findall(form)
    for name in named:
        if name not in required:
            return f"names {{{name}}}, which is not an argument: it has {', '.join(required) or 'none'}"
        if named.count(name) > 1:
            return f"names {{{name}}} twice: name each argument once"
    missing = [name for name, needed in required.items() if needed and name not in named]
    return f"lacks {{{missing[0]}}}: name it, or give the argument a default" if missing else ""


def _ended(sentence: str) -> str:
    return sentence if sentence.endswith((".", "!", "?")) else f"{sentence}."
