"""Settings that a call may change: LangGraph's runtime context."""

from collections.abc import Mapping
from typing import Any

from langgraph.runtime import get_runtime
from typing_extensions import TypedDict  # pydantic makes schemas of these alone before Python 3.12

from langgraph_reflexion.errors import ConfigurationError


class ReflexionContext(TypedDict, total=False):
    """Settings of one run, as `graph.invoke(..., context={...})`.

    A wrapped agent sees the same context. If it has its own `context_schema`, that schema is used, and these settings
    are read from its fields of the same names.
    """

    max_trials: int
    """The number of trials after which a task has failed."""
    user_id: str
    """The user whose lessons are recalled and written, unless `Lessons` names one, or the server has a login."""
    rubric: str | list[str]
    """The criteria of this run, as a text or a list, which `Rubric(from_input=True)` reads."""


def check_context(context: Any) -> None:
    """Check the context of a call.

    Raises:
        ConfigurationError: it has an unknown setting.
    """
    # An object has the fields of its class, and no others.
    if not isinstance(context, Mapping):
        return
    known = ReflexionContext.__annotations__
    unknown = [repr(name) for name in context if name not in known]
    if unknown:
        raise ConfigurationError(f"context: no setting {', '.join(unknown)}: it takes {', '.join(known)}")


def in_context(name: str) -> Any:
    """Return a setting of the run's context; None if it is not given, or nothing runs."""
    try:
        context = getattr(get_runtime(), "context", None)
    except (KeyError, RuntimeError):  # outside a graph
        return None
    if isinstance(context, Mapping):
        return context.get(name)
    # A dataclass or a model, as LangGraph makes of a `context_schema`.
    return getattr(context, name, None)


def authenticated_user() -> str | None:
    """Return the name of the user who is logged in to the LangGraph server; None where nobody has to log in."""
    try:
        server = get_runtime().server_info
    except (KeyError, RuntimeError):  # outside a graph
        return None
    if server is None or server.user is None:
        return None
    return str(server.user.identity)


def allowed_trials(usual: int) -> int:
    """Return the number of trials of this run.

    Raises:
        ConfigurationError: the number in the context is not a positive integer.
    """
    given = in_context("max_trials")
    if given is None:
        return usual
    # True and False are integers to Python.
    is_number = isinstance(given, int) and not isinstance(given, bool)
    if not is_number or given < 1:
        raise ConfigurationError(f"context: max_trials must be a positive integer; got {given!r}")
    trials: int = given
    return trials
