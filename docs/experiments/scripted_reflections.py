"""Writes the reflections of `tiny.toml` by rules, for comparison: it is not a language model."""

from langchain_core.messages import BaseMessage

from langgraph_reflexion.testing import ScriptedChatModel


def reflect(messages: list[BaseMessage]) -> str:
    """Name what is right, in the words of the examples."""
    _, wrong, shown = messages[-1].text.rpartition("Observation: Wrong. The ")
    if not wrong:
        return "I gave no answer in the right form. Next time I will write answer[word]."
    right = shown.partition(".")[0]
    return f"The {right}. Next time I will answer {right.split()[-1]}."


model = ScriptedChatModel(replies=reflect)
