"""A process that is killed in a trial with tools, and another one that resumes the trial."""

import json
import subprocess
import sys
from textwrap import dedent

import pytest

PROGRAM = dedent("""
    import json, os, signal, sys
    from pathlib import Path
    from langgraph.checkpoint.sqlite import SqliteSaver
    from langgraph_reflexion import ToolEnvironment, create_reflexion
    from langgraph_reflexion.testing import ScriptedChatModel

    KINDS = {
        "replay": {"replayable": True},
        "snapshot": {"snapshot": lambda state: list(state), "restore": lambda state, saved: state.extend(saved)},
        "neither": {},
    }
    killed, CONFIG = Path("killed"), {"configurable": {"thread_id": "1"}}

    def tools(task):
        lines = []

        def write(text: str) -> str:
            "Write a line."
            if text == "c" and not killed.exists():
                killed.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            lines.append(text)
            return f"{len(lines)} lines"

        return [write], lines

    def reply(messages):
        return "Action: " + ["write[a]", "write[b]", "write[c]", "finish[.]"][len(messages) // 2 - 1]

    environment = ToolEnvironment(tools, ["Write."], lambda state: state == ["a", "b", "c"], **KINDS[sys.argv[1]])
    task = None if killed.exists() else {"task": environment.tasks()[0]}
    with SqliteSaver.from_conn_string("state.db") as saver:
        graph = create_reflexion(ScriptedChatModel(replies=reply), environment, max_trials=1).compile(saver)
        final = graph.invoke(task, CONFIG, durability="sync")
    record = final["trials"][0]
    observed = [step["observation"] for step in final["trajectory"]]
    print(json.dumps([final["status"], observed, record["actions"], record["notes"]]))
""")


@pytest.mark.parametrize("kind", ["replay", "snapshot", "neither"])
def test_another_process_resumes_a_trial_that_was_killed(tmp_path, kind):
    def run():
        return subprocess.run(
            [sys.executable, "-c", PROGRAM, kind],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    first = run()
    assert first.returncode == -9, first.stderr
    again = run()
    assert again.returncode == 0, again.stderr
    status, observed, actions, notes = json.loads(again.stdout)
    assert (status, actions) == ("solved", 4)
    assert observed == ["1 lines", "2 lines", "3 lines", "The task is solved."]
    assert ["starts over" in note for note in notes] == ([True] if kind == "neither" else [])
