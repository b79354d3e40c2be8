"""The errors that this package raises, and checks of arguments.

    ReflexionError
     ├── ConfigurationError       a setting is wrong, or does not fit another one
     ├── EnvironmentUnavailable   an extra, a toolchain or data is missing
     ├── WorkersLost              the workers of a run die again and again
     └── Fault                    trouble outside the agent: never counted as a wrong answer
          ├── ModelFault
          │    ├── ContextTooLong
          │    └── ToolsRefused
          └── EnvironmentFault
               └── EpisodeLost

A failed trial is data, not an error: it is recorded, and the loop continues. A transient `Fault` in a node is
retried; a lasting one ends the task with status `fault` and keeps its state.
"""

import difflib
import functools
import inspect
import json
import re
import sys
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast, get_args, get_origin, get_type_hints

Checked = TypeVar("Checked", bound=Callable[..., Any])
Model = TypeVar("Model")


def the_extra(name: str) -> str:
    """Return how to install an extra of this package, as it was installed itself, for a message."""
    return f"the extra {name} ({_how_to_install(name)})"


def _how_to_install(extra: str) -> str:
    from importlib.metadata import PackageNotFoundError, distribution

    in_clone = f"in the clone: pip install '.[{extra}]'"
    try:
        # pip leaves this file where it installed from a folder, a file or a repository, and none where from an index.
        source = distribution("langgraph-reflexion").read_text("direct_url.json")
    except PackageNotFoundError:
        return in_clone
    if source is None:
        return f"pip install 'langgraph-reflexion[{extra}]'"
    found = json.loads(source)
    if "dir_info" in found:
        return in_clone
    address = found["url"]
    if "vcs_info" in found:
        # What was installed from a repository is installed anew from the same commit.
        repository = found["vcs_info"]
        address = f"{repository['vcs']}+{address}@{repository['commit_id']}"
    return f"pip install 'langgraph-reflexion[{extra}] @ {address}'"


class ReflexionError(Exception):
    """Base class of everything that this package raises on purpose.

    Each subclass is also a builtin exception: LangGraph's server shows clients the messages of those only.
    """


class ConfigurationError(ReflexionError, ValueError):
    """A setting is wrong. The message names the setting and the values that it may have."""


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

    permanent = False
    """Whether it stops the run."""

    def __init__(self, message: str, *, transient: bool = True, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.transient = transient
        self.retry_after = retry_after


_OVERLOADED = (408, 425, 429)
"""HTTP statuses below 500 after which a retry may succeed."""

_WRONG_PATHS = (FileNotFoundError, FileExistsError, PermissionError, IsADirectoryError, NotADirectoryError)


def is_trouble(error: BaseException) -> bool:
    """Return whether an exception is trouble outside: a `Fault`, an `OSError`, or that of an HTTP service by httpx.

    A wrong path is a bug: the five builtin classes themselves, but not the subclasses of network libraries. So is a
    request that a service refuses, unless it is out of order or overloaded. A group, as task groups raise it, is
    trouble if all of its exceptions are.
    """
    if isinstance(error, BaseExceptionGroup):
        return all(is_trouble(each) for each in error.exceptions)
    if isinstance(error, Fault | OSError):
        return type(error) not in _WRONG_PATHS
    # What was never imported has raised nothing, and `--help` does not wait for it.
    httpx = sys.modules.get("httpx")
    if httpx is None:
        return False
    if isinstance(error, httpx.HTTPStatusError):
        status: int = error.response.status_code
        return status >= 500 or status in _OVERLOADED
    return isinstance(error, httpx.TransportError)


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
        self, message: str, *, permanent: bool = False, transient: bool = True, retry_after: float | None = None
    ) -> None:
        super().__init__(message, transient=transient and not permanent, retry_after=retry_after)
        self.permanent = permanent


class ContextTooLong(ModelFault):
    """The prompt does not fit into the model's context, however much is left out."""

    def __init__(self, message: str, *, permanent: bool = False) -> None:
        super().__init__(message, permanent=permanent, transient=False)


class ToolsRefused(ModelFault):
    """The model's server does not support tool calls."""

    def __init__(self, message: str) -> None:
        super().__init__(message, transient=False)


class EnvironmentFault(Fault):
    """The environment could not carry out an action or start an episode."""


class EpisodeLost(EnvironmentFault):
    """A trial's episode ended with its process, and cannot be rebuilt (`HasReplayable`)."""

    def __init__(self, task: str, actions: int) -> None:
        lost = f"the {actions} actions on {task} were lost with their process"
        if not actions:
            lost = f"the world of this trial of {task} is not there any more"
        super().__init__(f"{lost}: the trial starts over", transient=False)


def checked(target: Checked) -> Checked:
    """Make a function or a class raise `ConfigurationError` for arguments that do not fit their annotations."""
    function: Any = target.__init__ if isinstance(target, type) else target  # type: ignore[misc]
    prefix = f"{target.__name__}." if isinstance(target, type) else ""
    signature = inspect.signature(function)
    takes_any = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in signature.parameters.values())

    @functools.cache
    def arguments() -> Any:
        from pydantic import ConfigDict, create_model

        hints = get_type_hints(function, include_extras=True)
        fields: dict[str, Any] = {name: (hints[name], None) for name in signature.parameters if name in hints}
        config = ConfigDict(arbitrary_types_allowed=True, strict=True, protected_namespaces=())
        return create_model(target.__name__, __config__=config, **fields)

    @functools.wraps(function)
    def wrapper(*args: Any, **named: Any) -> Any:
        from pydantic import ValidationError

        unknown = [name for name in named if name not in signature.parameters]
        if unknown and not takes_any:
            raise ConfigurationError(_unknown_argument(target.__name__, unknown[0], signature.parameters))
        given = signature.bind(*args, **named).arguments
        try:
            arguments()(**{name: value for name, value in given.items() if name != "self"})
        except ValidationError as error:
            raise ConfigurationError(explain(error, place=lambda path: f"{prefix}{path[0]}")) from error
        return function(*args, **named)

    if not isinstance(target, type):
        return cast(Checked, wrapper)
    target.__init__ = wrapper  # type: ignore[misc]
    return target


