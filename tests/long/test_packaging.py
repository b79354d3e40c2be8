import json
import os
import shlex
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest
from langgraph_sdk import get_sync_client

from tests.support.processes import langgraph_dev
from tests.support.tools import need

ROOT = Path(__file__).parents[2]
LINKS = ("envs", "graph", "nodes", "prompts")


def run(*command, cwd, **environment):
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=env | environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"{command} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    # Built from the sdist, so that nothing comes from an earlier build in the repository.
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT, cwd=folder)
    return next(folder.glob("*.whl"))


def shipped():
    """Every file that belongs in the wheel, by its path there."""
    listed = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=ROOT).split("\0")
    tracked = [name for name in listed if (ROOT / name).is_file()]
    folders = tuple(f"{link}/" for link in LINKS)
    linked = {f"langgraph_reflexion/{name}" for name in tracked if name.startswith(folders)}
    return linked | {name.removeprefix("src/") for name in tracked if name.startswith("src/")}


def test_wheel_contains_every_file_and_no_other_top_level_name(wheel):
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert {name.split("/")[0] for name in names} == {"langgraph_reflexion"}
    assert names == shipped()


@pytest.fixture(scope="module")
def python(wheel, tmp_path_factory):
    """The interpreter of a virtual environment with the wheel."""
    folder = tmp_path_factory.mktemp("venv")
    run(sys.executable, "-m", "venv", "--without-pip", folder, cwd=folder)
    python = folder / "bin" / "python"
    install = ("pip", "--python", python, "install", "--quiet", "--disable-pip-version-check", "--no-deps", wheel)
    run(sys.executable, "-m", *install, cwd=folder)
    # The dependencies are this environment's; an editable installation is not found through such a path.
    (packages_of(python) / "dependencies.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    return python


def packages_of(python):
    where = "import sysconfig; print(sysconfig.get_path('purelib'))"
    return Path(run(python, "-c", where, cwd=python.parent).strip())


def test_wheel_works_in_an_environment_without_the_repository(python, tmp_path):
    command = python.with_name("langgraph-reflexion")
    arguments = ("run", "alfworld", "--limit", "3", "--max-trials", "3", "--out", "mine", "--json")
    summary = json.loads(run(command, *arguments, cwd=tmp_path))
    assert summary["tasks"] == 3
    assert len((tmp_path / "mine" / "trials.jsonl").read_text().splitlines()) >= 3
    assert json.loads(run(command, "report", "mine", "--json", cwd=tmp_path))["runs"][0]["tasks"] == 3
    found = run(python, "-c", "import langgraph_reflexion as r; r.create_reflexion; print(r.__file__)", cwd=tmp_path)
    assert Path(found.strip()).is_relative_to(packages_of(python))
    with pytest.raises(AssertionError, match="No module named 'graph'"):
        run(python, "-c", "import graph", cwd=tmp_path)


def test_project_of_init_does_what_it_says(python, tmp_path):
    pytest.importorskip("langgraph_api", reason="needs the extra [studio]: pip install '.[studio]'")
    here = f"{python.parent}{os.pathsep}{os.environ['PATH']}"
    said = run("langgraph-reflexion", "init", "mine", cwd=tmp_path, PATH=here)
    project = tmp_path / "mine"
    commands = [shlex.split(line, comments=True) for line in said.split("\n\n")[1].splitlines()]
    assert commands[0] == ["cd", "mine"]
    assert commands[-2:] == [["pytest"], ["langgraph", "dev"]]
    for command in commands[1:-2]:
        run(*command, cwd=project, PATH=here)
    assert " passed" in run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=project)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment["LANGSMITH_TRACING"] = "false"
    given = {"messages": [{"role": "user", "content": "Describe autumn in exactly 3 words."}]}
    with (
        langgraph_dev(project / "langgraph.json", project / "log", environment, python=python) as address,
        get_sync_client(url=address) as client,
    ):
        final = client.runs.wait(None, "agent", input=given)
    assert [trial["verdict"] for trial in final["trials"]] == [False, True]


def test_environment_of_init_passes_its_tests(python, tmp_path):
    run(python, "-m", "langgraph_reflexion", "init", "--kind", "environment", cwd=tmp_path)
    assert " passed" in run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=tmp_path)


def test_candidates_cannot_read_the_canonical_solutions(python, tmp_path):
    need("bubblewrap")
    grading = (
        "from langgraph_reflexion.envs.programming.environment import Programming\n"
        "problems = Programming()\n"
        "first, grader = next(iter(problems.problems.values())), problems.grader\n"
        "cheat = 'from langgraph_reflexion.envs.programming.environment import Programming as P\\n'\n"
        "cheat += 'exec(next(iter(P().problems.values())).canonical)'\n"
        "print(grader.failure(first, first.canonical), grader.failure(first, cheat))"
    )
    said = run(python, "-W", "ignore", "-c", grading, cwd=tmp_path)
    assert said.startswith("None ")
    assert "No module named 'langgraph_reflexion" in said
