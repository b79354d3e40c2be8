"""Actions with a block of code or an edit in replies: the first one is read, and nothing of what follows it."""

import pytest

from langgraph_reflexion.actors.reply import read_reply
from langgraph_reflexion.envs.workspace.environment import Workspace

EDIT = "edit_file[a.py]\n<<<<<<< SEARCH\nold\n=======\nnew\n>>>>>>> REPLACE"
FENCED = EDIT.replace("<<<", "```python\n<<<", 1) + "\n```"
MORE = "<<<<<<< SEARCH\nmore\n=======\nless\n>>>>>>> REPLACE"
README = "# Use\n```\nmake\n```\nor\n```\nmake all\n```\nThat is all."


@pytest.fixture(scope="module")
def workspace():
    return Workspace()


def args_in(workspace, reply):
    action = read_reply(reply, workspace.parse)["action"]
    if action["name"]:
        # What the transcript shows is read as the same action.
        assert workspace.parse(action["text"]) == action
    return action["args"]


@pytest.mark.parametrize(
    "after",
    [
        "",
        "\nThis should fix the bug.",
        "\n\nAction: verify[]",
        "\nThought: That was it.\nAction: submit[]",
        "\n\nAction: write_file[b.py]\n```python\ny = 2\n```",
        "\n\nAction: write_file[b.py]\n```\ny = 2\n```",
        "\n\nwrite_file[b.py]\n```\ny = 2\n```",
        "\nThen run it.\n\nrun_command\n```\nmake\n```",
        "\nUse it so:\n```python\nf()\n```",
        "\n```\nDone.",
    ],
)
@pytest.mark.parametrize("before", ["Thought: I fix it.\nAction: ", ""])
@pytest.mark.parametrize("language", ["python", ""])
def test_a_file_ends_with_its_block(workspace, before, language, after):
    reply = f"{before}write_file[a.py]\n```{language}\nx = 1\n```{after}"
    assert args_in(workspace, reply) == {"path": "a.py", "text": "x = 1"}


@pytest.mark.parametrize(
    "text",
    [
        README,
        "# Use\n```python\nf()\n```\nor\n```\nmake\n```\n\n```sh\nmake\n```",
        "text = '''\n```python\n{}\n```'''\nmore = 1",
        "odd = '''\n```\n'''",
        "odd = '''\n```\n'''\nopened = '''\n```python\n'''",
        "# Use\n\n```\nrun_command('make')\n```\n\nThat is all.",
        "class A:\n    action: str\n# Action: write",
        "run_command = 1",
        "'<think>'.join(\n'</think>')\nsubmit[]",
    ],
)
def test_a_file_with_fences_and_marks_of_its_own_is_read_as_a_whole(workspace, text):
    reply = f"Action: write_file[a]\n```\n{text}\n```"
    assert args_in(workspace, reply) == {"path": "a", "text": text}


@pytest.mark.parametrize(
    "command",
    [
        f"cat > a.md <<'EOF'\n{README}\n\n```sh\nmake\n```\nEOF",
        "python - <<'EOF'\nfence = '''\n```\n'''\nopened = '''\n```python\n'''\nEOF",
        "echo $((1 << n))",
    ],
)
@pytest.mark.parametrize("after", ["", "\nDone.", "\n\nAction: verify[]"])
def test_a_command_with_fences_in_a_heredoc_is_run_as_a_whole(workspace, command, after):
    reply = f"Action: run_command\n```bash\n{command}\n```{after}"
    assert args_in(workspace, reply) == {"command": command}


@pytest.mark.parametrize("after", ["It's not '''.", "Action: write_file[b.py]\n```python\ny = '''\n```"])
def test_quotes_that_are_not_closed_hide_no_end_of_a_block(workspace, after):
    reply = f"Action: write_file[a.py]\n```\nx = 1\n```\n{after}"
    assert args_in(workspace, reply) == {"path": "a.py", "text": "x = 1"}


@pytest.mark.parametrize(
    "old", [">>>>>>> REPLACE\nold", "<<<<<<< SEARCH\nold", "<<<<<<< SEARCH\nold\n>>>>>>> REPLACE"]
)
def test_an_edit_may_remove_stray_markers(workspace, old):
    reply = f"Action: {EDIT}\nDone.".replace("old", old)
    assert args_in(workspace, reply) == {"path": "a.py", "old": old, "new": "new"}


@pytest.mark.parametrize("text", [README, "# Use\n```python\nf()\n```\nor"])
def test_prose_after_a_file_with_blocks_of_its_own_is_none_of_it(workspace, text):
    reply = f"Action: write_file[a]\n```markdown\n{text}\n```\nIt says how."
    assert args_in(workspace, reply) == {"path": "a", "text": text}


@pytest.mark.parametrize(
    "reply",
    [
        f"Action: {EDIT}",
        f"Action: {EDIT}\nDone.",
        f"Action: {EDIT}\n{MORE}",
        f"Action: {EDIT}\n\nAction: edit_file[b.py]\n{MORE}",
        f"Action: {EDIT}\n```\n",
        f"Action:\n```\n{EDIT}\n```\nDone.",
        f"Action: {FENCED}\nDone.",
        f"{EDIT}\n{MORE}",
    ],
)
def test_an_edit_ends_with_its_first_change(workspace, reply):
    assert args_in(workspace, reply) == {"path": "a.py", "old": "old", "new": "new"}


def test_an_edit_may_hold_marks_of_steps(workspace):
    reply = f"Action: {EDIT}".replace("old\n", "class A:\n    action: str\nAction: TypeAlias = str\n")
    assert args_in(workspace, reply)["old"] == "class A:\n    action: str\nAction: TypeAlias = str"


@pytest.mark.parametrize(
    "reply",
    [
        f"Action: {EDIT.replace('>>>>>>> REPLACE', MORE)}",
        f"Action: {EDIT.removesuffix(' REPLACE')}",
        "Action: write_file[a.py]\n```python\nx = 1\n",
    ],
    ids=["two changes in one", "cut off", "an open block"],
)
def test_what_may_be_half_an_action_is_none(workspace, reply):
    assert read_reply(reply, workspace.parse)["action"]["name"] == ""


@pytest.mark.parametrize("command", ['grep -rn "</think>" src', "sed -i s/<think>// a"])
def test_a_command_may_name_the_tags_of_reasoning(workspace, command):
    assert args_in(workspace, f"Thought: hm\nAction: run_command[{command}]") == {"command": command}
