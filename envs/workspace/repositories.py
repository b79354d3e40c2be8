"""Small repositories with one defect each, which are read from TOML files and written to disk.

They ship as TOML, so that no tool takes their broken sources for the project's. `defect` is never written to disk, so
nothing in the workspace reveals it.
"""

import hashlib
import tomllib
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from langgraph_reflexion.errors import EnvironmentUnavailable

_HERE = Path(__file__).parent / "own"


@dataclass(frozen=True, slots=True)
class Defect:
    """A replacement in a file that makes tests fail."""

    path: str
    right: str
    wrong: str


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository with a defect."""

    id: str
    instruction: str
    """The task's instruction, which does not name the defect's place."""
    verify: list[str]
    files: dict[str, str]
    """The correct files by path."""
    defect: Defect

    def write(self, folder: Path) -> Path:
        """Write the files, with the defect, into a folder, which is created, and return the folder."""
        for name, text in self.files.items():
            if name == self.defect.path:
                text = text.replace(self.defect.right, self.defect.wrong)
            path = folder / name
            # A patch may have been applied there.
            if path.is_file() and path.read_text(encoding="utf-8") == text:
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            # Another process may read it, so it changes as a whole.
            made = folder.parent / f".{uuid.uuid4().hex}"
            made.write_text(text, encoding="utf-8")
            made.replace(path)
        return folder


@cache
def own_repositories() -> tuple[Repository, ...]:
    """Return the repositories that ship, sorted by name."""
    form = TypeAdapter(Repository)
    repositories = []
    for file in sorted(_HERE.glob("*.toml")):
        table = tomllib.loads(file.read_text(encoding="utf-8"))
        repositories.append(form.validate_python(table))
    return tuple(repositories)


def write_repositories(repositories: Iterable[Repository], folder: Path) -> list[dict[str, Any]]:
    """Write repositories into folders named after their content, and return a task file's table for each.

    Raises:
        EnvironmentUnavailable: the folder cannot be written.
    """
    tasks = []
    for repository in repositories:
        digest = hashlib.sha256(repr(repository).encode()).hexdigest()[:12]
        place = folder / f"{repository.id}-{digest}"
        try:
            repository.write(place)
        except OSError as error:
            raise EnvironmentUnavailable(f"{place} cannot be written: {error.strerror}") from None
        task = {
            "id": repository.id,
            "path": place,
            "instruction": repository.instruction,
            "verify": repository.verify,
        }
        tasks.append(task)
    return tasks
