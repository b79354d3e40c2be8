"""An agent's messages as a trajectory: tool calls are the actions, tool results the observations."""

import itertools
import json
from collections.abc import Collection, Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, ToolMessage, convert_to_messages
from pydantic import TypeAdapter
from pydantic_core import to_jsonable_python

from langgraph_reflexion.actors.reply import LONGEST, call_text
from langgraph_reflexion.envs.base import Action
from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.models.limits import is_cut
from langgraph_reflexion.state import Step
from langgraph_reflexion.support.text import plain, sanitize

ANSWERED = "That was the answer."
"""The observation after a message that calls no tool."""

_SERVED: TypeAdapter[BaseMessage] = TypeAdapter(AnyMessage)


def steps_of(messages: Sequence[BaseMessage]) -> list[Step]:
    """Return the steps of an agent's messages."""
    steps: list[Step] = []
    # Some servers give all calls the same id: a result belongs to the last open call of its id.
    waiting: dict[str, Step] = {}

    def add(thought: str, action: Action | None, observation: str) -> Step:
        steps.append(
            Step(number=len(steps) + 1, thought=thought, action=action, observation=sanitize(observation)[:LONGEST])
        )
        return steps[-1]

    for message in messages:
        text = sanitize(message.text.strip())[:LONGEST]
        if isinstance(message, ToolMessage):
            if step := waiting.pop(message.tool_call_id, None):
                step["observation"] = text
            else:
                add("", None, text)
        elif not isinstance(message, AIMessage):
            add("", None, text)
        elif not message.tool_calls:
            add(text, None, ANSWERED)
        else:
            for call in message.tool_calls:
                written = sanitize(call_text(call["name"], call["args"]))[:LONGEST]
                action = Action(name=sanitize(call["name"]), args=as_plain(call["args"]), text=written)
                waiting[call["id"] or ""] = add(text, action, "(no result)")
                text = ""  # the thought precedes the first of several calls
    return steps


def result_of(output: Any, messages: Sequence[BaseMessage]) -> Any:
    """Return an agent's result as JSON-like data: its structured response, its last message's text, or its output."""
    structured = output.get("structured_response") if isinstance(output, dict) else None
    if structured is not None:
        return as_plain(structured)
    if _talk(output) is not None:
        # A tool with `return_direct` leaves the answer in a tool message.
        said = [message for message in messages if isinstance(message, AIMessage | ToolMessage)]
        return sanitize(said[-1].text) if said else ""
    return sanitize(output) if isinstance(output, str) else as_plain(output)


def is_cut_off(messages: Sequence[BaseMessage]) -> bool:
    """Return whether the model reached the limit of a reply in the middle of its answer."""
    replies = [message for message in messages if isinstance(message, AIMessage)]
    return bool(replies) and is_cut(replies[-1])


def state_of(output: Any, own_keys: Collection[str]) -> dict[str, Any]:
    """Return an agent's state without its messages; empty if its output is no state.

    The values of its own keys, which a caller may give, are returned as they are; others as JSON-like data.
    """
    if not isinstance(output, dict):
        return {}
    rest = {str(key): value for key, value in output.items() if key != "messages"}
    return {key: value if key in own_keys else as_plain(value) for key, value in rest.items()}


def messages_in(
    output: Any, given: Sequence[BaseMessage], sent: Sequence[BaseMessage] = ()
) -> dict[str, BaseMessage]:
    """Return the messages that an agent added to the given ones, by their ids, or by their places if they have none.

    Args:
        output: The agent's output.
        given: The conversation that it was given, with ids.
        sent: Its input as messages. One that was built by `make_input` has no ids, and is known by place and text.

    Raises:
        ConfigurationError: the output has `messages` that are not messages.
    """
    known = {message.id or f"#{place}" for place, message in enumerate(given)}
    said = {message.id or f"#{place}": message for place, message in enumerate(_talk(output) or [])}
    added = {}
    # What comes after a message of the agent's own was not sent, even if it says the same as one in its place.
    leading = True
    for place, (key, message) in enumerate(said.items()):
        was_sent = place < len(sent) and (message.type, message.text) == (sent[place].type, sent[place].text)
        leading = leading and (was_sent or key in known)
        if key not in known and not leading:
            added[key] = message
    return added


def kept_of(output: Any, given: Sequence[BaseMessage]) -> list[BaseMessage] | None:
    """Return what an agent has left of the conversation before its task, such as a summary; None if it left all.

    Args:
        output: The agent's output.
        given: The conversation that it was given, the task last. Messages without ids are not looked for.
    """
    if not given:
        return None
    *before, task = given
    said = (_talk(output) or []) if isinstance(output, dict) else []
    there = {message.id for message in said}
    known = {message.id for message in before if message.id}
    if not known - there:
        return None
    places = [place for place, message in enumerate(said) if message.id == task.id]
    if places:
        return said[: places[0]]
    # A summary contains the task as well. Some graphs return only their answer, which is not a summary.
    leading = list(itertools.takewhile(lambda message: not isinstance(message, AIMessage | ToolMessage), said))
    return leading or None


def _talk(output: Any) -> list[BaseMessage] | None:
    """Return the messages in an output, which may be dicts; None if it is something else."""
    if isinstance(output, BaseMessage):
        return [output]
    if isinstance(output, dict) and "messages" in output:
        found = output["messages"]
        return [as_message(each) for each in (found if isinstance(found, list | tuple) else [found])]
    if isinstance(output, list) and any(map(is_message, output)):
        return [as_message(each) for each in output]
    return None


def is_message(value: Any) -> bool:
    """Return whether a value is a message, or a dict in the form of one."""
    if isinstance(value, dict):
        return ("role" in value or "type" in value) and "content" in value
    return isinstance(value, BaseMessage)


def as_message(value: Any) -> BaseMessage:
    """Return a message, which may be a dict in the form of one.

    Raises:
        ConfigurationError: it cannot be read.
    """
    if isinstance(value, BaseMessage):
        return value
    try:
        # As LangGraph's server sends it, with usage; or as OpenAI writes it.
        return _SERVED.validate_python(value) if "type" in value else convert_to_messages([value])[0]
    except (ValueError, TypeError, NotImplementedError) as error:
        raise ConfigurationError(f"the agent's messages cannot be read: {value!r:.200} is not a message") from error


def as_plain(value: Any) -> Any:
    """Return a value as JSON-like data."""
    try:
        json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        try:
            value = to_jsonable_python(value, fallback=str)
        except ValueError:
            return sanitize(str(value)[:LONGEST])
    return plain(value)
