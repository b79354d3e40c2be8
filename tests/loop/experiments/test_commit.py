import subprocess
from pathlib import Path

from langgraph_reflexion.experiments.provenance import commit_of


def git(folder: Path, *args: str) -> str:
    who = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *who, *args], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def test_a_file_of_a_repository_has_its_commit(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    code = tmp_path / "package" / "__init__.py"
    code.parent.mkdir()
    code.write_text("1")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "-m", "First")
    git(tmp_path, "tag", "v1")
    commit = git(tmp_path, "rev-parse", "HEAD")
    assert commit_of(code) == commit[:12]
    code.write_text("2")
    assert commit_of(code) == f"{commit[:12]}-dirty"


def test_a_package_that_is_installed_in_somebodys_repository_has_none(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    (tmp_path / "mine.py").touch()
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "-m", "Mine")
    installed = tmp_path / "site-packages" / "__init__.py"
    installed.parent.mkdir()
    installed.touch()
    assert commit_of(installed) is None
