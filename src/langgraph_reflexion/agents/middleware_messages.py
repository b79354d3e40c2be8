"""What the middleware makes of an agent's conversation: the lessons after the task, and the answer at its end."""

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, RemoveMessage
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from langgraph_reflexion.agents.middleware_state import MiddlewareState, PrivateState, ReflexionAgentState
from langgraph_reflexion.agents.nodes import NO_ANSWER
from langgraph_reflexion.agents.wrapped import followed_by, has_called_tools
from langgraph_reflexion.loop.conversation import outcome_of
from langgraph_reflexion.state import Update


def conversation_update(messages: Sequence[BaseMessage]) -> Update:
    """Return the update after which the conversation is these messages."""
    # LangGraph adds messages to those that are there, unless these are removed first.
    return {"messages": [RemoveMessage(REMOVE_ALL_MESSAGES), *messages]}


def abandoned(own: MiddlewareState, private: PrivateState, state: ReflexionAgentState) -> Update | None:
    """End the task at a trial that other middleware ended before its first model call, such as a limit of calls."""
    trials = own["trials"]
    last = trials["trial"]
    if not own["over"]:
        # The current one has not begun.
        last -= 1
    # Not even the first trial has begun, so what the other middleware has said stands.
    if last == 0:
        return None
    ended = trials.copy()
    ended["trial"] = last
    ended["status"] = "failed"
    own = own.copy()
    own["trials"] = ended
    update = finished(own, private, state, is_last=False)
    update["reflexion"] = own
    return update


def finished(own: MiddlewareState, private: PrivateState, state: ReflexionAgentState, *, is_last: bool) -> Update:
    """Make the best trial the answer. The messages of the last one are in the conversation already."""
    trials = own["trials"]
    outcome = outcome_of(trials, trials)
    messages, answer = with_outcome(own["best"], outcome)
    if is_last:
        # LangGraph puts it in place of the message with the same id.
        return {"messages": [answer]}
    update = conversation_update([*own["given"], *messages])
    best = trials.get("best_attempt")
    if best:
        update.update(private.update(best["state"], state))
    # An agent without one has no such field.
    responds = state.get("structured_response") is not None
    if responds or own["best_response"] is not None:
        update["structured_response"] = own["best_response"]
    return update


def with_outcome(messages: Sequence[AnyMessage], outcome: dict[str, Any]) -> tuple[list[AnyMessage], AIMessage]:
    """Return the messages with the outcome in the last AI message's metadata, and that message."""
    shown = list(messages)
    for index in reversed(range(len(shown))):
        message = shown[index]
        if isinstance(message, AIMessage):
            metadata = dict(message.response_metadata)
            metadata["reflexion"] = outcome
            answer = message.model_copy(update={"response_metadata": metadata})
            shown[index] = answer
            return shown, answer
    said = outcome["fault"] or NO_ANSWER
    answer = AIMessage(said, response_metadata={"reflexion": outcome})
    shown.append(answer)
    return shown, answer


def after_task(own: MiddlewareState, messages: Sequence[AnyMessage], lessons: str) -> list[AnyMessage]:
    """Return an agent's messages with the lessons after the task, which is the last of the user's messages.

    Args:
        own: The task's state, with the conversation with which it began.
        messages: The conversation that the model is about to see.
        lessons: The text on earlier trials and other tasks.
    """
    ids = [message.id for message in own["given"] if isinstance(message, HumanMessage)]
    if not ids:
        return [HumanMessage(lessons), *messages]
    shown = list(messages)
    once = has_called_tools(own["trials"])
    for place, message in enumerate(shown):
        if isinstance(message, HumanMessage) and message.id == ids[-1]:
            shown[place] = followed_by(message, lessons, once=once)
            return shown
    # Other middleware may have put a summary in its place.
    return [HumanMessage(lessons), *shown]
