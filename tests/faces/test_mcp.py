"""The program of docs/howto/own-environment.md, with a server on the `mcp` SDK."""

import sys
from pathlib import Path

import pytest

from langgraph_reflexion import create_reflexion
from langgraph_reflexion.testing import ScriptedChatModel

pytestmark = pytest.mark.extra("mcp")

SERVER = str(Path(__file__).parents[1] / "support" / "mcp_server.py")


@pytest.mark.long
def test_a_server_is_an_environment():
    from langgraph_reflexion import ToolEnvironment, mcp_tools

    notes = mcp_tools({"notes": {"command": sys.executable, "args": [SERVER]}})
    environment = ToolEnvironment(notes, ["Write two lines."], lambda task, answer: answer == "two")

    replies = ["write[a]", 'write[{"text": ""}]', "write[b, c]", "count[]", "show[]", "finish[two]"]
    model = ScriptedChatModel(replies=[f"Action: {reply}" for reply in replies])
    final = create_reflexion(model, environment, max_trials=1).compile().invoke({"task": environment.tasks()[0]})
    assert final["status"] == "solved", final["fault"]
    assert [step["observation"] for step in final["trajectory"]] == [
        "1 lines",
        "Error executing tool write: a line is not empty",
        "2 lines",
        '{\n  "lines": 2\n}',
        "[image: image/png]\n[audio: audio/wav]\n[the note: note://1] It is short.\n[note://2]\nSome\ntext.",
        "The task is solved.",
    ]
    assert "- write[{text}]\n  Write a line. {text}: what to write." in model.prompts[0][0].text
