"""A task on its way through the trials of an agent that is not ours: how it stands, and what the agent is told."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypedDict, cast

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, RemoveMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.types import Overwrite

from langgraph_reflexion.agents.nodes import NO_ANSWER, outcome_of
from langgraph_reflexion.agents.state import AgentState as Trials
from langgraph_reflexion.state import Update, with_trials


class Course(TypedDict):
    """How the task of the last human message stands. Kept in the agent's state, out of its input and output."""

    given: list[AnyMessage]
    """The conversation up to the task: what every trial begins with."""
    trials: Trials
    """What the nodes of the graph know of the task: its trial, its memory, its verdicts."""
    best: list[AnyMessage]
    """What the agent said and did in the best trial so far."""
    best_response: Any
    """The structured response of the best trial, where the agent has such."""
    called: bool
    """Whether the model was called in the current trial."""
    introduce: bool
    """Whether the next model call is only to say which model the agent has."""


async def after(
    node: Callable[[Any, RunnableConfig], Awaitable[Update]], trials: Trials, config: RunnableConfig
) -> Trials:
    """How a task stands after one of the graph's nodes, called outside the graph.

    Args:
        node: The node.
        trials: How the task stands before.
        config: The config that the node is called with.
    """
    written: dict[str, Any] = {}
    for key, value in (await node(trials, config)).items():
        if isinstance(value, Overwrite):
            written[key] = value.value
        else:
            written[key] = with_trials(trials["trials"], value) if key == "trials" else value
    return cast(Trials, {key: value for key, value in {**trials, **written}.items() if key != "messages"})


def conversation(messages: Sequence[BaseMessage]) -> Update:
    """These messages in the place of all that were there."""
    return {"messages": [RemoveMessage(REMOVE_ALL_MESSAGES), *messages]}


def cut_short(course: Course) -> Update | None:
    """What to do about a trial that something else ended before it began: a limit of calls, or a guard."""
    trials = course["trials"]
    if trials["trial"] == 1:
        return None
    trials = trials | Trials(trial=trials["trial"] - 1, status="failed")
    return ended(course, trials, last=False) | {"reflexion": {**course, "trials": trials}}


def ended(course: Course, trials: Trials, *, last: bool) -> Update:
    """The best attempt as the answer; where it is the last one, it is there already."""
    told, answer = _told(course["best"], outcome_of(trials, trials))
    if last:
        return {"messages": [answer]}
    structured = course["best_response"]
    return conversation([*course["given"], *told]) | (
        {} if structured is None else {"structured_response": structured}
    )


def _told(messages: Sequence[AnyMessage], outcome: dict[str, Any]) -> tuple[list[AnyMessage], AIMessage]:
    """The messages with the outcome in the last AI message's metadata, and that one."""
    told = list(messages)
    spoken = [index for index, message in enumerate(told) if isinstance(message, AIMessage)]
    if not spoken:
        answer = AIMessage(outcome["fault"] or NO_ANSWER, response_metadata={"reflexion": outcome})
        return [*told, answer], answer
    last = cast(AIMessage, told[spoken[-1]])
    metadata = {**last.response_metadata, "reflexion": outcome}
    answer = told[spoken[-1]] = last.model_copy(update={"response_metadata": metadata})
    return told, answer
