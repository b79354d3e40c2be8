"""The state of a graph around an agent."""

from typing import Annotated, Any, get_type_hints

from langchain_core.messages import AnyMessage
from langgraph.graph.message import add_messages
from pydantic import WithJsonSchema
from typing_extensions import TypedDict

from langgraph_reflexion.envs.base import Task
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


Messages = Annotated[
    list[AnyMessage],
    WithJsonSchema(
        {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"role": {"enum": ["user", "assistant", "system"]}, "content": {"type": "string"}},
                "required": ["role", "content"],
            },
        }
    ),
]
"""Messages whose JSON schema is the form that people write, and not all of LangChain's in 20 KB."""

OUTPUTS = ("evaluation", "reflections", "trials", "best", "messages", "result")
"""The fields that a node of another graph, or a server's tool, returns: none that another graph names, too, and means
something else by, such as `task` or `status`."""


def schemas_for(agent: object, given: type[ReflexionState] | None) -> dict[str, Any]:
    """Return the schemas of a graph: its state, `given` or the base's; its input; and its output.

    Raises:
        ConfigurationError: `given` lacks fields of the base, which depends on whether an agent is the actor.
    """
    base = AgentState if agent else ReflexionState
    schema = base if given is None else given
    fields = get_type_hints(schema, include_extras=True)
    if base.__annotations__.keys() - fields.keys():
        raise ConfigurationError(f"state_schema must be a subclass of {base.__name__}; got {given!r}")
    more = {name: hint for name, hint in fields.items() if name not in base.__annotations__}
    asked: dict[str, Any] = {"task": str | Task, "messages": Messages} if agent else {"task": Task}
    told = {name: Messages if name == "messages" else fields[name] for name in OUTPUTS if name in fields}
    return {
        "state_schema": schema,
        "input_schema": TypedDict("ReflexionInput", {**asked, **more}, total=False),  # type: ignore[operator]
        "output_schema": TypedDict("ReflexionOutput", {**told, **more}, total=False),  # type: ignore[operator]
    }
