"""Whatever is wrong with a log is named, and not fatal."""

import json
import os
import pickle
from pathlib import Path

import pytest

from langgraph_reflexion import ConfigurationError
from tests.bench.upstream.logs import ALFWORLD, KINDS, ROOT, WHOLE, curves, imported, told_of, write_all


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("share", [0.97, 0.61, 0.3, 0.02, 0.0])
def test_a_log_that_is_cut_off_is_named_and_counted_as_far_as_it_goes(
    tmp_path: Path, kind: str, share: float
) -> None:
    path = write_all(tmp_path / "clone")[kind]
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    done = imported(tmp_path)
    assert told_of(done, kind)
    found = curves(done)
    assert {key: value for key, value in found.items() if key != kind} == {
        k: v for k, v in WHOLE.items() if k != kind
    }
    for now, whole in zip(found.get(kind, []), WHOLE[kind], strict=False):
        assert now <= whole


@pytest.mark.parametrize(("kind", "named"), [
    ("alfworld", "env_results_trial_1.json: 40 environments listed twice: counted once"),
    ("hotpotqa", "trial 1: it is in the log more than once"),
    ("programming", "40 problems listed twice: counted once"),
])  # fmt: skip
def test_a_duplicated_block_is_named_and_counted_once(tmp_path: Path, kind: str, named: str) -> None:
    path = write_all(tmp_path / "clone")[kind]
    text = path.read_text(encoding="utf-8")
    if kind == "alfworld":
        entries = json.loads(text)
        text = json.dumps(entries + entries[:40])
    elif kind == "hotpotqa":
        first, second = text.split("BEGIN TRIAL 2")[:2]
        text = first + first[first.index("#") :] + "BEGIN TRIAL 2" + second
    else:
        lines = text.splitlines(keepends=True)
        text += "".join(lines[:40])
    path.write_text(text, encoding="utf-8")
    done = imported(tmp_path)
    assert named in told_of(done, kind)
    assert curves(done) == WHOLE


def test_a_duplicate_that_says_something_else_is_named(tmp_path: Path) -> None:
    paths = write_all(tmp_path / "clone")
    lines = paths["programming"].read_text(encoding="utf-8").splitlines(keepends=True)
    altered = [line.replace('"is_solved": true', '"is_solved": false') for line in lines[:3]]
    paths["programming"].write_text("".join([*lines, *altered]), encoding="utf-8")
    entries = json.loads(paths["alfworld"].read_text(encoding="utf-8"))
    paths["alfworld"].write_text(json.dumps([*entries, entries[0] | {"is_success": False}]), encoding="utf-8")
    done = imported(tmp_path)
    assert told_of(done, "programming").startswith("3 problems listed twice (3 of them with another text)")
    assert "1 environment listed twice (1 of them with another text)" in told_of(done, "alfworld")
    assert curves(done) == WHOLE


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("encoding", "named"),
    [
        ("latin-1", "WINDOWS-1252"),
        ("utf-16", "UTF-16"),
        ("utf-16-be", "UTF-16-BE"),
        ("utf-32", "UTF-32"),
        ("utf-8-sig", "UTF-8-SIG"),
    ],
)
def test_another_encoding_is_named_and_read(tmp_path: Path, kind: str, encoding: str, named: str) -> None:
    path = write_all(tmp_path / "clone")[kind]
    text = path.read_text(encoding="utf-8").replace("Nobody", "Zoë").replace("def add", "é def add")
    text = text.replace("\\u00e9", "é") if kind == "programming" else text
    path.write_text(text.replace("\n", "\r\n"), encoding=encoding, newline="")
    done = imported(tmp_path)
    assert f"read as {named}" in told_of(done, kind)
    assert curves(done) == WHOLE


@pytest.mark.parametrize("kind", KINDS)
def test_zero_bytes_are_named_and_the_rest_is_counted(tmp_path: Path, kind: str) -> None:
    path = write_all(tmp_path / "clone")[kind]
    content = path.read_bytes()
    path.write_bytes(content + bytes(512))
    done = imported(tmp_path)
    assert "zero bytes in it: 512" in told_of(done, kind)
    assert curves(done) == WHOLE
    # A hole must not make one row of the two at its ends.
    path.write_bytes(content[:3000] + bytes(500) + content[3500:])
    done = imported(tmp_path)
    assert "zero bytes in it: 500" in told_of(done, kind)
    assert all(now <= whole for now, whole in zip(curves(done)[kind], WHOLE[kind], strict=True))


def test_a_file_without_end_is_named_and_not_read(tmp_path: Path) -> None:
    for path in write_all(tmp_path / "clone").values():
        os.truncate(path, 1 << 40)
    done = imported(tmp_path)
    assert all("is larger than 64 MB, and not read" in told_of(done, kind) for kind in ("hotpotqa", "programming"))
    assert "env_results_trial_1.json: is larger than 64 MB" in told_of(done, "alfworld")
    assert curves(done) == {"alfworld": [50, 50, 90], "webshop": [33]}


