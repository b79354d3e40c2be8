"""The strategy `continue` in a workspace: the next trial finds the files as the last one has left them."""

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_reflexion import create_reflexion
from langgraph_reflexion.envs.workspace.environment import Workspace
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.toys import THREAD, text_of
from tests.support.workspace import FAILING

pytestmark = [pytest.mark.slow, pytest.mark.needs("bubblewrap")]


def edit(old, new):
    return f"Action: edit_file[code_.py]\n<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE"


@pytest.fixture
def workspace(folder, tmp_path):
    """The workspace as each process makes it."""
    made = []

    def make():
        made.append(Workspace({**FAILING, "path": folder}, store=tmp_path / "store"))
        return made[-1]

    yield make
    for environment in made:
        environment.close()


def editing(*edits, breaks=False):
    """Submits after each edit; or breaks off after the last one."""
    left = list(edits)

    def reply(messages):
        if "Edited code_.py" not in messages[-1].text:
            return left.pop(0)
        if breaks and not left:
            raise RuntimeError("the power is gone")
        return "Action: submit[]"

    return ScriptedChatModel(replies=reply)


def going_on(model, environment, saver=None):
    graph = create_reflexion(model, environment, strategy="continue", max_trials=2)
    return graph.compile(checkpointer=saver)


def test_the_files_stay_as_they_are_and_can_be_submitted_again(workspace):
    environment = workspace()
    model = editing(edit("n + 2", "n + n + n"), edit("n + n + n", "n * 2"))
    final = going_on(model, environment).invoke({"task": environment.tasks()[0]})
    assert (final["status"], final["trial"]) == ("solved", 2)
    assert "nothing has been reset" in text_of(model.prompts[-1])


def test_a_trial_goes_on_in_another_process_with_the_files_of_the_trial_before(workspace):
    saver = InMemorySaver()
    environment = workspace()
    breaking = editing(edit("n + 2", "n + n + n"), edit("n + n + n", "n * 2"), breaks=True)
    with pytest.raises(RuntimeError, match="power"):
        going_on(breaking, environment, saver).invoke({"task": environment.tasks()[0]}, THREAD)
    final = going_on(editing(), workspace(), saver).invoke(None, THREAD)
    assert (final["status"], final["trial"], final["trials"][1]["actions"]) == ("solved", 2, 2)
