"""Small repositories with one defect each, which are read from TOML files and written to disk.

They ship as TOML, so that no tool takes their broken sources for the project's. `defect` is never written to disk, so
nothing in the workspace reveals it.
"""

import contextlib
import hashlib
import os
import tempfile
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from langgraph_reflexion.errors import ConfigurationError, EnvironmentUnavailable

_HERE = Path(__file__).parent / "own"


@dataclass(frozen=True, slots=True)
class Defect:
    """A replacement in a file that makes tests fail."""

    path: str
    right: str
    wrong: str


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository with a defect.

    Attributes:
        id: Its id.
        instruction: The task's instruction, which does not name the defect's place.
        verify: The verification commands.
        needs: The programs that they use.
        files: The correct files by path.
        defect: The defect.
    """

    id: str
    instruction: str
    verify: tuple[str, ...]
    needs: tuple[str, ...]
    files: dict[str, str]
    defect: Defect

    def write(self, folder: Path, *, broken: bool = True) -> Path:
        """Write the files into a folder, unless they are there already, and return the folder.

        Args:
            folder: The folder, which is created.
            broken: Whether to insert the defect.

        Raises:
            ConfigurationError: the defect does not fit its file.
        """
        for name, text in self.files.items():
            if broken and name == self.defect.path:
                text = self._with_defect(text)
            path = folder / name
            if not path.is_file() or path.read_text(encoding="utf-8") != text:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
        return folder

    def _with_defect(self, text: str) -> str:
        if text.count(self.defect.right) != 1:
            raise ConfigurationError(f"{self.id}: {self.defect.right!r} is not exactly once in {self.defect.path}")
        return text.replace(self.defect.right, self.defect.wrong)


@cache
def own_repositories() -> tuple[Repository, ...]:
    """Return the repositories that ship, sorted by name."""
    return tuple(_read(path) for path in sorted(_HERE.glob("*.toml")))


def _read(path: Path) -> Repository:
    read: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    return Repository(
        id=read["id"],
        instruction=read["instruction"],
        verify=tuple(read["verify"]),
        needs=tuple(read["needs"]),
        files=read["files"],
        defect=Defect(**read["defect"]),
    )


def write_repositories(repositories: Iterable[Repository], folder: Path) -> list[dict[str, Any]]:
    """Write repositories to disk unless they are there, and return a task file's table for each.

    Args:
        repositories: The repositories.
        folder: The parent of their folders, whose names contain a hash of the content.

    Raises:
        EnvironmentUnavailable: the folder cannot be written.
    """
    tasks = []
    for repository in repositories:
        digest = hashlib.sha256(repr(repository).encode()).hexdigest()[:12]
        place = folder / f"{repository.id}-{digest}"
        try:
            _make(repository, place)
        except OSError as error:
            raise EnvironmentUnavailable(f"{place} cannot be written: {error.strerror}") from None
        tasks.append(
            {
                "id": repository.id,
                "path": place,
                "instruction": repository.instruction,
                "verify": list(repository.verify),
            }
        )
    return tasks


def _make(repository: Repository, place: Path) -> None:
    if place.is_dir():
        # A patch may have been applied there.
        repository.write(place)
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    # Another process may write it, too: the first to finish renames its folder into place.
    with tempfile.TemporaryDirectory(dir=place.parent, prefix=".making-") as making:
        repository.write(Path(making) / "made")
        with contextlib.suppress(FileExistsError):
            os.rename(Path(making) / "made", place)
