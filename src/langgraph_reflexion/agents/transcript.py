"""An agent's messages as a trajectory: tool calls are the actions, tool results the observations."""

import json
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from pydantic_core import to_jsonable_python

from langgraph_reflexion.actors.reply import LONGEST, call_text
from langgraph_reflexion.envs.base import Action
from langgraph_reflexion.models.calls import sanitize
from langgraph_reflexion.state import Step

ANSWERED = "That was the answer."
"""The observation after a message that calls no tool."""


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
        elif not isinstance(message, AIMessage):
            add("", None, text)
        elif not message.tool_calls:
            add(text, None, ANSWERED)
        else:
            for call in message.tool_calls:
                written = sanitize(call_text(call["name"], call["args"]))[:LONGEST]
                action = Action(name=call["name"], args=call["args"], text=written)
                waiting[call["id"] or ""] = add(text, action, "(no result)")
                text = ""  # the thought precedes the first of several calls
    return steps


def result_of(output: Any, messages: Sequence[BaseMessage]) -> Any:
    """Return an agent's result as JSON-like data: its structured response, its last message's text, or its output."""
    structured = output.get("structured_response") if isinstance(output, dict) else None
    if structured is not None:
        return _plain(structured)
    if isinstance(output, BaseMessage) or _talk(output) is not None:
        # A tool with `return_direct` leaves the answer in a tool message.
        said = [message for message in messages if isinstance(message, AIMessage | ToolMessage)]
        return sanitize(said[-1].text) if said else ""
    return sanitize(output) if isinstance(output, str) else _plain(output)


def messages_in(output: Any, given: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Return the messages that an agent added to the given ones."""
    if isinstance(output, BaseMessage):
        return [output]
    known = {message.id for message in given}
    return [
        message
        for message in _talk(output) or []
        if isinstance(message, BaseMessage) and (message.id is None or message.id not in known)
    ]


def _talk(output: Any) -> list[Any] | None:
    """Return the list of messages in an output, or None if it has no such list."""
    found = output.get("messages") if isinstance(output, dict) else output
    if isinstance(found, list) and (isinstance(output, dict) or any(isinstance(each, BaseMessage) for each in found)):
        return found
    return None


def _plain(value: Any) -> Any:
    try:
        json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        try:
            return to_jsonable_python(value, fallback=str)
        except ValueError:
            return str(value)[:LONGEST]
    return value
