"""Writes the reflections of `tiny.toml` by rules, for comparison: it is not a language model."""

import re

from langchain_core.messages import BaseMessage

from langgraph_reflexion.testing import ScriptedChatModel


def reflect(messages: list[BaseMessage]) -> str:
    """Name the wrong answer and the right one, in the words of the examples."""
    trial = messages[-1].text
    answered, wrong, shown = trial.rpartition("Observation: Wrong. The ")
    if not wrong:
        return "I gave no answer in the right form. Next time I will write answer[word]."
    right = shown.partition(".")[0]
    answer = re.findall(r"answer\[(.*?)\]", answered)[-1]
    return f"I answered {answer}, and the {right}. Next time I will answer {right.split()[-1]}."


model = ScriptedChatModel(replies=reflect)
