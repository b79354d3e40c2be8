"""The wheel holds the package and nothing else, and works without the repository."""

import json
import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINKS = ("envs", "graph", "nodes", "prompts")


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=env | environment, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{command} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    # By way of the sdist, so that nothing comes from an earlier build in the repository.
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT, cwd=folder)
    return next(folder.glob("*.whl"))


def shipped() -> set[str]:
    """Every file that belongs into the wheel, by its path there."""
    listed = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=ROOT).split("\0")
    tracked = [name for name in listed if (ROOT / name).is_file()]
    folders = tuple(f"{link}/" for link in LINKS)
    linked = {f"langgraph_reflexion/{name}" for name in tracked if name.startswith(folders)}
    return linked | {name.removeprefix("src/") for name in tracked if name.startswith("src/")}


def test_wheel_contains_every_file_and_no_other_top_level_name(wheel: Path) -> None:
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert {name.split("/")[0] for name in names} == {"langgraph_reflexion"}
    assert names == shipped()


def test_wheel_works_in_an_environment_without_the_repository(wheel: Path, tmp_path: Path) -> None:
    run(sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv", cwd=tmp_path)
    python = tmp_path / "venv" / "bin" / "python"
    install = ("pip", "--python", python, "install", "--quiet", "--disable-pip-version-check", "--no-deps", wheel)
    run(sys.executable, "-m", *install, cwd=tmp_path)
    # The dependencies are this environment's; an editable installation is not found through such a path.
    where = "import sysconfig; print(sysconfig.get_path('purelib'))"
    packages = Path(run(python, "-c", where, cwd=tmp_path).strip())
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    command = python.with_name("langgraph-reflexion")
    arguments = ("run", "alfworld", "--limit", "3", "--max-trials", "3", "--out", "mine", "--json")
    summary = json.loads(run(command, *arguments, cwd=tmp_path))
    assert summary["tasks"] == 3
    assert len((tmp_path / "mine" / "trials.jsonl").read_text().splitlines()) >= 3
    assert json.loads(run(command, "report", "mine", "--json", cwd=tmp_path))["runs"][0]["tasks"] == 3
    found = run(python, "-c", "import langgraph_reflexion as r; r.create_reflexion; print(r.__file__)", cwd=tmp_path)
    assert Path(found.strip()).is_relative_to(packages)
    with pytest.raises(AssertionError, match="No module named 'graph'"):
        run(python, "-c", "import graph", cwd=tmp_path)
