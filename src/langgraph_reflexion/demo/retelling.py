"""What the demo model writes down where it has no insight of its own: what was done, and what was noted before."""

from collections.abc import Sequence

from langgraph_reflexion.demo.reading import sentences_of
from langgraph_reflexion.demo.transcript import Turn

STEPS, LETTERS = 8, 80
"""How many of the last steps it retells at most, and how many letters of each."""


def condensed(notes: Sequence[str]) -> str:
    """Several notes as one: what they say, each sentence once, the latest last."""
    sentences = [sentence for note in notes for sentence in sentences_of(note)]
    return " ".join(dict.fromkeys(reversed(dict.fromkeys(reversed(sentences)))))


def retold(turns: Sequence[Turn]) -> str:
    """What has led to success."""
    done = [" ".join(turn.action.split())[:LETTERS] for turn in turns if turn.action]
    return f"What worked, in this order: {'; '.join(done[-STEPS:]) or 'to hand it in at once'}."
