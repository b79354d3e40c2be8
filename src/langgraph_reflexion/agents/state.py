"""The state of a graph around an agent."""

from collections.abc import Sequence
from typing import Annotated, Any, NotRequired, Protocol, Required, get_args, get_origin, get_type_hints

from langchain_core.messages import AnyMessage
from langgraph.channels.base import BaseChannel
from pydantic import BaseModel
from typing_extensions import TypedDict

from langgraph_reflexion.envs.base import Task
from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.loop.context import ReflexionContext
from langgraph_reflexion.models.messages import Conversation
from langgraph_reflexion.state import ReflexionState


class WithKeys(Protocol):
    """An agent with a state of its own."""

    @property
    def keys(self) -> Sequence[str]:
        """The keys of its state, besides its messages, that a caller may give."""


class BestAttempt(TypedDict):
    """What the best trial so far left."""

    state: dict[str, Any]
    """The agent's state."""
    world: dict[str, Any] | None
    """The saved `World`, if there is one."""
    answer: str | None
    """The id of the message that is its result."""
    kept: NotRequired[list[AnyMessage] | None]
    """What it has left of the conversation before the task; None if that is whole."""


class WrappedAgentState(ReflexionState, total=False):
    """The state of a graph whose actor is a whole agent.

    The input is `{"task": "Write a haiku."}`, or `{"messages": [...]}`, whose last human message is the task.
    """

    start: dict[str, Any]
    """The agent's own state as the caller gave it, with which every trial begins."""
    best_attempt: BestAttempt | None


OUTPUTS = ("evaluation", "reflections", "trials", "best", "messages", "result")
"""The fields that a node of another graph, or a server's tool, returns: none that another graph names, too, and means
something else by, such as `task` or `status`."""


def schemas_for(agents: Sequence[WithKeys], given: type[ReflexionState] | None) -> dict[str, Any]:
    """Return the schemas of a graph: its state, `given` or the base's; its input, output and context.

    Keys of the agents' own state are added, so that they are passed in and out.

    Args:
        agents: The agents of the trials; none in an environment.
        given: The state's schema; the base's if None.

    Raises:
        ConfigurationError: `given` lacks fields of the base, which depends on whether an agent is the actor.
    """
    base: type[ReflexionState] = ReflexionState
    if agents:
        base = WrappedAgentState
    schema: Any = base
    if given is not None:
        schema = given
    fields = get_type_hints(schema, include_extras=True)
    if base.__annotations__.keys() - fields.keys():
        raise ConfigurationError(f"state_schema must be a subclass of {base.__name__}; got {given!r}")
    # LangGraph ignores input for which the state has no field.
    missing: list[str] = []
    for agent in agents:
        missing += [key for key in agent.keys if key not in fields]
    if missing:
        fields.update(dict.fromkeys(missing, Any))
        schema = TypedDict("StateOfAgent", fields, total=False)  # type: ignore[misc,no-redef]
    asked: dict[str, Any] = {"task": str | Task, "messages": Conversation}
    shown = {name: fields[name] for name in OUTPUTS}
    for name in own_keys(schema, base):
        asked[name] = fields[name]
        shown[name] = fields[name]
    return {
        "state_schema": schema,
        "input_schema": TypedDict("ReflexionInput", asked, total=False),  # type: ignore[operator]
        "context_schema": _context_of(agents),
        "output_schema": TypedDict("ReflexionOutput", shown, total=False),  # type: ignore[operator]
    }


def _context_of(agents: Sequence[WithKeys]) -> Any:
    """Return the context's schema: an agent is run with the context of the graph, so the first one's own decides."""
    for agent in agents:
        wrapped = getattr(agent, "agent", None)
        context = getattr(wrapped, "context_schema", None)
        if context:
            return context
    return ReflexionContext


def own_keys(schema: type[ReflexionState], base: type[ReflexionState] = WrappedAgentState) -> dict[str, bool]:
    """Return the keys of a graph's state that are the agent's own, and whether each has a reducer."""
    hints = get_type_hints(schema, include_extras=True)
    return {key: has_reducer(hint) for key, hint in hints.items() if key not in base.__annotations__}


def copied(value: Any) -> Any:
    """Return a copy of dicts, lists and pydantic objects, which an agent may change in place; others are shared."""
    # Not `deepcopy`, which fails where a value holds a lock or a connection.
    if isinstance(value, BaseModel):
        return value.model_copy(deep=True)
    if isinstance(value, dict):
        return {key: copied(each) for key, each in value.items()}
    if isinstance(value, list):
        return [copied(each) for each in value]
    return value


def has_reducer(hint: Any) -> bool:
    """Return whether what is written to a key of this type is merged with what is there."""
    parts = get_args(hint)
    if get_origin(hint) in (NotRequired, Required):
        return has_reducer(parts[0])
    if get_origin(hint) is not Annotated:
        return False
    for note in parts[1:]:
        if isinstance(note, BaseChannel) or callable(note):
            return True
    return has_reducer(parts[0])
