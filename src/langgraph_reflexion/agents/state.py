"""The state of a graph around an agent."""

from typing import Annotated, Any

from langchain_core.messages import AnyMessage
from langgraph.graph.message import add_messages
from typing_extensions import TypedDict

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.state import ReflexionState


class Attempt(TypedDict):
    """A trial of a wrapped agent."""

    messages: list[AnyMessage]
    """The messages that it added to the conversation."""
    ended: str
    """`terminated` by itself, `truncated` by a limit of its own; empty if it was stopped."""
    result: Any
    """Its result."""


class AgentState(ReflexionState, total=False):
    """The state of a graph whose actor is a whole agent.

    The input is `{"task": "Write a haiku."}`, or `{"messages": [...]}`, whose last human message is the task.
    """

    messages: Annotated[list[AnyMessage], add_messages]
    """The conversation around the task. The answer is added to it at the end."""
    attempt: Attempt | None
    """The current trial."""
    result: Any
    """The result of the best trial so far."""


def schema_for(agent: object, given: type[ReflexionState] | None) -> type[ReflexionState]:
    """Return the schema of the graph's state: `given`, or the one for an agent or an environment's actor.

    Raises:
        ConfigurationError: `given` lacks fields of that one.
    """
    base = AgentState if agent else ReflexionState
    schema = base if given is None else given
    if base.__annotations__.keys() - getattr(schema, "__annotations__", {}).keys():
        raise ConfigurationError(f"state_schema must be a subclass of {base.__name__}; got {given!r}")
    return schema
