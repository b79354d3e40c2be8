"""An agent's messages as a trajectory: its calls are the actions, what its tools said are the observations."""

import json
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from pydantic_core import to_jsonable_python

from langgraph_reflexion.actors.reply import LONGEST, call_text
from langgraph_reflexion.envs.base import Action
from langgraph_reflexion.models.calls import storable
from langgraph_reflexion.state import Step

ANSWERED = "That was the answer."
"""What follows a message that calls no tool."""


def steps_of(messages: Sequence[BaseMessage]) -> list[Step]:
    """The steps that an agent's messages tell of.

    Args:
        messages: What the agent added to the conversation, in order.
    """
    steps: list[Step] = []
    # Some servers give every call the same id: a result belongs to the last call of its id that has none.
    waiting: dict[str, Step] = {}

    def add(thought: str, action: Action | None, observation: str) -> Step:
        steps.append(
            Step(number=len(steps) + 1, thought=thought, action=action, observation=storable(observation)[:LONGEST])
        )
        return steps[-1]

    for message in messages:
        text = storable(message.text.strip())[:LONGEST]
        if isinstance(message, ToolMessage):
            if step := waiting.pop(message.tool_call_id, None):
                step["observation"] = text
        elif not isinstance(message, AIMessage):
            add("", None, text)
        elif not message.tool_calls:
            add(text, None, ANSWERED)
        else:
            for call in message.tool_calls:
                written = storable(call_text(call["name"], call["args"]))[:LONGEST]
                action = Action(name=call["name"], args=call["args"], text=written)
                waiting[call["id"] or ""] = add(text, action, "(no result)")
                # What was said before several calls was said once.
                text = ""
    return steps


def result_of(output: Any, messages: Sequence[BaseMessage]) -> Any:
    """What came out of an agent: its structured response, its last message's text, or the output as it is.

    What is no plain data, and could be in no checkpoint, is made some.

    Args:
        output: What the agent returned.
        messages: What it added to the conversation.
    """
    structured = output.get("structured_response") if isinstance(output, dict) else None
    if structured is not None:
        return _plain(structured)
    if isinstance(output, BaseMessage) or _talk(output) is not None:
        # The answer of a tool that returns directly is the last message, too.
        said = [message for message in messages if isinstance(message, AIMessage | ToolMessage)]
        return storable(said[-1].text) if said else ""
    return storable(output) if isinstance(output, str) else _plain(output)


def messages_in(output: Any, given: Sequence[BaseMessage]) -> list[BaseMessage]:
    """The messages that an agent added to those that it was given."""
    if isinstance(output, BaseMessage):
        return [output]
    known = {message.id for message in given}
    return [
        message
        for message in _talk(output) or []
        if isinstance(message, BaseMessage) and (message.id is None or message.id not in known)
    ]


def _talk(output: Any) -> list[Any] | None:
    """The messages of an output, if it has any to have."""
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
