"""The files of a folder that belong to the workspace.

Excluded are `.git`, `__pycache__`, caches with a `CACHEDIR.TAG` (such as cargo's `target` and `.pytest_cache`), and
anything but files, folders and links. Folders of installed dependencies (`node_modules`, virtual environments) are
listed apart: commands see them read-only, and they are never copied.
"""

import os
import stat
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

_SIGNATURE = b"Signature: 8a477f597d28d172789f06886806bc55"
EXCLUDED = {".git", "__pycache__"}
"""Names that belong to no workspace."""


@dataclass
class Found:
    """The contents of a folder. Paths are relative to it, with `/`."""

    files: dict[str, os.stat_result] = field(default_factory=dict)
    """Files and links."""
    empty: list[str] = field(default_factory=list)
    """Folders without anything that belongs to the workspace."""
    folders: list[str] = field(default_factory=list)
    """All folders that are not excluded, parents first."""
    excluded: list[str] = field(default_factory=list)
    """Paths that do not belong to the workspace."""
    dependencies: list[str] = field(default_factory=list)
    """Folders of installed dependencies."""
    size: int = 0
    """Bytes of all files."""


def walk(root: Path, dependencies: Collection[str] | None = None) -> Found:
    """List a folder recursively. No link is followed.

    Args:
        root: The folder.
        dependencies: The folders of installed dependencies; recognised if None.

    Raises:
        OSError: a folder cannot be read.
    """
    found = Found()
    folders = [""]
    while folders:
        folder = folders.pop()
        entries = _entries(os.path.join(root, folder))
        if folder and any(entry.name == "CACHEDIR.TAG" and _is_cache(entry.path) for entry in entries):
            found.excluded.append(folder)
            continue
        if folder:
            found.folders.append(folder)
        kept = 0
        for entry in entries:
            path = f"{folder}/{entry.name}" if folder else entry.name
            if entry.name in EXCLUDED:
                found.excluded.append(path)
                continue
            kept += 1
            if entry.is_dir(follow_symlinks=False):
                if dependencies is None and _holds_dependencies(entry):
                    found.dependencies.append(path)
                elif dependencies is None or path not in dependencies:
                    folders.append(path)
                continue
            status = entry.stat(follow_symlinks=False)
            if stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode):
                found.files[path] = status
                found.size += status.st_size
            else:
                found.excluded.append(path)
        if folder and not kept:
            found.empty.append(folder)
    found.empty.sort()
    found.dependencies.sort()
    return found


def read(path: str, status: os.stat_result) -> bytes:
    """Return a file's content, or a link's target. Raises OSError."""
    if stat.S_ISLNK(status.st_mode):
        return os.fsencode(os.readlink(path))
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
        return file.read()


def _entries(folder: str) -> list[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        return list(entries)


def _holds_dependencies(entry: os.DirEntry[str]) -> bool:
    return entry.name == "node_modules" or os.path.isfile(os.path.join(entry.path, "pyvenv.cfg"))


def _is_cache(tag: str) -> bool:
    try:
        descriptor = os.open(tag, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    with os.fdopen(descriptor, "rb") as file:
        return stat.S_ISREG(os.fstat(descriptor).st_mode) and file.read(len(_SIGNATURE)) == _SIGNATURE
