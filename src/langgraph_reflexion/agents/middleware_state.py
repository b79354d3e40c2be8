"""The state of an agent with the middleware: its task, and the keys that every trial begins with afresh."""

import time
from collections.abc import Awaitable, Callable, Mapping
from importlib.util import find_spec
from typing import Annotated, Any, NotRequired, TypedDict, cast, get_type_hints

from langchain.agents.middleware.todo import PlanningState
from langchain.agents.middleware.types import AgentState, PrivateStateAttr
from langchain_core.messages import AnyMessage
from langchain_core.runnables import RunnableConfig
from langgraph.types import Overwrite

from langgraph_reflexion.agents.state import WrappedAgentState, copied, has_reducer
from langgraph_reflexion.loop.events import emit
from langgraph_reflexion.state import Update, with_trials

FRAME = ("messages", "jump_to", "structured_response", "reflexion")
"""The keys that every agent of `create_agent` has, and the middleware's own."""


class MiddlewareState(TypedDict):
    """The task of the last human message. Kept in the agent's state, but not in its input and output."""

    given: list[AnyMessage]
    """The conversation up to the task, with which every trial begins."""
    trials: WrappedAgentState
    """The state of the graph's nodes: trial, memory, evaluation."""
    best: list[AnyMessage]
    """The messages of the best trial so far."""
    best_response: Any
    """The structured response of the best trial, if the agent has one."""
    unjudged_response: Any
    """That of a trial whose evaluation a fault has prevented."""
    called: bool
    """Whether the model was called in the current trial."""
    over: bool
    """Whether the trial is over, and the next one is still to begin."""
    clock: float
    """When the trial's seconds were last counted."""
    model: NotRequired[str]
    """The name under which the middleware knows the model that the agent has called."""


class ReflexionAgentState(AgentState[Any]):
    """The state of an agent with this middleware."""

    reflexion: NotRequired[Annotated[MiddlewareState, PrivateStateAttr]]


def is_unjudged(trials: WrappedAgentState) -> bool:
    """Return whether the task ended because the evaluation of an answer failed, which is then kept as the attempt."""
    if trials["status"] != "fault" or trials["stop_reason"] in ("budget", "fault"):
        return False
    return bool(trials.get("attempt"))


async def after_node(
    name: str,
    node: Callable[[Any, RunnableConfig], Awaitable[Update]],
    state: WrappedAgentState,
    config: RunnableConfig,
) -> WrappedAgentState:
    """Run a node of the graph outside the graph, and return the state after it.

    Args:
        name: The node's name, for the events of its update.
        node: The node.
        state: The state before the node.
        config: The config in which the node is called.
    """
    after: dict[str, Any] = dict(state)
    update = await node(state, config)
    emit(name, state, update)
    # As LangGraph would apply the update.
    for key, value in update.items():
        if isinstance(value, Overwrite):
            after[key] = value.value
        elif key == "trials":
            after[key] = with_trials(state["trials"], value)
        else:
            after[key] = value
    # The agent's own state holds the messages.
    after.pop("messages", None)
    return cast(WrappedAgentState, after)


def after_trial(own: MiddlewareState, trials: WrappedAgentState, response: Any) -> MiddlewareState:
    """Return the task's state after a trial, which is kept only if it could not be evaluated.

    Args:
        own: The task's state before.
        trials: The state of the graph's nodes after the trial.
        response: The trial's structured response.
    """
    kept_response = None
    if is_unjudged(trials):
        kept_response = response
    else:
        # The messages of the best trial are kept apart from it.
        trials = trials | WrappedAgentState(attempt=None)
    return {
        **own,
        "trials": trials | WrappedAgentState(seconds=seconds_until(own, trials)),
        "unjudged_response": kept_response,
        "called": False,
        "over": True,
        "clock": time.time(),
    }


def seconds_until(own: MiddlewareState, trials: WrappedAgentState) -> float:
    """Return the seconds of a task until now, where those until `own["clock"]` have been counted."""
    return trials["seconds"] + time.time() - own["clock"]


def at_evaluation(own: MiddlewareState) -> MiddlewareState | None:
    """Return the state in which the evaluation that a fault has prevented comes next; None if there is none."""
    trials = own["trials"]
    if not is_unjudged(trials):
        return None
    # Its record, which says that it could not be evaluated, is written anew.
    earlier = trials["trials"][:-1]
    again = trials | WrappedAgentState(status="running", fault="", trials=earlier)
    return {**own, "trials": again, "called": True, "over": False, "clock": time.time()}


class PrivateState:
    """The keys of an agent's state that every trial begins with as the caller gave them.

    Args:
        schema: The agent's own state. Those of to-do lists and of a deep agent's files are known.
    """

    def __init__(self, schema: type | None = None) -> None:
        hints = get_type_hints(PlanningState, include_extras=True)
        if schema:
            hints |= get_type_hints(schema, include_extras=True)
        self.reduced: dict[str, bool] = {}
        if find_spec("deepagents"):
            # A deep agent's files have a reducer. The package is slow to import, and most agents are none.
            self.reduced["files"] = True
        for key, hint in hints.items():
            if key not in FRAME:
                self.reduced[key] = has_reducer(hint)

    def of(self, state: Mapping[str, Any]) -> dict[str, Any]:
        return {key: state[key] for key in self.reduced if key in state}

    def update(self, values: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
        """Return the update of the state `now` after which it has these values, and its other keys are empty."""
        # Nothing takes a key out of a graph's state, so one that came during the trial is emptied.
        wanted = {key: _empty(value) for key, value in self.of(now).items()}
        wanted |= self.of(values)
        update: dict[str, Any] = {}
        for key, value in wanted.items():
            if key in now and now[key] == value:
                continue
            # An agent may change it in place.
            given = copied(value)
            update[key] = given
            if self.reduced[key]:
                # A reducer would merge it with what is there.
                update[key] = Overwrite(given)
        return update


def _empty(value: Any) -> Any:
    """Return the empty value of the same type; None if there is none."""
    if isinstance(value, dict | list | set | tuple | str | int | float):
        return type(value)()
    return None
