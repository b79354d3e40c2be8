"""Replies as a small model would write them, in the worlds that the demo model does not know.

Each script fails a task's first trial, and solves the next one if its reflection is in the prompt.
"""

from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from langgraph_reflexion.lab.demo import DemoChatModel
from langgraph_reflexion.lab.demo.prompt import without_examples
from tests.support.scripts import programming, webshop, workspace

SCRIPTS = {
    "You write programs.": programming.reply,
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
    return script_for(messages)(without_examples(messages))


class SmallModel(DemoChatModel):
    """Plays every world: three by their scripts, the others as the demo model."""

    worlds = (*DemoChatModel.worlds, "programming", "webshop", "workspace")

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        if script_for(messages) is None:
            return super()._generate(messages, stop, run_manager, **kwargs)
        return ChatResult(generations=[ChatGeneration(message=AIMessage(scripted(messages)))])
