"""Actions: methods of an episode, marked with `@action`.

The signature gives the tool's schema, the docstring its description, and the text forms its notation in a transcript.
"""

import inspect
import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from copy import deepcopy
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

from langgraph_reflexion.envs.json_schema import alternatives, explained, literals, meant
from langgraph_reflexion.errors import ConfigurationError

_FIELD = re.compile(r"\{(\w+)\}")
"""An argument's placeholder in a text form."""


class ShownAction(NamedTuple):
    """An action in a prompt for a model that writes its actions as text."""

    form: str
    """The text form, arguments in braces."""
    explanation: str
    """What it does and what its arguments are; empty if undocumented."""


class Action(TypedDict):
    """One call of one of the environment's tools."""

    name: str
    """The tool's name; empty if the actor's reply contained no allowed action."""
    args: dict[str, Any]
    """The tool's arguments by name."""
    text: str
    """The action in a transcript ("go to cabinet 1")."""


@dataclass(frozen=True, slots=True)
class ActionSpec:
    """The specification of an action as a tool and as text."""

    name: str
    forms: tuple[str, ...]
    method: str
    schema: type[BaseModel] | dict[str, Any]
    description: str

    @property
    def model(self) -> type[BaseModel]:
        """The arguments of an action that is a method."""
        assert isinstance(self.schema, type)
        return self.schema

    @property
    def written(self) -> set[str]:
        """The names of the arguments that `render` needs."""
        return set(self.model.model_fields)

    @property
    def parameters(self) -> dict[str, Any]:
        """The JSON schema of the arguments."""
        if isinstance(self.schema, dict):
            return self.schema
        return _parameters(self.schema)

    @property
    def required(self) -> list[str]:
        """The names of the arguments without a default."""
        return list(self.parameters["required"])

    def validate(self, args: Any) -> dict[str, Any]:
        """Return the arguments as the action takes them.

        Raises:
            ValueError: they are not allowed; the message says where and why.
        """
        try:
            read = self.model.model_validate(args)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise ValueError(f"{where}: {first['msg']}") from error
        return {field: getattr(read, field) for field in self.model.model_fields}

    def dump(self, args: Any) -> dict[str, Any]:
        """Return the arguments as plain data, for the state; see `validate`."""
        return self.model.model_validate(args).model_dump()

    def explained(self) -> dict[str, str]:
        """Return the explanation of each argument, such as `{direction}: which way (up or down)`."""
        return explained(self.parameters)

    @property
    def note(self) -> str:
        """What the form does not show, in a prompt."""
        return ""

    def read(self, text: str) -> dict[str, Any] | None:
        """Read the arguments from one of the text forms; return None if none matches."""
        for form in self.forms:
            ending = _ending(form)
            if text[len(text) - len(ending) :].lower() != ending:
                continue
            match = _pattern(form).fullmatch(text)
            if match is None:
                continue
            # The blanks at the edges of an argument of several lines belong to it.
            around = None
            if "\n" in form:
                around = "\n"
            return {name: value.strip(around) for name, value in match.groupdict().items()}
        return None

    def render(self, args: dict[str, Any]) -> str:
        """Return the action in its first text form."""
        return fill(self.forms[0], args)

    @property
    def function(self) -> dict[str, Any]:
        """The action as a tool's schema."""
        return {"name": self.name, "description": self.description, "parameters": deepcopy(self.parameters)}


@cache
def _parameters(model: type[BaseModel]) -> dict[str, Any]:
    schema = model.model_json_schema()
    for field in schema.get("properties", {}).values():
        field.pop("title", None)
    parameters: dict[str, Any] = {
        "type": "object",
        "properties": schema.get("properties", {}),
        "required": schema.get("required", []),
    }
    # Arguments that are models or enumerations refer to their definitions.
    if "$defs" in schema:
        parameters["$defs"] = schema["$defs"]
    return parameters


