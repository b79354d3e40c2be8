"""The run folder: rows that are added one at a time, by one process after another, and the code's commit."""

import json
import subprocess

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.lab.experiments.locks import locked
from langgraph_reflexion.lab.experiments.provenance import commit_of
from langgraph_reflexion.lab.experiments.record import RunRecord
from langgraph_reflexion.lab.experiments.rows import Finished, atomic_write
from langgraph_reflexion.lab.experiments.runs import read_run
from langgraph_reflexion.models.calls import CallId, ModelCall
from langgraph_reflexion.models.sent import with_calls
from tests.support.guessing import rows
from tests.support.run_folders import SETTINGS, row

INFO = {"settings": SETTINGS, "tasks": ["b", "a"]}


def trial(task, number, **changes):
    return row(task, number, False, **changes)


def record(folder, *trials, secrets=()):
    """Open the record, add these trials, and close it."""
    opened = RunRecord(folder, INFO, secrets)
    for each in trials:
        opened.append(Finished(each))
    opened.close(1.0)


def numbers(folder):
    return [(each["task_id"], each["trial"]) for each in rows(folder)]


def test_rows_are_ordered_by_task_and_trial_and_hold_no_secret(tmp_path):
    refused = trial("a", 1, fault='401: sk-very"secret is not a key')
    said = ModelCall(
        CallId(0, "a", 1, "act 0"), [HumanMessage('Use sk-very"secret.')], reply=AIMessage('sk-very"secret')
    )
    opened = RunRecord(tmp_path, INFO, ['sk-very"secret'])
    opened.append(Finished(trial("b", 1), calls=with_calls([], [said])))
    opened.close(1.0)
    record(tmp_path, refused, trial("b", 2), trial("b", 1), secrets=['sk-very"secret'])
    assert numbers(tmp_path) == [("b", 1), ("b", 2), ("a", 1)]
    assert rows(tmp_path)[2]["fault"] == "401: [secret] is not a key"
    (call,) = read_run(tmp_path).calls(("b", 1))
    assert (call.messages[0]["content"], call.reply["content"]) == ("Use [secret].", "[secret]")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["prompts.jsonl", "run.json", "trials.jsonl"]


def test_an_incomplete_last_line_is_ignored_and_cut_off_by_the_next_process(tmp_path):
    record(tmp_path, trial("a", 1))
    with (tmp_path / "trials.jsonl").open("a") as file:
        file.write('{"task_id": "a", "tri')
    assert [row["trial"] for row in read_run(tmp_path).trials] == [1]
    record(tmp_path, trial("a", 2))
    assert numbers(tmp_path) == [("a", 1), ("a", 2)]


def test_a_run_that_was_killed_before_its_first_row_has_no_rows(tmp_path):
    record(tmp_path)
    (tmp_path / "trials.jsonl").unlink()
    # Of one that came to its end, or to a pause, they were removed.
    with pytest.raises(ConfigurationError, match=r"there is no trials.jsonl"):
        read_run(tmp_path)
    (tmp_path / "run.json").write_text(json.dumps(INFO))
    assert read_run(tmp_path).trials == []


LINES = [b"nonsense", b'{"task_id": "a"}', b'{"task_id": "a", "trial": [1]}', b"[" * 100_000, b"\0" * 512]


