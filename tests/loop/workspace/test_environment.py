"""Trials in a workspace: patches, output, reflections, missing files."""

import asyncio
import json
import os
import subprocess
from pathlib import Path

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_reflexion import create_reflexion
from langgraph_reflexion.envs.base import FinishedTrial
from langgraph_reflexion.envs.workspace.environment import Workspace
from langgraph_reflexion.errors import EnvironmentUnavailable
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support import toys
from tests.support.workspace import Play, Played


def finished(played: Played, number: int, verdict: bool | None, reflection: str | None) -> FinishedTrial:
    trial = toys.finished(number=number)
    return {**trial, "snapshot": played.episode.snapshot(), "verdict": verdict, "reflection": reflection}


def test_each_trial_leaves_its_patch_output_and_reflection(play: Play, folder, tmp_path):
    played = play(verify=["PYTHONPATH=. python3 tests/check.py", "echo 'a.ts(1,2): error TS1: no'; test -f done"])
    played.do("edit_file", path="code_.py", old="n + 2", new="n * 3")
    played.do("write_file", path="tests/check.py", text="")
    played.do("submit")
    first = played.environment.review(played.task, finished(played, 1, False, "I multiplied wrongly."))
    [row] = map(json.loads, first.files["task-original/reflections.jsonl"].splitlines())
    assert row.pop("timestamp").endswith("+00:00")
    assert row == {
        "trial": 1,
        "error": "AssertionError: 12",
        "reflection": "I multiplied wrongly.",
        "verification_context": {"test_failures": [], "linter_errors": ["a.ts(1,2): error TS1: no"]},
    }
    assert "+    return n * 3\n" in first.files["task-original/attempts/trial-1.patch"]
    assert "check.py" not in first.files["task-original/attempts/trial-1.patch"]
    whole = first.files["task-original/verification/trial-1.txt"]
    assert "Traceback" in whole
    assert "tests/check.py (changed)" in whole
    assert first.measures == {"files_changed": 1, "lines_added": 1, "lines_removed": 1, "protected_changed": 1}
    assert not [name for name in first.files if "final-output" in name]

    # The next trial is reviewed by another process, which finds what the first one left.
    played.episode.close()
    played.episode = played.environment.start(played.task)
    played.do("edit_file", path="code_.py", old="n + 2", new="n * 2")
    played.do("write_file", path="done", text="yes")
    assert played.do("submit").reward == 1.0
    other = Workspace(path=folder, instruction="x", verify=["true"], store=tmp_path / "store")
    second = other.review(played.task, finished(played, 2, True, None))
    assert other.review(played.task, finished(played, 2, True, None)) == second
    rows = [json.loads(line) for line in second.files["task-original/reflections.jsonl"].splitlines()]
    assert [(each["trial"], each["error"], each["reflection"]) for each in rows] == [
        (1, "AssertionError: 12", "I multiplied wrongly."),
        (2, "", None),
    ]
    (tmp_path / "result.patch").write_text(second.files["task-original/final-output/result.patch"])
    subprocess.run(["git", "apply", str(tmp_path / "result.patch")], cwd=folder, check=True)
    assert (folder / "done").read_text() == "yes\n"


def test_a_trial_that_was_not_verified_says_so(play: Play):
    played = play()
    trial = finished(played, 1, None, None) | {"stop_reason": "budget"}
    files = played.environment.review(played.task, trial).files
    assert json.loads(files["task-original/reflections.jsonl"])["error"] == "not verified: budget"
    assert files["task-original/verification/trial-1.txt"] == "The trial was not verified.\n"
    assert files["task-original/attempts/trial-1.patch"] == ""


def test_missing_files_make_the_environment_unavailable(play: Play, folder, tmp_path):
    played = play()
    other = Workspace(path=folder, instruction="x", verify=["true"], store=tmp_path / "elsewhere")
    with pytest.raises(EnvironmentUnavailable, match="copy that folder"):
        other.restore(played.task, played.episode.snapshot())
    folder.rename(folder.with_name("moved"))
    with pytest.raises(EnvironmentUnavailable, match="does not exist"):
        played.environment.prepare(played.task)


def test_a_missing_program_is_no_verdict_unless_it_may_be_written(play: Play):
    played = play(verify=["pytestt -q && true"])
    with pytest.raises(EnvironmentUnavailable, match="there is no program pytestt"):
        played.do("verify")
    assert "exit status 127" in play(verify=["./run.sh"]).do("verify").observation
    assert play(verify=["tool"], env={"PATH": "/bin:bin"}).do("verify").reward == 0.0


def test_file_names_need_not_be_utf8(play: Play, folder: Path):
    (folder / os.fsdecode(b"caf\xe9.txt")).write_bytes(b"caf\xe9\n")
    played = play(verify=["rm code_.py"])
    model = ScriptedChatModel(replies=["Action: run_command[mv caf* tests/]", "Action: submit[]"])
    graph = create_reflexion(model, played.environment, max_trials=1).compile(checkpointer=InMemorySaver())
    final = asyncio.run(graph.ainvoke({"task": dict(played.task)}, {"configurable": {"thread_id": "1"}}))
    assert (final["status"], final["fault"]) == ("solved", "")
    assert "caf?.txt" in final["episode"]["observation"]