ELSEWHERE = {
    "agent": "actor=AGENT",
    "checkpointer": "create_reflexion(...).compile(checkpointer=...), or create_agent(..., checkpointer=...)",
    "lessons": "memory=Memory(lessons=Lessons(...))",
    "make": "actor=WrappedAgent(make=...)",
    "reset": "actor=WrappedAgent(AGENT, reset=...)",
    "store": "create_reflexion(...).compile(store=...), or create_agent(..., store=...)",
}
"""Where an argument belongs that is looked for elsewhere."""


def _unknown_argument(function: str, name: str, known: Iterable[str]) -> str:
    names = [each for each in known if each != "self"]
    hint = did_you_mean(name, names)
    if name in ELSEWHERE:
        hint = f" (did you mean {ELSEWHERE[name]}?)"
    return f"{function}() has no argument {name!r}{hint}: it takes {', '.join(names)}"


def _is_uncompiled(given: object) -> bool:
    """Return whether something is a graph of LangGraph that nobody has compiled."""
    # What was never imported has made no graph, and `--help` does not wait for it.
    graphs = sys.modules.get("langgraph.graph.state")
    return graphs is not None and isinstance(given, graphs.StateGraph)


def validated(model: type[Model], given: Any, what: str = "", place: Callable[[list[str]], str] = ".".join) -> Model:
    """Return the pydantic model of these values.

    Raises:
        ConfigurationError: fields are unknown or values wrong; all are named, as by `explain`.
    """
    from pydantic import ValidationError

    try:
        return cast(Model, cast(Any, model).model_validate(given))
    except ValidationError as error:
        raise ConfigurationError(explain(error, what, place, model)) from error


def explain(
    error: Any, what: str = "", place: Callable[[list[str]], str] = ".".join, model: type[Any] | None = None
) -> str:
    """Return a pydantic `ValidationError` in words: where, what was expected and what was given.

    Args:
        error: The error.
        what: What a value is called, such as "setting"; `{}` is where its name goes, at the end unless given.
        place: Makes the name of a value from its path. Errors of one place are alternatives.
        model: The model that was expected, whose fields are suggested for unknown ones.
    """
    called = what if "{}" in what else f"{what} {{}}".strip()
    found: dict[str, tuple[list[str], str]] = {}
    for each in error.errors():
        path = [str(part) for part in each["loc"] if part != "[key]"]
        where = place(path)
        given = repr(each["input"]) if isinstance(each["input"], str | int | float) else type(each["input"]).__name__
        name = f"the {called.replace('{}', where)}" if what else where
        reason, given = each["msg"], f", not {given:.100}"
        if _is_uncompiled(each["input"]):
            given += ": compile it first, with .compile()"
        if where == "environment" and callable(each["input"]):
            given += ": an agent of your own is actor=AGENT, and its check evaluator=FUNCTION"
        if each["type"] == "extra_forbidden":
            hint = did_you_mean(path[-1], _fields(model, path[:-1]))
            name, reason, given = f"unknown {called.replace('{}', repr(where))}{hint}", "", ""
        elif each["type"] == "missing":
            reason, given = "is missing", ""
        elif each["type"] == "literal_error":
            given += did_you_mean(each["input"], re.findall(r"'([^']*)'", each["ctx"]["expected"]))
        elif each["type"] == "too_short":
            reason, given = reason.partition(" after validation")[0], ""
        reason = re.sub(r"^(Value error, )?(\w+ should )?", lambda found: "must " if found[2] else "", reason)
        reason = reason.partition(", unable to ")[0]
        reason = reason.replace("a valid dictionary or instance", "an instance").replace("a valid string", "a string")
        reasons, before = found.get(name, ([], ""))
        found[name] = ([*reasons, reason], max(before, given, key=len))
    lines = []
    for name, (reasons, given) in found.items():
        expected = " or ".join(dict.fromkeys(reasons)).replace(" or must be ", " or ")
        lines.append(f"{name} {expected}{given}".strip())
    return "; ".join(lines)


def _fields(kind: Any, path: list[str]) -> list[str]:
    """Return the names of the fields at a path inside a pydantic model."""
    fields = getattr(kind, "model_fields", None)
    if fields is None:
        inside = path[1:] if get_origin(kind) in (dict, list) else path
        return [name for inner in get_args(kind) for name in _fields(inner, inside)]
    return _fields(fields[path[0]].annotation, path[1:]) if path else list(fields)


def one_of(name: str, value: Any, allowed: Any) -> Any:
    """Return the argument, or raise `ConfigurationError` if it is not among the allowed ones."""
    names = [str(each) for each in allowed]
    if value not in names:
        known = f"choose one of {', '.join(names)}{did_you_mean(value, names)}" if names else "there are none"
        raise ConfigurationError(f"{name}={value!r}: {known}")
    return value


def did_you_mean(value: Any, names: Iterable[str]) -> str:
    """Return a question after the most similar name, to end a message with; empty if none is similar."""
    similar = difflib.get_close_matches(str(value), list(names), 1, cutoff=0.65)
    return f" (did you mean {similar[0]}?)" if similar else ""