@pytest.mark.parametrize("line", LINES)
def test_a_line_that_cannot_be_read_is_missing_and_removed(tmp_path, line):
    record(tmp_path, trial("a", 1), trial("a", 2))
    _, second = (tmp_path / "trials.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "trials.jsonl").write_bytes(line + b"\n" + second)
    again = RunRecord(tmp_path, INFO)
    assert again.missing("a", 2) == [1]
    again.close(1.0)
    assert (tmp_path / "trials.jsonl").read_bytes() == second


@pytest.mark.parametrize("line", [b"5", b"[]", b"nonsense"])
def test_reports_refuse_a_line_that_is_no_row(tmp_path, line):
    record(tmp_path, trial("a", 1))
    (tmp_path / "trials.jsonl").write_bytes(line + b"\n")
    with pytest.raises(ConfigurationError, match="no run that can be read"):
        read_run(tmp_path)


def test_a_row_of_a_task_that_the_run_does_not_have_is_refused(tmp_path):
    record(tmp_path)
    (tmp_path / "trials.jsonl").write_text(json.dumps(trial("other", 1)) + "\n")
    with pytest.raises(ConfigurationError, match=r"holds trials of 'other', .* not a task of run\.json"):
        RunRecord(tmp_path, INFO)


def test_a_row_of_a_wrong_type_is_left_to_whoever_wrote_it(tmp_path):
    record(tmp_path, trial("a", 1), trial("b", 1))
    path = tmp_path / "trials.jsonl"
    path.write_text(path.read_text().replace('"actions": 1', '"actions": "one"'))
    info = {**json.loads((tmp_path / "run.json").read_text()), "errors": {"a": "a bug"}}
    (tmp_path / "run.json").write_text(json.dumps(info))
    before = {each.name: each.read_bytes() for each in tmp_path.iterdir()}
    with pytest.raises(ConfigurationError, match=r"trials\.jsonl, line 1: actions .*: mend the line, or remove it"):
        RunRecord(tmp_path, INFO)
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == before


def test_prompts_of_a_task_that_the_run_does_not_have_are_kept(tmp_path):
    record(tmp_path, trial("a", 1))
    line = json.dumps({"task_id": "other", "trial": 1, "calls": []}) + "\n"
    (tmp_path / "prompts.jsonl").write_text(line)
    record(tmp_path)
    assert (tmp_path / "prompts.jsonl").read_text() == line


def test_a_folder_that_cannot_hold_the_run_is_refused(tmp_path):
    (tmp_path / "trials.jsonl").touch()
    with pytest.raises(ConfigurationError, match=r"holds trials and no run.json"):
        RunRecord(tmp_path, INFO)
    for name in ("trials.jsonl", "trials.jsonl/run"):
        with pytest.raises(ConfigurationError, match="cannot write"):
            RunRecord(tmp_path / name, INFO)
    with pytest.raises(ConfigurationError, match=r"cannot write .*gone/run.json: No such file.* resume the run"):
        atomic_write(tmp_path / "gone" / "run.json", [b"{}"])


def test_a_folder_is_locked_by_one_process_at_a_time(tmp_path):
    folder = tmp_path / "runs" / "run"
    with locked(folder):
        with pytest.raises(ConfigurationError, match=r"another process is using .*run"), locked(folder):
            raise AssertionError
        (folder / "run.json").touch()
    with locked(folder):
        assert sorted(path.name for path in folder.iterdir()) == ["lock", "run.json"]
    with pytest.raises(ConfigurationError, match="cannot write"), locked(folder / "run.json"):
        raise AssertionError


def test_a_folder_without_a_first_row_is_left_as_it_was(tmp_path):
    with locked(tmp_path / "runs" / "run"):
        pass
    assert list(tmp_path.iterdir()) == []
    with locked(tmp_path):
        opened = RunRecord(tmp_path, INFO)
        opened.close(1.0)
        opened.discard()
    assert list(tmp_path.iterdir()) == []


def test_a_file_has_a_commit_if_a_repository_tracks_it(tmp_path):
    def git(*args):
        who = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
        done = subprocess.run(["git", *who, *args], cwd=tmp_path, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    code, installed = tmp_path / "code.py", tmp_path / "installed.py"
    code.touch()
    installed.touch()
    git("init", "--quiet")
    git("add", "code.py")
    git("commit", "--quiet", "-m", "First")
    git("tag", "v1")
    head = git("rev-parse", "HEAD")[:12]
    assert (commit_of(code), commit_of(installed)) == (head, None)
    code.write_text("2")
    assert commit_of(code) == f"{head}-dirty"
