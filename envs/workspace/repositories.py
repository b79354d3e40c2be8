"""Small repositories of the project's own, each with a mistake in it: read from a file each, and laid out on disk.

They ship as TOML, not as folders, so that no tool takes their broken sources for the project's. `defect` says what is
put in for what; it is never written to disk, so nothing in the workspace tells where the mistake is.
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
    """A mistake that is put into a file."""

    path: str
    right: str
    wrong: str


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository with a mistake in it.

    Attributes:
        id: Names it.
        instruction: What is to be done, in words; it does not say where the mistake is.
        verify: The commands that all have to exit 0.
        needs: The programs that these use.
        files: Every file's text by its path, without the mistake.
        defect: The mistake.
    """

    id: str
    instruction: str
    verify: tuple[str, ...]
    needs: tuple[str, ...]
    files: dict[str, str]
    defect: Defect

    def write(self, folder: Path, *, broken: bool = True) -> Path:
        """Lay it out in a folder, and say which one.

        Args:
            folder: The folder; it is made. What stands there already as it should is not touched.
            broken: Whether the mistake is put in.

        Raises:
            ConfigurationError: the mistake does not fit the file that it belongs in.
        """
        for name, text in self.files.items():
            if broken and name == self.defect.path:
                text = self._spoilt(text)
            path = folder / name
            if not path.is_file() or path.read_text(encoding="utf-8") != text:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
        return folder

    def _spoilt(self, text: str) -> str:
        if text.count(self.defect.right) != 1:
            raise ConfigurationError(f"{self.id}: {self.defect.right!r} is not once in {self.defect.path}")
        return text.replace(self.defect.right, self.defect.wrong)


@cache
def own_repositories() -> tuple[Repository, ...]:
    """The repositories that ship, in the order of their names."""
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


def lay_out(repositories: Iterable[Repository], folder: Path) -> list[dict[str, Any]]:
    """Lay repositories out in a folder, as far as they are not there, and say of each what a task file would.

    Args:
        repositories: The repositories.
        folder: Holds a folder for each, named after what is in it, so that no other version is taken for it.

    Raises:
        EnvironmentUnavailable: the folder cannot be written to.
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
        # A result may have been written back there.
        repository.write(place)
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    # Another process may be at it, too: whoever is first puts all of it in place at once.
    with tempfile.TemporaryDirectory(dir=place.parent, prefix=".making-") as making:
        repository.write(Path(making) / "made")
        with contextlib.suppress(FileExistsError):
            os.rename(Path(making) / "made", place)
