import subprocess
from pathlib import Path

from langgraph_reflexion.experiments.provenance import commit_of


def git(folder: Path, *args: str) -> str:
    who = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *who, *args], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def commit(folder: Path) -> None:
    git(folder, "init", "--quiet")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "First")


def test_a_file_of_a_repository_has_its_commit(tmp_path: Path) -> None:
    code = tmp_path / "package" / "__init__.py"
    code.parent.mkdir()
    code.write_text("1")
    commit(tmp_path)
    git(tmp_path, "tag", "v1")
    head = git(tmp_path, "rev-parse", "HEAD")[:12]
    assert commit_of(code) == head
    code.write_text("2")
    assert commit_of(code) == f"{head}-dirty"


def test_a_package_that_is_installed_in_somebodys_repository_has_none(tmp_path: Path) -> None:
    (tmp_path / "mine.py").touch()
    commit(tmp_path)
    installed = tmp_path / "site-packages" / "__init__.py"
    installed.parent.mkdir()
    installed.touch()
    assert commit_of(installed) is None
