"""Which commit of the project is at work, where it runs from its repository."""

import subprocess
from pathlib import Path

import langgraph_reflexion


def commit() -> str | None:
    """The commit of the code that is at work, with `-dirty` where files differ from it; None outside a repository."""
    # The package holds links; git knows what they point to.
    return commit_of(Path(langgraph_reflexion.__file__).resolve())


def commit_of(file: Path) -> str | None:
    """The commit that a file belongs to.

    Args:
        file: The file. In a virtual environment inside somebody's repository it is not one of that repository's.
    """
    tracked = _git(file.parent, "ls-files", "--error-unmatch", file.name)
    described = _git(file.parent, "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*")
    return described if tracked and described else None


def _git(folder: Path, *args: str) -> str | None:
    try:
        done = subprocess.run(["git", *args], cwd=folder, capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
