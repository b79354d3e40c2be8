"""The errors that this package raises, and checks of arguments.

    ReflexionError
     ├── ConfigurationError       a setting is wrong, or does not fit another one
     │    └── OptionsRefused      an environment does not take such options
     ├── EnvironmentUnavailable   an extra, a toolchain or data is missing
     ├── WorkersLost              the workers of a run die again and again
     └── Fault                    trouble outside the agent: never counted as a wrong answer
          ├── ModelFault
          │    ├── ContextTooLong
          │    └── ToolsRefused
          └── EnvironmentFault

A failed trial is data, not an error: it is recorded, and the loop continues. A transient `Fault` in a node is
retried; a lasting one ends the task with status `fault` and keeps its state.
"""

import functools
import inspect
from collections.abc import Collection, Iterable, Sequence
from typing import Any, TypeVar, get_args, get_type_hints

Class = TypeVar("Class", bound=type)


def the_extra(name: str) -> str:
    """Return how to install an extra of this package, for a message."""
    return f"the extra {name}: pip install 'langgraph-reflexion[{name}]', in a clone '.[{name}]'"


class ReflexionError(Exception):
    """Base class of everything that this package raises on purpose.

    Each subclass is also a builtin exception: LangGraph's server shows clients the messages of those only.
    """


class ConfigurationError(ReflexionError, ValueError):
    """A setting is wrong. The message names the setting and the values that it may have."""


class OptionsRefused(ConfigurationError):
    """An environment does not take the options that it was given.

    Args:
        message: One line.
        unknown: The unknown options; empty if one is missing instead.
        taken: The options that the environment takes.
    """

    def __init__(self, message: str, *, unknown: Sequence[str] = (), taken: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.unknown, self.taken = unknown, taken


class EnvironmentUnavailable(ReflexionError, RuntimeError):
    """An environment cannot be used here: an extra, a toolchain or its data is missing."""


class WorkersLost(ReflexionError):
    """The workers of a run die again and again. The trials so far are recorded."""


class Fault(ReflexionError, RuntimeError):
    """Something outside the agent failed: neither a success nor a failure of the trial.

    Args:
        message: One line.
        transient: Whether a retry may succeed.
        retry_after: Seconds to wait before a retry, if the server said so.
    """

    def __init__(self, message: str, *, transient: bool = True, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.transient = transient
        self.retry_after = retry_after


class ModelFault(Fault):
    """The chat model could not be reached, or did not answer.

    Args:
        message: One line.
        permanent: Whether no retry can succeed, now or later (a wrong key, an unknown model, a server that never
            answered). Such a fault stops the run.
        transient: As for `Fault`; never with `permanent`.
        retry_after: As for `Fault`.
    """

    def __init__(
        self,
        message: str,
        *,
        permanent: bool = False,
        transient: bool = True,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message, transient=transient and not permanent, retry_after=retry_after)
        self.permanent = permanent


class ContextTooLong(ModelFault):
    """The prompt does not fit into the model's context, however much of the trajectory is left out."""

    def __init__(self, message: str) -> None:
        super().__init__(message, transient=False)


class ToolsRefused(ModelFault):
    """The model's server does not support tool calls."""

    def __init__(self, message: str) -> None:
        super().__init__(message, transient=False)


class EnvironmentFault(Fault):
    """The environment could not carry out an action or start an episode."""


def checked(cls: Class) -> Class:
    """Check the arguments of a class against the annotations of its constructor: no conversion, `Field` limits.

    A wrong argument raises `ConfigurationError`.
    """
    init = cls.__init__  # type: ignore[misc]
    signature = inspect.signature(init)

    @functools.cache
    def arguments() -> Any:
        from pydantic import ConfigDict, create_model

        hints = get_type_hints(init, include_extras=True)
        fields: dict[str, Any] = {name: (hints[name], None) for name in signature.parameters if name in hints}
        return create_model(cls.__name__, __config__=ConfigDict(arbitrary_types_allowed=True, strict=True), **fields)

    @functools.wraps(init)
    def checked_init(self: Any, *args: Any, **named: Any) -> None:
        from pydantic import ValidationError

        _, *given = signature.bind(self, *args, **named).arguments.items()
        try:
            arguments()(**dict(given))
        except ValidationError as error:
            raise ConfigurationError(explain(error.errors(), f"{cls.__name__}.")) from error
        init(self, *args, **named)

    cls.__init__ = checked_init  # type: ignore[misc]
    return cls


def explain(errors: Iterable[Any], prefix: str = "") -> str:
    """Return the errors of a pydantic validation in words: where, what was expected, and what was given.

    Args:
        errors: The errors, as from `ValidationError.errors`. Several of one field are alternatives.
        prefix: A prefix of the fields' names.
    """
    found: dict[str, tuple[list[str], Any]] = {}
    for error in errors:
        expected, given = found.setdefault(str(error["loc"][0]), ([], error["input"]))
        expected.append(error["msg"].removeprefix("Value error, ").removeprefix("Input should be "))
    lines = []
    for name, (expected, given) in found.items():
        shown = repr(given) if isinstance(given, str | int | float) else type(given).__name__
        lines.append(f"{prefix}{name} must be {' or '.join(dict.fromkeys(expected))}, not {shown:.100}")
    return "; ".join(lines)


def expect(name: str, value: Any, kinds: Any) -> Any:
    """Return the argument.

    Raises:
        ConfigurationError: it has another type.
    """
    allowed = [kind for kind in get_args(kinds) or (kinds,) if kind is not type(None)]
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in allowed):
        wanted = " or ".join(kind.__name__ for kind in allowed)
        raise ConfigurationError(f"{name} must be {wanted}; got {type(value).__name__}")
    return value


def expect_names(name: str, value: Any) -> Collection[str]:
    """Return the argument, a collection of names. A single string is none: it would be read as its letters.

    Raises:
        ConfigurationError: it is no such collection.
    """
    if (
        isinstance(value, str)
        or not isinstance(value, Collection)
        or not all(isinstance(each, str) for each in value)
    ):
        one = value if isinstance(value, str) else "name"
        raise ConfigurationError(f'{name} must be a collection of names, such as ["{one}"]; got {value!r}')
    return value


def one_of(name: str, value: Any, allowed: Any) -> Any:
    """Return the argument.

    Raises:
        ConfigurationError: it is none of the allowed ones.
    """
    if value not in [str(each) for each in allowed]:
        choices = ", ".join(map(str, allowed))
        raise ConfigurationError(f"{name}={value!r}: {f'choose one of {choices}' if choices else 'there are none'}")
    return value
