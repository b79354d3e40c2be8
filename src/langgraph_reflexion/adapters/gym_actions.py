"""The actions of a world with `reset` and `step`, as tools and as text."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError, create_model

from langgraph_reflexion.adapters.tool_spec import ToolSpec
from langgraph_reflexion.envs.actions import ActionSpec
from langgraph_reflexion.envs.json_schema import allowed_values
from langgraph_reflexion.errors import ConfigurationError, explain

_GIVE = "give actions=..., such as a dict of names and actions, or a function of a text"


@dataclass(frozen=True)
class Actions:
    """The actions that an actor may take, and what `step` is called with."""

    specs: Mapping[str, ActionSpec]
    value: Callable[[str, dict[str, Any]], Any]
    """Returns what `step` is called with for a name and arguments; raises ValueError if there is no such action."""


def named_actions(values: Mapping[str, Any]) -> Actions:
    """Return actions without arguments, by their texts.

    Raises:
        ConfigurationError: a text cannot be a name.
    """
    known: dict[str, Any] = {}
    specs: dict[str, ActionSpec] = {}
    for text, value in values.items():
        name = re.sub(r"\W+", "_", text.strip(), flags=re.ASCII)
        # No name of a tool begins with a digit.
        name = re.sub(r"^(?=\d)", "_", name)
        if not name.strip("_") or name in specs or "{" in text:
            raise ConfigurationError(f"actions: {text!r} is not a name, or too similar to another one")
        known[name] = value
        forms = (text.strip(), f"{name}[]")
        specs[name] = ActionSpec(name, forms, "", create_model(name), "Take this action.")
    return Actions(specs, lambda name, args: known[name])


def one_action(schema: dict[str, Any], made: Callable[..., Any], description: str = "Take an action.") -> Actions:
    """Return the action `act`, whose arguments, by their JSON schema, say what `made` makes."""

    def value(name: str, args: dict[str, Any]) -> Any:
        try:
            return made(**args)
        except ValidationError as error:
            raise ValueError(explain(error)) from error

    return Actions({"act": ToolSpec.of("act", description, schema)}, value)


def actions_of(given: Any, space: Any) -> Actions:
    """Return the actions that were given, or else those of an action space.

    Args:
        given: The argument `actions` of `GymEnvironment`.
        space: The world's action space, if it has one.

    Raises:
        ConfigurationError: they do not fit the space, or have no text form.
    """
    if isinstance(given, Mapping):
        return named_actions(given)
    if isinstance(given, type) and issubclass(given, BaseModel):
        return one_action(given.model_json_schema(), given, given.__doc__ or "Take an action.")
    if callable(given):
        return one_action(_only({"type": "string"}), lambda action: given(action))
    # A text is a sequence, too.
    if isinstance(given, Sequence) and not isinstance(given, str):
        numbers = _numbers(space, len(given))
        return named_actions(dict(zip(given, numbers, strict=True)))
    if given is not None:
        raise ConfigurationError(f"actions: give names, a dict, a Pydantic model or a function, not {given!r:.100}")
    return _of_space(space)


def _numbers(space: Any, count: int) -> range:
    """Return the members of a Discrete space of this size."""
    if hasattr(space, "start") and int(space.n) == count:
        first = int(space.start)
        return range(first, first + count)
    raise ConfigurationError(
        f"actions has {count} names, and the action space is {space}: give one name for each action of a Discrete "
        "space, or a dict of names and actions"
    )


def _only(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of the one argument `action`."""
    return {"properties": {"action": schema}, "required": ["action"]}


def _of_space(space: Any) -> Actions:
    if space is None:
        raise ConfigurationError(f"the world has no action space: {_GIVE}")
    from gymnasium import spaces

    match space:
        case spaces.Discrete():
            first = int(space.start)
            last = int(space.start + space.n - 1)
            schema: dict[str, Any] = {"type": "integer", "minimum": first, "maximum": last}
        case spaces.Text():
            schema = {"type": "string"}
        case _:
            raise ConfigurationError(f"actions of {space} have no text form: {_GIVE}")

    def member(action: Any) -> Any:
        if not space.contains(action):
            allowed = allowed_values(schema, {}) or space
            raise ValueError(f"action: must be {allowed}, not {action!r:.100}")
        return action

    return one_action(_only(schema), member)
