"""The workspace's tools, their results and limits, and what its trials leave."""

import json
import os
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from langgraph_reflexion.envs.workspace.environment import Workspace
from langgraph_reflexion.errors import EnvironmentUnavailable
from tests.support import toys
from tests.support.workspace import CODE, state

pytestmark = pytest.mark.slow


def test_a_mistake_is_found_and_repaired_through_text_actions(play, folder):
    before = state(folder)
    played = play()
    opening = played.episode.observation
    assert opening.startswith("Make the check pass.\nIt is solved when verification succeeds: `PYTHONPATH=. python3 ")
    assert opening.endswith("\ncode_.py\ntests/check.py")
    assert played.say("read_file[code_.py]").observation == "    1  def double(n):\n    2      return n + 2"
    assert played.say("search_files[n \\+ 2]").observation == "code_.py:2:    return n + 2"
    failed = played.say("verify[]")
    assert ("AssertionError: 6" in failed.observation, failed.reward, failed.terminated) == (True, 0.0, False)
    edit = "edit_file[code_.py]\n<<<<<<< SEARCH\n    return n + 2\n=======\n    return n * 2\n>>>>>>> REPLACE"
    assert "return n * 2" in played.say(edit).observation
    passed = played.say("submit[]")
    assert (passed.reward, passed.terminated) == (1.0, True)
    assert passed.observation == "Verification passed: `PYTHONPATH=. python3 tests/check.py`."
    assert played.do("read_file", path="code_.py").terminated
    assert state(folder) == before


def test_a_change_after_a_success_withdraws_the_reward_until_it_is_verified(play):
    played = play()
    played.do("edit_file", path="code_.py", old="n + 2", new="n * 2")
    assert played.do("verify").reward == 1.0
    assert played.do("write_file", path="notes.txt", text="done").reward == 0.0
    settled = played.episode.finalize()
    assert settled
    assert settled.reward == 1.0


@pytest.mark.parametrize("fence", ["\n```", "\n\n```py"])
def test_a_file_is_written_with_its_lines_and_indentation(play, fence):
    played = play()
    written = f"write_file[new/a.py]{fence}\nx = 1\n\n    y = 2\n```"
    assert played.say(written).observation == "Wrote new/a.py: 3 lines."
    assert (played.root / "new" / "a.py").read_text() == "x = 1\n\n    y = 2\n"


def test_an_edit_keeps_line_ends_and_odd_bytes(play, folder):
    (folder / "old.txt").write_bytes(b"one\r\ntw\xe9\r\nthree\r\n")
    played = play()
    played.do("edit_file", path="old.txt", old="one\n", new="1\n2\n")
    assert (played.root / "old.txt").read_bytes() == b"1\r\n2\r\ntw\xe9\r\nthree\r\n"


def test_long_files_are_read_in_parts(play, folder):
    (folder / "long.txt").write_text("".join(f"line {n}\n" for n in range(1, 1001)) + "x" * 10_000)
    played = play()
    assert played.say("read_file[long.txt]").observation.endswith("  200  line 200\n[lines 1 to 200 of 1001]")
    assert played.say("read_file[long.txt] from 500, 2 lines").observation == (
        "  500  line 500\n  501  line 501\n[lines 500 to 501 of 1001]"
    )
    assert len(played.say("read_file[long.txt] from 1001").observation) < 700


