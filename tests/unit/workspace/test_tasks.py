import pytest

from langgraph_reflexion.envs import load_environment
from langgraph_reflexion.envs.workspace.environment import Workspace
from langgraph_reflexion.envs.workspace.protection import Protection, scripts_run
from langgraph_reflexion.envs.workspace.tasks import make_tasks, read_tasks
from langgraph_reflexion.errors import ConfigurationError, EnvironmentUnavailable
from langgraph_reflexion.lab.experiments.runner import run
from langgraph_reflexion.lab.run_settings import RunSettings

GOOD = 'path = "repo"\ninstruction = "Mend it."\nverify = ["make check"]\n'


def written(tmp_path, text):
    (tmp_path / "repo").mkdir(exist_ok=True)
    (tmp_path / "task.toml").write_text(text)
    return tmp_path / "task.toml"


def test_a_task_file_says_where_and_what(tmp_path):
    file = written(tmp_path, GOOD + 'protect = ["data"]\nnetwork = true\ntimeout = 5\nenv = {A = "b"}\n')
    [task] = load_environment("workspace", task=str(file)).tasks()
    assert (task["id"], task["instruction"]) == ("repo", "Mend it.")
    given = {"protect": ["data"], "network": True, "timeout": 5.0, "env": {"A": "b"}}
    assert task["data"] | given | {"path": str(tmp_path / "repo"), "verify": ["make check"]} == task["data"]


def test_several_tasks_each_have_an_id(tmp_path):
    each = "[[task]]\n" + GOOD
    file = written(tmp_path, f'{each}id = "one"\n{each}id = "two"\n')
    assert [task["id"] for task in read_tasks(file)] == ["one", "two"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the key path is missing"),
        (GOOD.replace("repo", "none"), "no folder"),
        (GOOD.replace('["make check"]', "[]"), "verify"),
        (GOOD.replace('"Mend it."', '" "'), "instruction"),
        (GOOD.replace("verify", "verfy"), r"unknown key 'verfy' \(did you mean verify\?\)$"),
        (GOOD + 'id = "../x"', "the key id must match"),
        ("task = [3]", "a task is a table, not 3"),
        (GOOD + 'show = ["none"]', "there is no .*none"),
        (f"id = 'x'\n[[task]]\n{GOOD}", "path"),
        (f"[[task]]\n{GOOD}" * 2, "two tasks have the id 'repo'"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(tmp_path, text, said):
    with pytest.raises(ConfigurationError, match=said) as error:
        read_tasks(written(tmp_path, text))
    assert "\n" not in str(error.value)
    assert "task.toml" in str(error.value)


def test_a_missing_task_file_is_named(tmp_path):
    with pytest.raises(ConfigurationError, match=r"task\.toml cannot be read: No such file"):
        Workspace(tmp_path / "task.toml")


def test_the_store_lies_outside_of_the_workspace(tmp_path):
    workspace = Workspace({"path": tmp_path, "instruction": "x", "verify": "true"}, store=tmp_path / "store")
    with pytest.raises(ConfigurationError, match="give a folder elsewhere as store="):
        workspace.prepare(workspace.tasks()[0])


def test_what_decides_is_protected():
    paths = """
        tests/a.txt a/b/tests/c/d.py src/test_x.py x_test.go src/a.test.ts src/__tests__/a.js Tests/A/a.swift
        pyproject.toml sub/package.json Cargo.lock tsconfig.build.json .eslintrc.cjs Makefile pytest.toml
        .github/workflows/ci.yml sub/conftest.py x.pth .cargo/config.toml a.egg-info/entry_points.txt
        node_modules/.bin/jest .venv/bin/tool data/x data/deep/y extra-1 run.sh
    """
    protection = Protection(["data", "extra-?"], run=["run.sh"])
    assert [path for path in paths.split() if not protection(path)] == []


def test_a_task_protects_and_allows_what_it_is_about_and_nothing_else():
    protection = Protection(["src/data/**/*.json"], ["tests/unit", "package.json"])
    protected = ["src/data/a/b/c.json", "src/data/c.json", "tests/test_a.py"]
    free = ["lib/src/data/c.json", "tests/unit/test_a.py", "sub/package.json", "src/main.py", "contest.py"]
    free += ["latest/x.py", "docs/testing.md", "src/lib.rs", "a.locked"]
    assert [path for path in (*protected, *free) if protection(path)] == protected


def test_the_scripts_that_commands_run_are_found():
    files = {"check.sh", "ci/all.sh", "main.py", "data.txt", "bin/tool"}
    commands = ["./check.sh", "make && sh -e ci/all.sh data.txt", "A=1 bin/tool | grep data.txt", "cat main.py"]
    assert scripts_run(commands, files.__contains__) == ["check.sh", "ci/all.sh", "bin/tool"]
    for command in ("python3 main.py", "node ./main.py", "python3 -m main"):
        assert scripts_run([command], files.__contains__) == ["main.py"]
    wrapped = ["cd ci && timeout -k 5 1m sh all.sh", "nice -n 5 ./check.sh"]
    assert scripts_run(wrapped, files.__contains__) == ["ci/all.sh", "check.sh"]


def test_a_sandbox_that_is_too_weak_is_refused_before_a_run_begins(tmp_path):
    settings = RunSettings(environment="workspace", options={"sandbox": "landlock"}, limit=1)
    with pytest.raises(EnvironmentUnavailable, match=r"sandbox='landlock' is too weak .* --allow-degraded"):
        run(settings, tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("name", ["x" * 100_000, "~no-such-user/repo", "two\nlines"], ids=["long", "user", "lines"])
@pytest.mark.parametrize("key", ["path", "show"])
def test_a_folder_that_cannot_be_is_one_clear_line(tmp_path, key, name):
    given = {"path": "repo", "instruction": "Mend it.", "verify": ["make check"]}
    given[key] = name if key == "path" else [name]
    (tmp_path / "repo").mkdir()
    with pytest.raises(ConfigurationError, match=f"{key}: there is no ") as caught:
        make_tasks([given], tmp_path, "here")
    words = str(caught.value)
    assert "\n" not in words
    assert len(words) < 500
