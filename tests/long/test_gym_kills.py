"""A process that is killed on a slippery frozen lake, and another one that resumes the trial."""

import json
import subprocess
import sys
from textwrap import dedent

import pytest

from langgraph_reflexion import GymEnvironment

pytestmark = pytest.mark.extra("gym")

PROGRAM = dedent("""
    import json, os, signal
    from pathlib import Path
    from langgraph.checkpoint.sqlite import SqliteSaver
    from langgraph_reflexion import GymEnvironment, create_reflexion
    from langgraph_reflexion.testing import ScriptedChatModel

    killed, config = Path("killed"), {"configurable": {"thread_id": "1"}}

    def reply(messages):
        if len(messages) > 10 and not killed.exists():
            killed.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return "Action: up"

    lake = GymEnvironment("FrozenLake-v1", [7], actions=["left", "down", "right", "up"])
    task = None if killed.exists() else {"task": lake.tasks()[0]}
    with SqliteSaver.from_conn_string("state.db") as saver:
        graph = create_reflexion(ScriptedChatModel(replies=reply), lake, max_trials=1).compile(saver)
        final = graph.invoke(task, config, durability="sync")
    print(json.dumps(final["trajectory"]))
""")


def test_another_process_continues_a_trial_that_was_killed(tmp_path):
    def run():
        return subprocess.run(
            [sys.executable, "-c", PROGRAM], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
        )

    first = run()
    assert first.returncode == -9, first.stderr
    again = run()
    assert again.returncode == 0, again.stderr

    steps = json.loads(again.stdout)
    lake = GymEnvironment("FrozenLake-v1", [7], actions=["left", "down", "right", "up"])
    episode = lake.start(lake.tasks()[0])
    seen = [episode.step(step["action"]).observation for step in steps]
    episode.close()
    assert len(steps) > 5
    assert [step["observation"] for step in steps] == seen
