"""Replies as a small model would write them, in the worlds that the demo model does not know.

Each script fails a task's first trial, and solves the next one if its reflection is in the prompt.
"""

from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.lab.demo import DemoChatModel
from langgraph_reflexion.lab.demo.prompt import without_examples
from tests.support.scripts import programming, webshop, workspace

SCRIPTS = {
    "You write programs.": programming.reply,
    "You write tests for a program": programming.reply,
    "You shop for somebody": webshop.reply,
    "You work in a folder of files": workspace.reply,
}
"""The scripts by how the instruction of their world begins."""


def script_for(messages):
    """Return the script of a prompt's world; None where there is none."""
    for beginning, script in SCRIPTS.items():
        if messages[0].text.startswith(beginning):
            return script
    return None


def scripted(messages):
    """Reply to a prompt of one of the scripts' worlds."""
    script = script_for(messages)
    if messages[-1].text.rstrip().endswith((programming.TESTS, programming.REFLECTION)):
        # Examples come before it.
        return script([messages[0], messages[-1]])
    return script(without_examples(messages))


def unsure(messages):
    """Reply to a prompt that there is no script for."""
    if "Verdict: yes" in messages[0].text:
        return "I am not sure.\nVerdict: no"
    return "I am not sure. Next time I will try something else."


class SmallModel(DemoChatModel):
    """Plays every world: three by their scripts, two as the demo model, and is at a loss in the others."""

    worlds = (*DemoChatModel.worlds, "programming", "webshop", "workspace")

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        if script_for(messages):
            return _result(scripted(messages))
        try:
            return super()._generate(messages, stop, run_manager, **kwargs)
        except ConfigurationError:
            return _result(unsure(messages))


def _result(text):
    return ChatResult(generations=[ChatGeneration(message=AIMessage(text))])
