import asyncio
import re
import signal
import subprocess
import threading
from contextlib import closing

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_reflexion import create_reflexion
from langgraph_reflexion.lab.demo.prompt import without_examples
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.cli import start
from tests.support.model_server import ModelServer
from tests.support.workspace import state

# If a step is skipped or repeated, the files show it.
STEPS = (
    "Action: run_command[echo begun >> log; sleep 0.3; echo done >> log]",
    "Action: write_file[notes/{trial}]\n```\ntrial {trial}\n```",
    "Action: run_command[echo again >> log; cat notes/* >> log]",
    "Action: edit_file[code_.py]\n<<<<<<< SEARCH\nn + 2\n=======\n{code}\n>>>>>>> REPLACE",
    "Action: run_command[echo end >> log; sleep 0.3]",
    "Action: submit[]",
)


def reply(messages):
    """Follows the steps, and writes the right code in the trial after its reflection."""
    told = "\n".join(message.text for message in messages)
    if messages[-1].text.rstrip().endswith("Reflection:"):
        return "It takes a multiplication."
    trial = 1 + ("It takes a multiplication." in told)
    done = sum(message.type == "ai" for message in without_examples(messages))
    return STEPS[done].replace("{trial}", str(trial)).replace("{code}", "n * 2" if trial == 2 else "n ** 2 - 1")


def task_file(folder):
    file = folder.parent / "task.toml"
    file.write_text(
        f'id = "mend"\npath = "{folder}"\ninstruction = "Mend it."\n'
        'verify = ["PYTHONPATH=. python3 tests/check.py"]\n'
    )
    return file


def begin(home, server, file, out):
    return start(
        home,
        *("run", "workspace", "--option", f"task={file}", "--option", f"store={home / 'store'}", "--max-trials", "3"),
        *("--model", "openai:toy", "--base-url", server.url, "--out", out),
        key="sk-none",
    )


def recorded(run):
    """A run's record without times, durations and what is drawn for each run."""
    varies = re.compile(r'"(timestamp|run)": "[^"]*"|"seconds": [0-9.e-]+|^\[exit status.*$', re.MULTILINE)
    files = [*run.glob("tr*.jsonl"), *(path for path in run.glob("task-mend/**/*") if path.is_file())]
    return {str(path.relative_to(run)): varies.sub("", path.read_text()) for path in files}


@pytest.mark.needs("bubblewrap")
def test_run_killed_at_any_moment_ends_with_the_same_record(folder, tmp_path):
    before, file = state(folder), task_file(folder)
    calls = 0
    process = None

    def counted(messages):
        """Every second process is killed at its fifth call, the others a moment later, within a command."""
        nonlocal calls
        calls += 1
        if process is not None and calls == 5:
            threading.Timer(0.15 * (lives % 2), process.send_signal, [signal.SIGKILL]).start()
        return reply(messages)

    with ModelServer(ScriptedChatModel(replies=counted)) as server:
        peace = begin(tmp_path, server, file, "peace")
        _, err = peace.communicate(timeout=120)
        assert peace.returncode == 0, err
        assert calls == 13
        lives = 0
        while process is None or process.returncode:
            calls, lives = 0, lives + 1
            process = (
                start(tmp_path, "resume", "killed", key="sk-none")
                if (tmp_path / "killed" / "run.json").exists()
                else begin(tmp_path, server, file, "killed")
            )
            _, err = process.communicate(timeout=120)
            assert process.returncode in (0, -signal.SIGKILL), err
            assert lives < 26
        assert lives > 2
    assert recorded(tmp_path / "killed") == recorded(tmp_path / "peace")
    patch = tmp_path / "killed" / "task-mend" / "final-output" / "result.patch"
    assert "+begun\n+done\n+again\n+trial 2\n+end\n" in patch.read_text()
    assert state(folder) == before
    subprocess.run(["git", "apply", str(patch)], cwd=folder, check=True)


@pytest.mark.parametrize("live", [True, False], ids=["same process", "another process"])
def test_fork_begins_with_the_files_of_its_step(play, folder, live):
    played = play()
    config = {"configurable": {"thread_id": "1"}}
    saver = InMemorySaver()

    def graph(environment):
        made = create_reflexion(ScriptedChatModel(replies=reply), environment, max_trials=2)
        return made.compile(checkpointer=saver)

    async def whole():
        first = graph(played.environment)
        final = await first.ainvoke({"task": dict(played.task)}, config)
        # In the second trial, after the note was written and before what follows.
        states = [state async for state in first.aget_state_history(config) if state.next == ("act",)]
        [chosen] = [s for s in states if s.values["trial"] == 2 and len(s.values["trajectory"]) == 2]
        environment = played.environment
        if not live:
            given = {"path": folder, "instruction": "x", "verify": "true"}
            environment = type(environment)(given, store=environment.store)
        return final, await graph(environment).ainvoke(None, chosen.config)

    final, forked = asyncio.run(whole())
    assert (final["status"], forked["status"]) == ("solved", "solved")
    assert forked["episode"]["snapshot"] == final["episode"]["snapshot"]
    assert forked["trajectory"] == final["trajectory"]
    with closing(played.again(forked["episode"]["snapshot"])) as again:
        assert (again._copy.root / "log").read_text() == "begun\ndone\nagain\ntrial 2\nend\n"