def action(*forms: str, name: str | None = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Mark a method of an episode as an action.

    Args:
        *forms: The text forms, arguments in braces. The first one is shown, all are understood. In a form of several
            lines, the arguments after the first line may have several lines, too. Lists and objects are written as
            JSON. The default is `name[argument, ...]`.
        name: The tool's name, by default the method's.

    The method returns a `StepResult`, or just the observation.
    """

    def mark(method: Callable[..., Any]) -> Callable[..., Any]:
        method.__reflexion_action__ = (name or method.__name__, forms)  # type: ignore[attr-defined]
        return method

    return mark


def spec_of(method_name: str, method: Callable[..., Any]) -> ActionSpec:
    """Return the specification of a method that is marked as an action.

    Raises:
        ConfigurationError: an argument has no type hint, or a form does not fit the arguments.
    """
    name, forms = method.__reflexion_action__  # type: ignore[attr-defined]
    where = f"the action {name!r} ({method.__qualname__})"
    fields = _fields(where, method)
    if not forms:
        inner = ", ".join("{" + field + "}" for field in fields)
        forms = (f"{name}[{inner}]",)
    required = {field: given.is_required() for field, (_, given) in fields.items()}
    for form in forms:
        wrong = _misfit(form, required)
        if wrong:
            raise ConfigurationError(f"{where}: the form {form!r} {wrong}")
    # The description is the first paragraph of the docstring, in one line.
    description = inspect.cleandoc(method.__doc__ or "").split("\n\n")[0].replace("\n", " ")
    # Models pass a year or a length as a number where a text is wanted.
    lenient = ConfigDict(coerce_numbers_to_str=True)
    model = create_model(name, __config__=lenient, **fields)
    return ActionSpec(name, forms, method_name, model, description)


def _fields(where: str, method: Callable[..., Any]) -> dict[str, Any]:
    """Return the arguments of a method as the fields of a pydantic model: the type and the `Field` of each."""
    hints = get_type_hints(method, include_extras=True)
    # The first parameter is `self`.
    parameters = list(inspect.signature(method).parameters.values())[1:]
    fields: dict[str, Any] = {}
    for parameter in parameters:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise ConfigurationError(f"{where} takes {parameter}: name each argument")
        if parameter.name not in hints:
            raise ConfigurationError(f"{where}: {parameter.name!r} has no type hint: give one, such as `str`")
        hint = hints[parameter.name]
        default = parameter.default
        if default is parameter.empty:
            default = ...
        given = Field(default)
        described = _description_in(hint)
        if described:
            given = Field(default, description=described)
        fields[parameter.name] = (Annotated[hint, WrapValidator(_reader(hint))], given)
    return fields


def _description_in(hint: Any) -> str | None:
    """Return the first text of an `Annotated` type hint, which describes the argument."""
    if get_origin(hint) is not Annotated:
        return None
    for note in get_args(hint)[1:]:
        if isinstance(note, str):
            return note
    return None


def fill(form: str, args: dict[str, Any]) -> str:
    """Fill arguments into a text form; lists and objects as JSON."""

    def written(match: re.Match[str]) -> str:
        # An argument that is not given stays a placeholder.
        value = args.get(match[1], match[0])
        if isinstance(value, list | dict):
            return json.dumps(value, ensure_ascii=False, default=str)
        return str(value)

    return _FIELD.sub(written, form)


def invalid_action(why: str, forms: Sequence[str]) -> str:
    """Return the observation for an invalid action: the reason, and the text forms of the allowed actions."""
    listed = f"{'; '.join(forms)}."
    # A form of several lines would end in the middle of the list.
    if any("\n" in form for form in forms):
        listed = "".join(f"\n- {form}" for form in forms)
        return f"Invalid action: {why}. Allowed actions:{listed}"
    return f"Invalid action: {why}. Allowed actions: {listed}"


def normalize_action(text: str) -> str:
    """Remove the blanks around brackets and the full stop at the end, which models add."""
    bare = text.strip().rstrip(". ")
    # Blanks are stripped afterwards: a pattern for them is slow on a long run of blanks.
    found = re.fullmatch(r"(\w+)\s*\[(.*)\]", bare, re.DOTALL)
    if found is None:
        return bare
    return f"{found[1]}[{found[2].strip()}]"


@cache
def _ending(form: str) -> str:
    """Return the last word of a form of several lines; without it, the pattern would search from each line on."""
    if "\n" not in form:
        return ""
    words = _FIELD.split(form)[-1].split()
    if not words:
        return ""
    return words[-1].lower()


@cache
def _pattern(form: str) -> re.Pattern[str]:
    """Return the pattern of a form: any blanks for a blank, in any case, and a group for each argument."""
    body = ""
    lines = 0
    for literal, name in _parts(form):
        lines += literal.count("\n")
        blank = re.escape(literal).replace(r"\ ", r"[^\S\n]+")
        # Blanks at the end of a line are not part of it.
        body += blank.replace("\\\n", r"[^\S\n]*\n")
        if not name:
            continue
        if lines > 0:
            # An argument on its own line may have several lines.
            body += rf"(?P<{name}>(?s:.*?))"
        else:
            body += rf"(?P<{name}>\S(?:.*?\S)?)"
    return re.compile(body, re.IGNORECASE)


def _parts(form: str) -> Iterator[tuple[str, str]]:
    """Yield the literal texts of a form, each with the name of the argument that follows it, or ""."""
    parts = _FIELD.split(form)
    literals = parts[::2]
    names = [*parts[1::2], ""]
    yield from zip(literals, names, strict=True)


def _reader(hint: Any) -> Callable[[Any, ValidatorFunctionWrapHandler], Any]:
    """Validate an argument that may be written as text: a number for `Literal[1, 2]`, JSON for a list."""
    schema = TypeAdapter(hint).json_schema()
    allowed: list[Any] = []
    for each in alternatives(schema, schema):
        allowed += literals(each)

    def read(value: Any, validate: ValidatorFunctionWrapHandler) -> Any:
        try:
            return validate(value)
        except ValidationError:
            for guess in meant(value, allowed):
                with suppress(ValidationError):
                    return validate(guess)
            raise

    return read


def _misfit(form: str, required: dict[str, bool]) -> str:
    """Return what is wrong with the placeholders of a form, or ""."""
    named = _FIELD.findall(form)
    for name in named:
        if name not in required:
            return f"names {{{name}}}, which is not an argument: it has {', '.join(required) or 'none'}"
        if named.count(name) > 1:
            return f"names {{{name}}} twice: name each argument once"
    for name, needed in required.items():
        if needed and name not in named:
            return f"lacks {{{name}}}: name it, or give the argument a default"
    return ""
