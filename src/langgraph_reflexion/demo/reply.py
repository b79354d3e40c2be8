"""Replies of the demo model that are the same for all environments."""

from collections.abc import Sequence
from typing import NamedTuple

from langchain_core.messages import AIMessage

from langgraph_reflexion.demo.prompt import Prompt, Turn


class Act(NamedTuple):
    """A thought, and an action as a tool call and as text."""

    thought: str
    name: str
    args: dict[str, str]
    text: str


def reply(prompt: Prompt, act: Act, *, in_text: bool) -> AIMessage:
    """Return an action as text or as a tool call."""
    if prompt.cue:
        return AIMessage(act.thought if prompt.cue == "Thought" else act.text)
    if in_text:
        return AIMessage(f"Thought: {act.thought}\nAction: {act.text}")
    call = {"name": act.name, "args": act.args, "id": f"demo_{len(prompt.turns)}", "type": "tool_call"}
    return AIMessage(act.thought, tool_calls=[call])


STEPS, LETTERS = 8, 80
"""Number of actions listed, and characters of each."""


def retold(turns: Sequence[Turn]) -> str:
    """List the last actions of a successful trial."""
    done = [" ".join(turn.action.split())[:LETTERS] for turn in turns if turn.action]
    return f"What worked, in this order: {'; '.join(done[-STEPS:]) or 'to hand it in at once'}."
