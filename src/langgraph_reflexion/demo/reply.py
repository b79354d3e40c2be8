"""Replies of the demo model that are the same for all environments."""

from collections.abc import Sequence
from dataclasses import dataclass

from langchain_core.messages import AIMessage

from langgraph_reflexion.demo.prompt import Prompt, Turn, sentences_of


@dataclass(frozen=True)
class Act:
    """The next action, and the thought behind it."""

    thought: str
    name: str
    text: str
    known: bool = True
    """Whether it is based on something read."""


def reply(prompt: Prompt, thought: str, action: str, name: str, args: dict[str, str], *, in_text: bool) -> AIMessage:
    """Return a step as text or as a tool call."""
    if prompt.cue:
        return AIMessage(thought if prompt.cue == "Thought" else action)
    if in_text:
        return AIMessage(f"Thought: {thought}\nAction: {action}")
    call = {"name": name, "args": args, "id": f"demo_{len(prompt.turns)}", "type": "tool_call"}
    return AIMessage(thought, tool_calls=[call])


STEPS, LETTERS = 8, 80
"""Number of actions listed, and characters of each."""


def condensed(notes: Sequence[str]) -> str:
    """Join notes, with each sentence once, at its latest place."""
    sentences = [sentence for note in notes for sentence in sentences_of(note)]
    return " ".join(dict.fromkeys(reversed(dict.fromkeys(reversed(sentences)))))


def retold(turns: Sequence[Turn]) -> str:
    """List the last actions of a successful trial."""
    done = [" ".join(turn.action.split())[:LETTERS] for turn in turns if turn.action]
    return f"What worked, in this order: {'; '.join(done[-STEPS:]) or 'to hand it in at once'}."
