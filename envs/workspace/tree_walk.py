"""The files of a folder that belong to the workspace.

Excluded are `.git`, caches by their names and by their `CACHEDIR.TAG`, which a trial may delete, and anything but
files, folders and links. Folders of installed dependencies (`node_modules`, virtual environments) are listed apart:
commands see them read-only, and they are never copied.
"""

import os
import stat
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

_SIGNATURE = b"Signature: 8a477f597d28d172789f06886806bc55"
EXCLUDED = {".git", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache"}
"""Names that belong to no workspace."""


@dataclass
class Found:
    """The contents of a folder, as sorted paths relative to it, with `/`."""

    files: list[str] = field(default_factory=list)
    """Files and links."""
    empty: list[str] = field(default_factory=list)
    """Folders without anything that belongs to the workspace."""
    excluded: list[str] = field(default_factory=list)
    """Paths that do not belong to the workspace."""
    dependencies: list[str] = field(default_factory=list)
    """Folders of installed dependencies."""
    size: int = 0
    """Bytes of all files."""


def walk(root: Path, dependencies: Collection[str] | None = None) -> Found:
    """List a folder recursively. No link is followed. Unless given, the folders of dependencies are recognised.

    Raises:
        OSError: a folder cannot be read.
    """
    found = Found()
    folders = [""]
    while folders:
        folder = folders.pop()
        with os.scandir(os.path.join(root, folder)) as scanned:
            entries = list(scanned)
        if folder and any(entry.name == "CACHEDIR.TAG" and _is_cache(entry) for entry in entries):
            found.excluded.append(folder)
            continue
        names = {entry.name for entry in entries}
        excluded = _excluded(names)
        if folder and names <= excluded:
            found.empty.append(folder)
        prefix = ""
        if folder:
            prefix = f"{folder}/"
        for entry in entries:
            path = prefix + entry.name
            if entry.name in excluded:
                found.excluded.append(path)
            elif not entry.is_dir(follow_symlinks=False):
                _add_file(found, path, entry)
            elif _is_dependency(path, entry.path, dependencies):
                found.dependencies.append(path)
            else:
                folders.append(path)
    for paths in (found.files, found.empty, found.dependencies):
        paths.sort()
    return found


def _excluded(names: set[str]) -> set[str]:
    """Return the names that belong to no workspace, in a folder with these names."""
    if "Cargo.toml" in names:
        # What cargo builds.
        return EXCLUDED | {"target"}
    return EXCLUDED


def _add_file(found: Found, path: str, entry: os.DirEntry[str]) -> None:
    if entry.is_symlink() or entry.is_file():
        found.files.append(path)
        found.size += entry.stat(follow_symlinks=False).st_size
    else:
        found.excluded.append(path)


def _is_dependency(path: str, place: str, known: Collection[str] | None) -> bool:
    if known is not None:
        return path in known
    return holds_dependencies(place)


def holds_dependencies(folder: str | os.PathLike[str]) -> bool:
    """Return whether a folder is one of installed dependencies, by its name or a virtual environment's mark."""
    if os.path.basename(folder) == "node_modules":
        return True
    return os.path.isfile(os.path.join(folder, "pyvenv.cfg"))


def _is_cache(tag: os.DirEntry[str]) -> bool:
    if not stat.S_ISREG(tag.stat(follow_symlinks=False).st_mode):
        return False
    try:
        with open(tag.path, "rb") as file:
            return file.read(len(_SIGNATURE)) == _SIGNATURE
    except PermissionError:
        return False
