"""The state of a graph around an agent."""

from typing import Annotated, Any

from langchain_core.messages import AnyMessage
from langgraph.graph.message import add_messages
from typing_extensions import TypedDict

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.state import ReflexionState


class Attempt(TypedDict):
    """What a wrapped agent did in a trial, before it is a trajectory."""

    messages: list[AnyMessage]
    """What it added to the conversation."""
    ended: str
    """`terminated` where it came to its end, `truncated` by a limit of its own; empty where it was stopped."""
    result: Any
    """What came out of it."""


class AgentState(ReflexionState, total=False):
    """The state of a graph whose actor is a whole agent.

    To begin, give `{"task": "what is to be done"}`, or `{"messages": [...]}`, the last human message being the task.
    """

    messages: Annotated[list[AnyMessage], add_messages]
    """The conversation around the task. The answer is added to it when the task is finished."""
    attempt: Attempt | None
    """What the agent did in the current trial."""
    result: Any
    """What came out of the best trial so far."""


def schema_for(agent: object, given: type[ReflexionState] | None) -> type[ReflexionState]:
    """Return the graph's state: the one that was given, with all fields of the graph's own.

    Args:
        agent: The agent; None for an environment's actor.
        given: The state that was given, if any.

    Raises:
        ConfigurationError: it lacks some of the fields.
    """
    base = AgentState if agent else ReflexionState
    schema = base if given is None else given
    if base.__annotations__.keys() - getattr(schema, "__annotations__", {}).keys():
        raise ConfigurationError(f"state_schema must be a subclass of {base.__name__}; got {given!r}")
    return schema
