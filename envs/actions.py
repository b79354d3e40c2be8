"""Actions: methods of an episode, marked with `@action`.

The signature gives the tool's schema, the docstring its description, and the text forms say how the action is written
in a transcript.
"""

import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, create_model
from typing_extensions import TypedDict  # pydantic makes schemas of these alone before Python 3.12


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
        return re.sub(r"\{(\w+)\}", lambda match: str(args.get(match[1], match[0])), self.forms[0])

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
            several lines, too. Without any form: `name[argument, ...]`.
        name: The tool's name, where it is not the method's.

    The method returns a `StepResult`, or a string where nothing but the observation is to be said.
    """

    def mark(method: Callable[..., Any]) -> Callable[..., Any]:
        method.__reflexion_action__ = (name or method.__name__, forms)  # type: ignore[attr-defined]
        return method

    return mark


def spec_of(method_name: str, method: Callable[..., Any]) -> ActionSpec:
    """How an action is called, from the method that is marked as one."""
    name, forms = method.__reflexion_action__  # type: ignore[attr-defined]
    hints = get_type_hints(method, include_extras=True)
    fields: dict[str, Any] = {}
    for parameter in list(inspect.signature(method).parameters.values())[1:]:
        hint = hints[parameter.name]
        notes = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
        described = next((note for note in notes if isinstance(note, str)), None)
        default = ... if parameter.default is parameter.empty else parameter.default
        fields[parameter.name] = (hint, Field(default, description=described) if described else Field(default))
    if not forms:
        inner = ", ".join("{" + field + "}" for field in fields)
        forms = (f"{name}[{inner}]",)
    description = inspect.cleandoc(method.__doc__ or "").split("\n\n")[0].replace("\n", " ")
    return ActionSpec(name, forms, method_name, create_model(name, __config__=_LENIENT, **fields), description)


# Models call with numbers where words are meant: a year, a length.
_LENIENT = ConfigDict(coerce_numbers_to_str=True)


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
    parts = re.split(r"\{(\w+)\}", form)
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


def _allowed(field: dict[str, Any], definitions: dict[str, Any]) -> str:
    """The values that a schema allows, in words; empty where it allows any of their type."""
    if "$ref" in field:
        field = definitions[field["$ref"].rpartition("/")[2]]
    if values := field.get("enum", [field["const"]] if "const" in field else []):
        *others, last = map(str, values)
        return f"{', '.join(others)} or {last}" if others else last
    low, high = field.get("minimum"), field.get("maximum")
    if low is None or high is None:
        return f"at least {low}" if low is not None else f"at most {high}" if high is not None else ""
    return f"{low} to {high}"


def _ended(sentence: str) -> str:
    return sentence if sentence.endswith((".", "!", "?")) else f"{sentence}."