@pytest.mark.parametrize(
    ("tool", "args", "says"),
    [
        ("edit_file", {"path": "code_.py", "old": "return n  + 2"}, "does not contain the text"),
        ("edit_file", {"path": "code_.py", "old": "n"}, "contains the text 3 times: include more context."),
        ("edit_file", {"path": "code_.py", "old": "", "new": "x"}, "give the text"),
        ("edit_file", {"path": "code_.py", "old": "return", "new": "\ud800"}, "Not done: "),
        ("read_file", {"path": "pipe"}, "not an ordinary file"),
        ("read_file", {"path": "picture"}, "picture is not text: 6 bytes."),
        ("read_file", {"path": "huge"}, "at most 1048576 are read"),
        ("read_file", {"path": "tests"}, "tests is a folder."),
        ("read_file", {"path": "none"}, "No such file"),
        ("read_file", {"path": "a/\0b"}, "Not done: "),
        ("write_file", {"path": "pipe", "text": "x"}, "not an ordinary file"),
        ("write_file", {"path": "a", "text": "x" * (2 << 20)}, "at most 1048576 are written"),
        ("search_files", {"pattern": "a\0b"}, "Not done: "),
        ("run_command", {"command": "echo " + "a" * 200_000}, "Not done: "),
        ("run_command", {"command": "echo \ud800"}, "Not done: "),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_what_cannot_be_done_is_said_and_changes_nothing(play, folder, tool, args, says):
    (folder / "picture").write_bytes(b"\x89PNG\0\0")
    (folder / "huge").write_bytes(b"x" * (2 << 20))
    played = play()
    os.mkfifo(played.root / "pipe")
    observation = played.do(tool, **args).observation
    assert says in observation
    assert played.patch() == ""


def test_many_files_are_listed_by_folder(play, folder):
    (folder / "many").mkdir()
    for number in range(300):
        (folder / "many" / f"{number}").touch()
    played = play()
    assert played.do("list_files").observation == "code_.py\nmany/ (300 files)\ntests/ (1 files)"
    assert played.say("list_files[tests]").observation == "check.py"


@pytest.mark.parametrize("path", ["../secret", "/etc/passwd", "link/secret", "s"])
def test_paths_do_not_leave_the_workspace(play, tmp_path, path):
    (tmp_path / "secret").write_text("a secret")
    played = play()
    played.do("run_command", command=f"ln -s {tmp_path} link; ln -s {tmp_path}/secret s")
    for name, args in (
        ("read_file", {"path": path}),
        ("write_file", {"path": path, "text": "x"}),
        ("edit_file", {"path": path, "old": "a", "new": "b"}),
        ("search_files", {"pattern": "secret", "folder": path}),
        ("list_files", {"folder": path}),
    ):
        observation = played.do(name, **args).observation
        assert (observation.startswith("Not done: "), "a secret" in observation) == (True, False)
    assert (tmp_path / "secret").read_text() == "a secret"


def test_commands_see_the_copy_at_the_path_of_the_original(play, folder):
    played = play()
    observation = played.do("run_command", command="pwd; echo changed > code_.py; echo out; echo err >&2; exit 3")
    assert observation.observation == f"{folder}\nout\nerr\n[exit status 3]"
    assert (folder / "code_.py").read_text() == CODE
    assert played.do("read_file", path=str(folder / "code_.py")).observation == "    1  changed"


def test_commands_have_network_only_if_allowed(play):
    command = "cat /proc/net/route | wc -l"
    assert play().do("run_command", command=command).observation.startswith("1\n")
    routes = len(Path("/proc/net/route").read_text().splitlines())
    assert play(network=True).do("run_command", command=command).observation.startswith(f"{routes}\n")


def test_a_command_that_fills_the_workspace_is_undone(play):
    played = play()
    before = played.episode.snapshot()
    fill = "echo x > kept.txt; i=0; while [ $i -lt 9 ]; do truncate -s 200M big$i; i=$((i+1)); done"
    told = played.do("run_command", command=fill).observation
    assert "changes to the files were undone" in told
    assert played.episode.snapshot() == before
    assert played.do("list_files").observation == "code_.py\ntests/check.py"


def test_unreadable_files_are_kept_in_the_snapshot(play):
    played = play()
    played.do("run_command", command="mkdir d; echo x > d/f; chmod 0 d/f; chmod 0 d")
    with closing(played.again()) as again:
        assert (again._copy.root / "d" / "f").read_text() == "x\n"


def finished(played, number, verdict, reflection):
    trial = toys.finished(number=number)
    return {**trial, "snapshot": played.episode.snapshot(), "verdict": verdict, "reflection": reflection}


def test_each_trial_leaves_its_patch_output_and_reflection(play, folder, tmp_path):
    played = play(verify=["PYTHONPATH=. python3 tests/check.py", "echo 'a.ts(1,2): error TS1: no'; test -f done"])
    played.do("edit_file", path="code_.py", old="n + 2", new="n * 3")
    played.do("write_file", path="tests/check.py", text="")
    played.do("submit")
    first = played.environment.review(played.task, finished(played, 1, False, "I multiplied wrongly."))
    [row] = map(json.loads, first.files["task-original/reflections.jsonl"].splitlines())
    assert row.pop("timestamp").endswith("+00:00")
    found = {"test_failures": [], "linter_errors": ["a.ts(1,2): error TS1: no"]}
    said = {"trial": 1, "error": "AssertionError: 12", "reflection": "I multiplied wrongly."}
    assert row == said | {"verification_context": found}
    patch, whole = (
        first.files[f"task-original/{name}"] for name in ("attempts/trial-1.patch", "verification/trial-1.txt")
    )
    assert ("+    return n * 3\n" in patch, "check.py" in patch) == (True, False)
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
    other = Workspace({"path": folder, "instruction": "x", "verify": "true"}, store=tmp_path / "store")
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


def test_a_trial_that_was_not_verified_says_so(play):
    played = play()
    trial = finished(played, 1, None, None) | {"stop_reason": "budget"}
    files = played.environment.review(played.task, trial).files
    assert json.loads(files["task-original/reflections.jsonl"])["error"] == "not verified: budget"
    assert files["task-original/verification/trial-1.txt"] == "The trial was not verified.\n"
    assert files["task-original/attempts/trial-1.patch"] == ""


def test_missing_files_make_the_environment_unavailable(play, folder, tmp_path):
    played = play()
    other = Workspace({"path": folder, "instruction": "x", "verify": "true"}, store=tmp_path / "elsewhere")
    with pytest.raises(EnvironmentUnavailable, match="copy that folder"):
        other.restore(played.task, played.episode.snapshot())
    folder.rename(folder.with_name("moved"))
    with pytest.raises(EnvironmentUnavailable, match="does not exist"):
        played.environment.prepare(played.task)


def test_a_missing_program_is_no_verdict_unless_it_may_be_written(play):
    played = play(verify=["pytestt -q && true"])
    with pytest.raises(EnvironmentUnavailable, match="there is no program pytestt"):
        played.do("verify")
    assert "exit status 127" in play(verify=["./run.sh"]).do("verify").observation
    assert play(verify=["tool"], env={"PATH": "/bin:bin"}).do("verify").reward == 0.0
