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
        got = f"the class {agent.__name__}" if isinstance(agent, type) else type(agent).__name__
        hint = ": compile it first" if isinstance(agent, StateGraph) else ""
        raise ConfigurationError(
            f"an agent is a compiled graph, another runnable or a function of its input; got {got}{hint}"
        )
    check_call("the agent's function", agent, "input")
    if iscoroutinefunction(agent) or iscoroutinefunction(getattr(agent, "__call__", None)):  # noqa: B004

        @wraps(agent, updated=())  # LangChain reads the signature
        def blocking(*args: Any, **named: Any) -> Any:
            return run_blocking(agent(*args, **named))

        return RunnableLambda(blocking, afunc=agent)
    return RunnableLambda(agent)


def check_call(name: str, function: Callable[..., Any], *given: str) -> None:
    """Check that a function takes these positional arguments, besides those that `RunnableLambda` passes by name.

    Raises:
        ConfigurationError: it does not.
    """
    try:
        found = signature(function)
    except (TypeError, ValueError):  # a builtin
        return
    passed = [each for each in found.parameters.values() if each.name not in ("config", "run_manager")]
    try:
        found.replace(parameters=passed).bind(*given)
    except TypeError:
        needed = ", ".join(each.name for each in passed if each.default is Parameter.empty) or "no arguments"
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
    if isinstance(declared, str):
        declared = _annotation(agent)
    graph = isinstance(agent, PregelProtocol)
    if declared is str:
        return InputForm("text")
    if get_origin(declared) is list or declared is list:
        return InputForm("messages")
    fields = isinstance(declared, type) and declared is not dict and getattr(declared, "__annotations__", None)
    schema = {} if graph or fields else _schema(agent)
    keys = list(get_type_hints(declared) if fields else schema.get("properties", {}))
    if "messages" in keys:
        return InputForm("state", keys=tuple(key for key in keys if key != "messages"))
    if len(keys) == 1:
        return InputForm("field", keys[0])
    if keys:
        raise ConfigurationError(
            f"the agent's input has the fields {', '.join(keys)}: say how to fill them with "
            "WrappedAgent(agent, make_input=lambda task, lessons: {...})"
        )
    known = graph and declared is Any and hasattr(agent, "channels")  # an entrypoint without annotation
    takes_dict = graph or declared is dict or get_origin(declared) is dict or schema.get("type") == "object"
    return InputForm("state" if takes_dict and not known else "messages")


def _annotation(agent: Any) -> Any:
    """Return the type of a function's argument in a module with `from __future__ import annotations`."""
    first = next(iter(agent.nodes.values())).bound if isinstance(agent, Pregel) else getattr(agent, "first", agent)
    function: Any = getattr(first, "func", None) or getattr(first, "afunc", None)
    try:
        return next(iter(signature(function, eval_str=True).parameters.values())).annotation
    except Exception:  # names that are defined for type checkers only
        return Any


def _schema(agent: Runnable[Any, Any]) -> dict[str, Any]:
    try:
        return agent.get_input_jsonschema()
    except Exception:  # types that have no schema
        return {}
