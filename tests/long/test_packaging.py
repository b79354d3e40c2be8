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
FOLDERS = ("envs", "graph", "nodes", "prompts")


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


@pytest.fixture(scope="module")
def repository():
    if not (ROOT / ".git").exists():
        pytest.skip("needs a clone: git lists the files")
    return ROOT


def shipped(repository):
    """Every file that belongs in the wheel, by its path there."""
    listed = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=repository).split("\0")
    # In a clone without links, the links are text files.
    links = {f"src/langgraph_reflexion/{folder}" for folder in FOLDERS}
    tracked = [name for name in listed if (repository / name).is_file() and name not in links]
    top = tuple(f"{folder}/" for folder in FOLDERS)
    mapped = {f"langgraph_reflexion/{name}" for name in tracked if name.startswith(top)}
    return mapped | {name.removeprefix("src/") for name in tracked if name.startswith("src/")}


def contents(wheel):
    """The names of the files in a wheel, in order; a name that is there twice is listed twice."""
    return sorted(name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name)


def test_wheel_contains_every_file_and_no_other_top_level_name(wheel, repository):
    names = contents(wheel)
    assert {name.split("/")[0] for name in names} == {"langgraph_reflexion"}
    assert names == sorted(shipped(repository))


def clone(repository, folder):
    run("git", "clone", "--quiet", repository, folder, cwd=repository)


def clone_without_links(repository, folder):
    """As git for Windows does."""
    run("git", "-c", "core.symlinks=false", "clone", "--quiet", repository, folder, cwd=repository)


def unpack_archive(repository, folder):
    """As from a web page's "Download ZIP": Python's zipfile, too, unpacks a link as a text file with its target."""
    folder.mkdir()
    run("git", "archive", "--format=zip", f"--output={folder}.zip", "HEAD", cwd=repository)
    zipfile.ZipFile(f"{folder}.zip").extractall(folder)


def wheel_of(source, folder):
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, source, cwd=source)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def committed(repository, tmp_path_factory):
    """The contents of the wheel from a clone with links."""
    folder = tmp_path_factory.mktemp("committed")
    clone(repository, folder / "source")
    assert (folder / "source" / "src" / "langgraph_reflexion" / "graph").is_symlink()
    return contents(wheel_of(folder / "source", folder))


COMMIT = "langgraph_reflexion/commit.txt"
"""What a wheel from a clone says of its commit, which an archive does not know."""


@pytest.mark.parametrize(("get", "missing"), [(clone_without_links, set()), (unpack_archive, {COMMIT})])
def test_wheel_is_the_same_from_a_tree_without_links(repository, committed, get, missing, tmp_path):
    source = tmp_path / "source"
    get(repository, source)
    assert not (source / "src" / "langgraph_reflexion" / "graph").is_symlink()
    assert COMMIT in committed
    assert contents(wheel_of(source, tmp_path)) == [name for name in committed if name not in missing]


def test_editable_installation_works_without_links_and_finds_new_modules(repository, tmp_path):
    source = tmp_path / "source"
    unpack_archive(repository, source)
    # What `pip install --editable` does, without downloading setuptools.
    building = "import build, sys; build.ProjectBuilder(sys.argv[1]).build('editable', sys.argv[2])"
    run(sys.executable, "-c", building, source, tmp_path, cwd=tmp_path)
    python = virtual_environment(tmp_path / "venv", next(tmp_path.glob("*.whl")))
    (source / "nodes" / "added.py").write_text("HERE = __file__\n", encoding="utf-8")
    program = "import langgraph_reflexion as r; r.create_reflexion; from langgraph_reflexion.nodes.added import HERE"
    found = run(python, "-c", f"{program}; print(HERE)", cwd=tmp_path)
    assert Path(found.strip()) == source / "nodes" / "added.py"
    # Prompts and tasks are files beside the modules.
    arguments = ("run", "hotpotqa", "--limit", "1", "--max-trials", "1", "--out", "mine", "--json")
    ran = run(python, "-W", "ignore", "-m", "langgraph_reflexion", *arguments, cwd=tmp_path)
    assert json.loads(ran)["tasks"] == 1


def virtual_environment(folder, wheel):
    """Create a virtual environment, install a wheel without its dependencies, and return the interpreter."""
    folder.mkdir(exist_ok=True)
    run(sys.executable, "-m", "venv", "--without-pip", folder, cwd=folder)
    python = folder / "bin" / "python"
    install = ("pip", "--python", python, "install", "--quiet", "--disable-pip-version-check", "--no-deps", wheel)
    run(sys.executable, "-m", *install, cwd=folder)
    # The dependencies are this environment's; an editable installation is not found through such a path.
    (packages_of(python) / "dependencies.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    return python


@pytest.fixture(scope="module")
def python(wheel, tmp_path_factory):
    """The interpreter of a virtual environment with the wheel."""
    return virtual_environment(tmp_path_factory.mktemp("venv"), wheel)


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
