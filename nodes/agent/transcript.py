"""An agent's messages as a trajectory: its calls are the actions, what its tools said are the observations."""

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from pydantic_core import to_jsonable_python

from langgraph_reflexion.envs.base import Action
from langgraph_reflexion.graph.state import Step
from langgraph_reflexion.nodes.react import LONGEST, call_text

ANSWERED = "That was the answer."
"""What follows a message that calls no tool."""


def steps_of(messages: Sequence[BaseMessage]) -> list[Step]:
    """The steps that an agent's messages tell of.

    Args:
        messages: What the agent added to the conversation, in order.
    """
    results = {message.tool_call_id: message for message in messages if isinstance(message, ToolMessage)}
    steps: list[Step] = []

    def add(thought: str, action: Action | None, observation: str) -> None:
        steps.append(Step(number=len(steps) + 1, thought=thought, action=action, observation=observation[:LONGEST]))

    for message in messages:
        if isinstance(message, ToolMessage):
            continue
        text = message.text.strip()[:LONGEST]
        if not isinstance(message, AIMessage):
            add("", None, text)
        elif not message.tool_calls:
            add(text, None, ANSWERED)
        for call in message.tool_calls if isinstance(message, AIMessage) else []:
            action = Action(
                name=call["name"], args=call["args"], text=call_text(call["name"], call["args"])[:LONGEST]
            )
            result = results.get(call["id"] or "")
            add(text, action, result.text if result else "(no result)")
            # What was said before several calls was said once.
            text = ""
    return steps


def result_of(output: Any, messages: Sequence[BaseMessage]) -> Any:
    """What came out of an agent: its structured response, its last AI message's text, or the output as it is.

    A structured response stands for the text, as plain data.

    Args:
        output: What the agent returned.
        messages: What it added to the conversation.
    """
    if isinstance(output, BaseMessage):
        return output.text
    if isinstance(output, dict) and output.get("structured_response") is not None:
        return to_jsonable_python(output["structured_response"])
    if isinstance(output, dict) and "messages" in output:
        return next((message.text for message in reversed(messages) if isinstance(message, AIMessage)), "")
    return output


def messages_in(output: Any, given: Sequence[BaseMessage]) -> list[BaseMessage]:
    """The messages that an agent added to those that it was given."""
    if isinstance(output, BaseMessage):
        return [output]
    known = {message.id for message in given}
    found = output.get("messages") if isinstance(output, dict) else None
    return [message for message in found or [] if isinstance(message, BaseMessage) and message.id not in known]
