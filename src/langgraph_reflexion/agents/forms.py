"""The input of an agent: how it takes the task, by its signature."""

from collections.abc import Callable, Sequence
from functools import wraps
from inspect import Parameter, iscoroutinefunction, signature
from typing import Any, Literal, NamedTuple, get_origin, get_type_hints

from langchain_core.messages import BaseMessage
from langchain_core.runnables import Runnable, RunnableLambda
from langgraph.graph import StateGraph
from langgraph.pregel import Pregel
from langgraph.pregel.protocol import PregelProtocol

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.support.sync import run_blocking


class InputForm(NamedTuple):
    """How an agent takes its input."""

    kind: Literal["state", "messages", "text", "field"]
    """`{"messages": [...]}`, a list of messages, the text, or a dict with the text in one field."""
    field: str = ""
    keys: tuple[str, ...] = ()
    """Further keys of a `state`."""

    def build(self, messages: Sequence[BaseMessage], text: str, state: dict[str, Any]) -> Any:
        """Return the input.

        Args:
            messages: The conversation, the task and the lessons in it.
            text: The task and the lessons.
            state: Further keys of the agent's state.
        """
        match self.kind:
            case "state":
                return {**state, "messages": list(messages)}
            case "messages":
                return list(messages)
            case "text":
                return text
        return {**state, self.field: text}


def as_runnable(agent: Any) -> Runnable[Any, Any]:
    """Return an agent as a runnable; a function is wrapped in one.

    Raises:
        ConfigurationError: it is neither a runnable nor a function of one argument.
    """
    if isinstance(agent, Runnable):
        return agent
    if not callable(agent) or isinstance(agent, type):
        raise ConfigurationError(
            f"an agent is a compiled graph, another runnable or a function of its input; got {_in_words(agent)}"
        )
    check_call("the agent's function", agent, "input")
    # The second kind is an object with an asynchronous method for its call.
    is_async = iscoroutinefunction(agent) or iscoroutinefunction(getattr(agent, "__call__", None))  # noqa: B004
    if not is_async:
        return RunnableLambda(agent)

    # For `graph.invoke`, in which LangChain calls no coroutine function.
    @wraps(agent, updated=())  # LangChain reads the signature
    def blocking(*args: Any, **named: Any) -> Any:
        return run_blocking(agent(*args, **named))

    return RunnableLambda(blocking, afunc=agent)


def _in_words(given: Any) -> str:
    """Return what was given in place of an agent."""
    if isinstance(given, type):
        return f"the class {given.__name__}"
    if isinstance(given, StateGraph):
        return f"{type(given).__name__}: compile it first"
    return type(given).__name__


def check_call(name: str, function: Callable[..., Any], *given: str) -> None:
    """Check that a function takes these positional arguments, besides those that `RunnableLambda` passes by name.

    Raises:
        ConfigurationError: it does not.
    """
    try:
        found = signature(function)
    except (TypeError, ValueError):  # a builtin
        return
    passed = []
    for parameter in found.parameters.values():
        if parameter.name not in ("config", "run_manager"):
            passed.append(parameter)
    try:
        found.replace(parameters=passed).bind(*given)
    except TypeError:
        required = [each.name for each in passed if each.default is Parameter.empty]
        needed = ", ".join(required) or "no arguments"
        raise ConfigurationError(f"{name} is called with ({', '.join(given)}), but takes {needed}") from None


def input_form(agent: Runnable[Any, Any]) -> InputForm:
    """Return the form of an agent's input, from its declared type or schema.

    Raises:
        ConfigurationError: it takes several things, and no messages.
    """
    try:
        declared: Any = agent.InputType
    except TypeError:  # a chain whose first part declares none
        declared = Any
    # The module has `from __future__ import annotations`.
    if isinstance(declared, str):
        declared = _annotation(agent)
    if declared is str:
        return InputForm("text")
    if declared is list or get_origin(declared) is list:
        return InputForm("messages")
    keys = _keys(agent, declared)
    if "messages" in keys:
        return InputForm("state", keys=tuple(key for key in keys if key != "messages"))
    # The only field can only be the task.
    if len(keys) == 1:
        return InputForm("field", keys[0])
    if keys:
        raise ConfigurationError(
            f"the agent's input has the fields {', '.join(keys)}: say how to fill them with "
            "WrappedAgent(agent, make_input=lambda task, lessons: {...})"
        )
    if _takes_state(agent, declared):
        return InputForm("state")
    function = _function_of(agent)
    if function and declared is Any:
        return _form_by_name(function)
    return InputForm("messages")


def _form_by_name(function: Any) -> InputForm:
    """Return the form of a function's input that has no annotation: its name says whether it is the conversation."""
    if _first_parameter(function).name == "messages":
        return InputForm("messages")
    return InputForm("text")


def _keys(agent: Runnable[Any, Any], declared: Any) -> list[str]:
    """Return the fields of an agent's input, by its type or its schema; none if it has no fields."""
    if _has_fields(declared):
        return list(get_type_hints(declared))
    if isinstance(agent, PregelProtocol):
        return []
    return list(_schema(agent).get("properties", {}))


def _has_fields(declared: Any) -> bool:
    """Return whether a type is a class with annotated fields."""
    if not isinstance(declared, type) or declared is dict:
        return False
    return bool(getattr(declared, "__annotations__", None))


def _takes_state(agent: Runnable[Any, Any], declared: Any) -> bool:
    """Return whether an agent whose fields are unknown takes a dict, and not a list of messages."""
    if isinstance(agent, PregelProtocol):
        # The function of an entrypoint without annotation takes what it is given.
        is_entrypoint = declared is Any and hasattr(agent, "channels")
        return not is_entrypoint
    if declared is dict or get_origin(declared) is dict:
        return True
    return not _has_fields(declared) and _schema(agent).get("type") == "object"


def _annotation(agent: Any) -> Any:
    """Return the type of a function's argument in a module with `from __future__ import annotations`.

    It stays a text if it has names that are defined for type checkers only.
    """
    return _first_parameter(_function_of(agent)).annotation


def _function_of(agent: Any) -> Any:
    """Return the function that takes an agent's input; None if there is none."""
    if isinstance(agent, Pregel):
        first: Any = next(iter(agent.nodes.values())).bound
    else:
        first = getattr(agent, "first", agent)
    return getattr(first, "func", None) or getattr(first, "afunc", None)


def _first_parameter(function: Any) -> Parameter:
    """Return the first parameter of a function; one without a name and a type if it is not known."""
    unknown = Parameter("_", Parameter.POSITIONAL_ONLY, annotation=Any)
    try:
        parameters = signature(function, eval_str=True).parameters
    except NameError:  # names that are defined for type checkers only
        parameters = signature(function).parameters
    except Exception:  # a builtin, or no function at all
        return unknown
    return next(iter(parameters.values()), unknown)


def _schema(agent: Runnable[Any, Any]) -> dict[str, Any]:
    try:
        return agent.get_input_jsonschema()
    except Exception:  # types that have no schema
        return {}
