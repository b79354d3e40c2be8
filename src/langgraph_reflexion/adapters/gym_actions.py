"""The actions of a world with `reset` and `step`, as tools and as text."""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError, create_model

from langgraph_reflexion.adapters.tool_spec import ToolSpec
from langgraph_reflexion.envs.actions import ActionSpec, allowed_values
from langgraph_reflexion.errors import ConfigurationError

Specs = Mapping[str, ActionSpec]


_GIVE = "give actions=..., such as a dict of names and actions, or a function of a text"


class Actions(ABC):
    """The actions that an actor may take, and what `step` is called with."""

    specs: Specs

    @abstractmethod
    def value(self, name: str, args: dict[str, Any]) -> Any:
        """Return what `step` is called with.

        Raises:
            ValueError: there is no such action in this world; the message says why.
        """


class NamedActions(Actions):
    """Actions with names, each of which is a value."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values, specs = {}, {}
        for text, value in values.items():
            name = re.sub(r"^(?=\d)", "_", re.sub(r"\W+", "_", text.strip(), flags=re.ASCII))
            if not name.strip("_") or name in specs or "{" in text:
                raise ConfigurationError(f"actions: {text!r} is no name, or too similar to another one")
            self.values[name] = value
            specs[name] = ActionSpec(name, (text.strip(), f"{name}[]"), "", create_model(name), "Take this action.")
        self.specs: Specs = specs

    def value(self, name: str, args: dict[str, Any]) -> Any:
        """Return the value of a name."""
        return self.values[name]


class OneAction(Actions):
    """One action `act`, whose arguments say what to do.

    Args:
        schema: The JSON schema of the arguments.
        made: Makes the value of the arguments; raises ValueError for wrong ones.
        description: What the action is.
    """

    def __init__(
        self, schema: dict[str, Any], made: Callable[..., Any], description: str = "Take an action."
    ) -> None:
        self.specs: Specs = {"act": ToolSpec.of("act", description, schema)}
        self.made = made

    def value(self, name: str, args: dict[str, Any]) -> Any:
        """Make the value of arguments.

        Raises:
            ValueError: they are wrong.
        """
        try:
            return self.made(**args)
        except ValidationError as error:
            first = error.errors()[0]
            raise ValueError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error


def actions_of(given: Any, space: Any) -> Actions:
    """Return the actions that were given, or else those of an action space.

    Args:
        given: The argument `actions` of `GymEnvironment`.
        space: The world's action space, if it has one.

    Raises:
        ConfigurationError: they do not fit the space, or have no text form.
    """
    if isinstance(given, Mapping):
        return NamedActions(given)
    if isinstance(given, type) and issubclass(given, BaseModel):
        return OneAction(given.model_json_schema(), given, given.__doc__ or "Take an action.")
    if callable(given):
        return OneAction(_only({"type": "string"}), lambda action: given(action))
    if isinstance(given, Sequence) and not isinstance(given, str):
        return NamedActions(dict(zip(given, _numbers(space, len(given)), strict=True)))
    if given is not None:
        raise ConfigurationError(f"actions: give names, a dict, a Pydantic model or a function, not {given!r:.100}")
    schema = _schema(space)
    allowed = space if "items" in schema or "properties" in schema else allowed_values(schema, {}) or space
    return OneAction(_only(schema), lambda action: _member(space, action, allowed))


def _numbers(space: Any, count: int) -> range:
    """Return the members of a Discrete space, if it has so many."""
    if hasattr(space, "start") and int(space.n) == count:
        return range(int(space.start), int(space.start) + count)
    raise ConfigurationError(
        f"actions has {count} names, and the action space is {space}: give one name for each action of a Discrete "
        "space, or a dict of names and actions"
    )


def _only(schema: dict[str, Any]) -> dict[str, Any]:
    return {"properties": {"action": schema}, "required": ["action"]}


def _schema(space: Any) -> dict[str, Any]:
    if space is None:
        raise ConfigurationError(f"the world has no action space: {_GIVE}")
    from gymnasium import spaces

    match space:
        case spaces.Discrete():
            return {"type": "integer", "minimum": int(space.start), "maximum": int(space.start + space.n - 1)}
        case spaces.Text():
            return {"type": "string"}
        case spaces.Dict():
            inner = {name: _schema(each) for name, each in space.spaces.items()}
            return {"type": "object", "properties": inner, "required": [*inner]}
        case spaces.Tuple():
            return {"type": "array", "description": str(space)}
        case spaces.Box() | spaces.MultiBinary() | spaces.MultiDiscrete():
            schema: dict[str, Any] = {"type": "number" if space.dtype.kind == "f" else "integer"}
            for length in reversed(space.shape):
                schema = {"type": "array", "items": schema, "minItems": length, "maxItems": length}
            return {**schema, "description": str(space)}
    raise ConfigurationError(f"actions of {space} have no text form: {_GIVE}")


def _member(space: Any, value: Any, allowed: object) -> Any:
    """Return the member of a space for a value from JSON.

    Raises:
        ValueError: it is not in the space.
    """
    try:
        made = _converted(space, value)
    except (KeyError, TypeError, OverflowError, ValueError):
        made = None
    if made is None or not space.contains(made):
        raise ValueError(f"action: must be {allowed}, not {value!r:.100}")
    return made


def _converted(space: Any, value: Any) -> Any:
    import numpy as np
    from gymnasium import spaces

    match space:
        case spaces.Dict():
            return {name: _converted(each, value[name]) for name, each in space.spaces.items()}
        case spaces.Tuple():
            return tuple(_converted(each, part) for each, part in zip(space.spaces, value, strict=True))
        case spaces.Discrete() | spaces.Text():
            return value
    return np.asarray(value, space.dtype)