def test_what_must_not_be_read_is_named(tmp_path: Path) -> None:
    path = write_all(tmp_path / "clone")["programming"]
    path.parent.chmod(0o444)
    try:
        path.stat()
    except PermissionError:
        done = imported(tmp_path)
        assert (path.relative_to(tmp_path / "clone").as_posix(), "cannot be read: Permission denied") in done.left_out
        assert curves(done) == {kind: solved for kind, solved in WHOLE.items() if kind != "programming"}
    else:
        pytest.skip("whoever runs this may read everything")
    finally:
        path.parent.chmod(0o755)


def test_a_missing_trial_is_named_and_what_it_solved_counts_later(tmp_path: Path) -> None:
    path = write_all(tmp_path / "clone")["alfworld"]
    path.unlink()
    done = imported(tmp_path)
    assert "no results of trial 1: what was solved there counts later" in told_of(done, "alfworld")
    assert curves(done)["alfworld"] == [50, 50, 90]


@pytest.mark.parametrize(
    ("name", "content", "named"),
    [
        (
            f"alfworld_runs/{ROOT}/a/env_results_trial_0.json",
            '{"env_0": true}',
            "cut off or damaged after 0 environments",
        ),
        (f"alfworld_runs/{ROOT}/a/env_results_trial_0.json", '[{"name": "env_0"}]', "1 entries are no environment"),
        (f"hotpotqa_runs/{ROOT}/ReAct/base/100_questions_5_trials.txt", "no log", "lists no question"),
        (
            f"hotpotqa_runs/{ROOT}/ReAct/base/log.txt",
            "---- BEGIN CORRECT AGENTS ----\nQuestion: Who?",
            "lists no question",
        ),
        (
            f"hotpotqa_runs/{ROOT}/a/100_questions_results.json",
            '[{"trial": 1, "correct": 40}]',
            "counts by trial and no",
        ),
        (
            f"programming_runs/{ROOT}/a/mbpp-py._simple_1_gpt-4_pass_at_k_1_py.jsonl",
            "[1]\nno",
            "line 2 is cut off in the middle, and is left out; no row of a log, and left out: line 1",
        ),
        (
            f"programming_runs/{ROOT}/a/mbpp-py._simple_1_gpt-4_pass_at_k_1_py.jsonl",
            "row\0\n",
            "zero bytes in it: 1",
        ),
        (f"hotpotqa_runs/{ROOT}/a/plain.joblib", pickle.dumps({"a": [1]}), "plain data, but no list of agents"),
        (f"hotpotqa_runs/{ROOT}/ReAct/reflexion/agent_dicts", pickle.dumps(Path()), "refused, and nothing in it run"),
        (f"hotpotqa_runs/{ROOT}/appendix.txt", "Previous Trial:\nQuestion: Who?", "lists no question"),
        (f"hotpotqa_runs/{ROOT}/a/agents.pkl", pickle.dumps(KINDS)[:-3], "no pickle that can be read"),
    ],
)
def test_what_should_be_a_log_and_is_none_is_named(
    tmp_path: Path, name: str, content: str | bytes, named: str
) -> None:
    write_all(tmp_path / "clone")
    path = tmp_path / "clone" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    done = imported(tmp_path)
    assert [(name in source or source in name, named in why) for source, why in done.left_out] == [(True, True)]
    assert curves(done) == WHOLE


def test_rows_that_are_none_are_left_out(tmp_path: Path) -> None:
    path = write_all(tmp_path / "clone")["programming"]
    text = path.read_text(encoding="utf-8")
    odd = ['{"task_id": "HumanEval/900"}', '{"is_solved": true}', "[]", '{"task_id": "a", "is_solved": 1}', "no"]
    # A verdict of LeetCode, which belongs elsewhere.
    odd.append('{"name": "two-sum", "status": "Accepted", "reward": true}')
    path.write_text("\n".join(odd) + "\n" + text, encoding="utf-8")
    done = imported(tmp_path)
    assert told_of(done, "programming") == "no row of a log, and left out: line 1, 2, 3, 4, 5 and 1 more"
    assert curves(done) == WHOLE


def test_success_that_is_taken_back_is_named_and_counts(tmp_path: Path) -> None:
    path = write_all(tmp_path / "clone")["alfworld"].with_name("env_results_trial_2.json")
    path.write_text(path.read_text(encoding="utf-8").replace("true", "false", 1), encoding="utf-8")
    done = imported(tmp_path)
    assert told_of(done, "alfworld") == "trial 2: solved before and not in it, counted as solved: env_0"
    assert curves(done) == WHOLE


def test_other_files_are_no_logs_and_nobody_waits_for_a_pipe(tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    write_all(clone)
    (clone / "requirements.txt").write_text("openai==0.27\n")
    (clone / "samples.jsonl").write_text('{"task_id": "HumanEval/0", "completion": ""}\n')
    (clone / "settings.json").write_text("[1, 2]")
    (clone / ".git").mkdir()
    (clone / ".git" / "100_questions_1_trials.txt").write_text("no log")
    os.mkfifo(clone / "100_questions_2_trials.txt")
    os.mkfifo(clone / ALFWORLD / "env_results_trial_9.json")
    done = imported(tmp_path)
    assert (done.left_out, curves(done)) == ([], WHOLE)


def test_an_empty_clone_is_refused(tmp_path: Path) -> None:
    (tmp_path / "clone").mkdir()
    with pytest.raises(ConfigurationError, match="holds no log"):
        imported(tmp_path)
