"""Files that somebody else wrote: each that cannot be used is one clear line, and nothing waits or grows."""

import gzip
import json
import os
import subprocess
import sys

import pytest

from langgraph_reflexion.agents.task_file import open_tasks
from langgraph_reflexion.envs.workspace.tasks import read_tasks
from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.lab.experiments.comparison import compare
from langgraph_reflexion.lab.experiments.matrix_file import read_experiment
from langgraph_reflexion.lab.experiments.rows import LONGEST_NOTE, brief
from langgraph_reflexion.lab.experiments.runs import read_info, read_run
from langgraph_reflexion.lab.run_settings import RunSettings
from langgraph_reflexion.support.files import MAX_UNPACKED
from tests.support.cli import call
from tests.support.run_folders import row

EXPERIMENT = '[matrix]\nenvironments = ["alfworld"]\n'
CODE = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
from langgraph_reflexion.agents.task_file import open_tasks
try:
    list(open_tasks(sys.argv[1]).rows("tasks"))
except ValueError as error:
    print(error)
"""


def said(read, file):
    with pytest.raises(ConfigurationError) as caught:
        read(file)
    words = str(caught.value)
    assert "\n" not in words
    assert str(file) in words
    return words


TOML = {
    "deep": (f"x = {'[' * 20_000}{']' * 20_000}\n", "nested more than 50 levels deep"),
    "less deep": (f"x = {'[' * 200}{']' * 200}\n", "nested more than 50 levels deep"),
    "tables": (f"[{'.'.join('a' * 300)}]\n", "nested more than 50 levels deep"),
    "digits": (f"x = {'1' * 5000}\n", "is not TOML: "),
    "bytes": ("\udcff = 1\n", "is not TOML: "),
}


@pytest.mark.parametrize("name", TOML)
@pytest.mark.parametrize("read", [read_experiment, read_tasks])
def test_toml(tmp_path, read, name):
    content, words = TOML[name]
    file = tmp_path / "file.toml"
    file.write_text(content, errors="surrogateescape")
    assert words in said(read, file)


@pytest.mark.parametrize("seeds", ["100000000", str(10**30), "[" + "1, " * 1_001 + "]"])
def test_seeds_without_end(tmp_path, seeds):
    file = tmp_path / "file.toml"
    file.write_text(f"{EXPERIMENT}seeds = {seeds}\n")
    assert "there may be at most 1000 of them" in said(read_experiment, file)


def test_environments_without_end(tmp_path):
    file = tmp_path / "file.toml"
    file.write_text(f"[matrix]\nenvironments = {[f'e{n}' for n in range(30_000)]}\n")
    assert "there may be at most 1000 of them" in said(read_experiment, file)


def test_many_seeds(tmp_path):
    file = tmp_path / "file.toml"
    file.write_text(f"{EXPERIMENT}seeds = 300\n")
    assert len(read_experiment(file).specs) == 300


@pytest.mark.parametrize(
    "read", [read_experiment, read_tasks, lambda file: list(open_tasks(str(file)).rows("tasks"))]
)
def test_a_pipe_is_not_waited_for(tmp_path, read):
    file = tmp_path / "tasks.jsonl"
    os.mkfifo(file)
    assert "is not an ordinary file" in said(read, file)


@pytest.mark.slow
def test_a_gzipped_file_without_end(tmp_path):
    file = tmp_path / "tasks.jsonl"
    # A file may have several packed parts, and is as long as all of them.
    part = gzip.compress(bytes(1 << 24), compresslevel=1)
    file.write_bytes(part * ((MAX_UNPACKED >> 24) + 1))
    done = subprocess.run([sys.executable, "-c", CODE, str(file)], capture_output=True, text=True, check=True)
    assert "unpacked, it has more than 1024 MB" in done.stdout


INFO = {
    "settings": {
        "environment": "alfworld",
        "split": None,
        "strategy": "retry",
        "model": "demo",
        "reflection_model": None,
        "profile": "mine",
        "evaluator": "truth",
        "seed": 0,
        "max_trials": 1,
    },
    "run_id": "1",
    "tasks": ["a"],
}


def write_run(folder, rows="", **more):
    (folder / "run.json").write_text(json.dumps({**INFO, **more}))
    (folder / "trials.jsonl").write_text(rows)
    return folder


@pytest.mark.parametrize("wrong", [None, [], "a", {"a": None}, {"a": {"b": 1}}])
@pytest.mark.parametrize("name", ["goals", "errors"])
def test_a_table_of_run_json(tmp_path, name, wrong):
    folder = write_run(tmp_path, **{name: wrong})
    assert f"run.json: {name}" in said(read_info, folder)
    assert f"run.json: {name}" in said(read_run, folder)


def test_a_nested_row(tmp_path):
    deep = '{"task_id": "a", "trial": 1, "x": ' + "[" * 100_000 + "]" * 100_000 + "}\n"
    assert "trials.jsonl, line 1, is nested too deeply" in said(read_run, write_run(tmp_path, deep))


def test_a_nested_run_json(tmp_path):
    folder = write_run(tmp_path)
    (folder / "run.json").write_text("[" * 100_000 + "]" * 100_000)
    assert "run.json is nested too deeply" in said(read_run, folder)


def test_the_row_and_the_field_of_a_wrong_value_are_named(tmp_path):
    wrong = row("a", 1, False, usage={}, measures={}, seconds="long")
    folder = write_run(tmp_path, json.dumps(wrong) + "\n")
    assert "trials.jsonl, line 1: seconds must be a valid number, not 'long': mend the line" in said(read_run, folder)


def test_a_row_without_a_field(tmp_path):
    short = row("a", 1, False)
    del short["notes"]
    folder = write_run(tmp_path, json.dumps(short) + "\n")
    assert "trials.jsonl, line 1: notes is missing: mend the line" in said(read_run, folder)


def test_of_several_runs_the_broken_one_is_named(tmp_path):
    folders = [tmp_path / name for name in ("whole", "broken")]
    for folder in folders:
        folder.mkdir()
        write_run(folder, json.dumps(row("a", 1, True)) + "\n")
    (folders[1] / "trials.jsonl").write_text(json.dumps(row("a", 1, True, notes=[3])) + "\n")
    assert "notes.0 must be a string, not 3" in said(lambda _: compare(folders), folders[1])


def test_trials_without_end(tmp_path):
    # Reports have a place for each trial.
    folder = write_run(tmp_path, json.dumps(row("a", 10**9, True)) + "\n")
    assert "trial must be less than or equal to 10000" in said(read_run, folder)
    with pytest.raises(ConfigurationError, match="max_trials must be less than or equal to 10000"):
        RunSettings.read({"environment": "alfworld", "max_trials": 10**9})


def test_a_note_of_megabytes_is_shortened():
    noted = {"task_id": "a", "trial": 1, "notes": ["n" * 5_000_000, "short"], "steps": []}
    assert [len(note) for note in brief(noted)["notes"]] == [LONGEST_NOTE, 5]


@pytest.mark.parametrize("name", ["seconds", "cost", "score"])
def test_a_number_of_a_row_that_is_none(tmp_path, name):
    written = json.dumps(row("a", 1, True, **{name: float("nan")}))
    assert f"{name} must be a finite number" in said(read_run, write_run(tmp_path, f"{written}\n"))


def test_a_report_as_json_is_json_whatever_the_settings_hold(tmp_path):
    made = {**INFO["settings"], "options": {"limit": float("nan")}}
    folder = write_run(tmp_path, json.dumps(row("a", 1, True)) + "\n", settings=made)
    status, out, _ = call(tmp_path, "report", str(folder), "--json")
    assert status == 0
    printed = json.loads(out, parse_constant=pytest.fail)
    assert printed["runs"][0]["settings"]["options"] == {"limit": None}
