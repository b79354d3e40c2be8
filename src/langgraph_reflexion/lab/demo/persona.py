"""Habits of the demo model, mistakes that it repeats on a task until a reflection names them, and its replies."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import NamedTuple

from langchain_core.messages import AIMessage

from langgraph_reflexion.lab.demo.prompt import ParsedPrompt, sentences_of

LUCK = 0.03
"""Probability of avoiding a slip by chance."""


def habit(task: str, what: str) -> float:
    """Return a number from 0 to 1 that belongs to a task and a slip, and is the same in every trial."""
    # The hash of Python differs from process to process.
    named = f"{task}\n{what}".encode()
    digest = hashlib.blake2b(named, digest_size=6).digest()
    return int.from_bytes(digest, "big") / 2**48


def slips_at(task: str, often: Mapping[str, float], rng: Random) -> Callable[[str], bool]:
    """Return a function that says whether it makes a slip now, by the slip's name.

    `often` is the share of tasks with each slip.
    """

    def slips(slip: str) -> bool:
        if habit(task, slip) >= often[slip]:
            return False
        return rng.random() >= LUCK

    return slips


class Act(NamedTuple):
    """A thought, and an action as a tool call and as text."""

    thought: str
    name: str
    args: dict[str, str]
    text: str


def reply(prompt: ParsedPrompt, act: Act, *, in_text: bool) -> AIMessage:
    """Return an action as text or as a tool call."""
    if prompt.cue == "Thought":
        return AIMessage(act.thought)
    if prompt.cue:
        return AIMessage(act.text)
    if in_text:
        return AIMessage(f"Thought: {act.thought}\nAction: {act.text}")
    call = {
        "name": act.name,
        "args": act.args,
        "id": f"demo_{len(prompt.turns)}",
        "type": "tool_call",
    }
    return AIMessage(act.thought, tool_calls=[call])


def condensed(notes: Sequence[str]) -> str:
    """Join notes, with each sentence once, at its latest place."""
    sentences: list[str] = []
    for note in notes:
        sentences += sentences_of(note)
    # A dictionary keeps the first of equal keys, which is the latest when the sentences are read backwards.
    from_the_end = dict.fromkeys(reversed(sentences))
    return " ".join(reversed(from_the_end))
