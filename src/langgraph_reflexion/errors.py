"""The errors that this package raises.

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

A failed trial is data, not an error: it is recorded, and the loop goes on. A transient `Fault` that a node meets is
tried again; one that stays ends its task with status `fault`, with what was gathered so far kept in the state.
"""

from collections.abc import Collection, Sequence
from typing import Any, get_args


def the_extra(name: str) -> str:
    """An extra of this package, and how it is installed, for a message."""
    return f"the extra {name}: pip install 'langgraph-reflexion[{name}]', in a clone '.[{name}]'"


class ReflexionError(Exception):
    """Base class of everything that this package raises on purpose.

    Each is one of Python's own kinds as well: LangGraph's server tells a client what those say, and no others.
    """


class ConfigurationError(ReflexionError, ValueError):
    """A setting is wrong. The message says which one, and what would be right."""


class OptionsRefused(ConfigurationError):
    """An environment does not take the options that it was given.

    Args:
        message: In one line.
        unknown: Those of them that it does not know; none where it lacks one.
        taken: The options that it takes.
    """

    def __init__(self, message: str, *, unknown: Sequence[str] = (), taken: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.unknown, self.taken = unknown, taken


class EnvironmentUnavailable(ReflexionError, RuntimeError):
    """An environment cannot be used here: an extra, a toolchain or its data is missing."""


class WorkersLost(ReflexionError):
    """The workers of a run end one after the other, and get nothing done. The trials so far are recorded."""


class Fault(ReflexionError, RuntimeError):
    """Something outside the agent failed: neither a success nor a failure of the trial.

    Args:
        message: What failed, in one line.
        transient: Whether the same may succeed in a moment, so that it is tried again.
        retry_after: How many seconds the other side asks to wait before that; None where it does not say.
    """

    def __init__(self, message: str, *, transient: bool = True, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.transient = transient
        self.retry_after = retry_after


class ModelFault(Fault):
    """The chat model could not be reached, or did not answer.

    Args:
        message: What failed, in one line.
        permanent: Whether asking again cannot help, then or later (a wrong key, an unknown model, a server that was
            never there): such a fault stops the run.
        transient: As for any fault; never where it is permanent.
        retry_after: As for any fault.
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
    """The prompt does not fit the model's context, however much of the trajectory is left out."""

    def __init__(self, message: str) -> None:
        super().__init__(message, transient=False)


class ToolsRefused(ModelFault):
    """The model's server knows no tool calls."""

    def __init__(self, message: str) -> None:
        super().__init__(message, transient=False)


class EnvironmentFault(Fault):
    """The environment could not carry out an action or start an episode."""


def expect(name: str, value: Any, kinds: Any) -> Any:
    """Return the argument.

    Raises:
        ConfigurationError: it is of another kind.
    """
    allowed = [kind for kind in get_args(kinds) or (kinds,) if kind is not type(None)]
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in allowed):
        wanted = " or ".join(kind.__name__ for kind in allowed)
        raise ConfigurationError(f"{name} must be {wanted}; got {type(value).__name__}")
    return value


def expect_names(name: str, value: Any) -> Collection[str]:
    """Return the argument, a collection of names. A single name is none: it would be read as its letters.

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
