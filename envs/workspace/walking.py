"""What a folder holds, as far as it belongs to the workspace.

Left out are `.git`, `__pycache__`, folders that say themselves that they are caches (`CACHEDIR.TAG`, as cargo's
`target` and `.pytest_cache` do), and what is neither file, folder nor link. Of the original, folders of installed
dependencies (`node_modules`, virtual environments) are named apart: commands see them, read-only, and they are never
copied.
"""

import os
import stat
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

_SIGNATURE = b"Signature: 8a477f597d28d172789f06886806bc55"
NEVER = {".git", "__pycache__"}
"""Names of what belongs to no workspace."""


@dataclass
class Found:
    """What a folder holds. Paths are relative to it, with `/`."""

    files: dict[str, os.stat_result] = field(default_factory=dict)
    """Files and links."""
    empty: list[str] = field(default_factory=list)
    """Folders with nothing in them that belongs to the workspace."""
    folders: list[str] = field(default_factory=list)
    """All folders that are not left out, those above others first."""
    left_out: list[str] = field(default_factory=list)
    """What does not belong to the workspace."""
    dependencies: list[str] = field(default_factory=list)
    """Folders of installed dependencies."""
    size: int = 0
    """Bytes of all files together."""


def walk(root: Path, dependencies: Collection[str] | None = None) -> Found:
    """See what a folder holds. No link is followed.

    Args:
        root: The folder.
        dependencies: Which folders are left out as dependencies; unless given, they are recognised and named.

    Raises:
        OSError: something cannot be read.
    """
    found = Found()
    folders = [""]
    while folders:
        folder = folders.pop()
        entries = _listed(os.path.join(root, folder))
        if folder and any(entry.name == "CACHEDIR.TAG" and _is_cache(entry.path) for entry in entries):
            found.left_out.append(folder)
            continue
        if folder:
            found.folders.append(folder)
        kept = 0
        for entry in entries:
            path = f"{folder}/{entry.name}" if folder else entry.name
            if entry.name in NEVER:
                found.left_out.append(path)
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
                found.left_out.append(path)
        if folder and not kept:
            found.empty.append(folder)
    found.empty.sort()
    found.dependencies.sort()
    return found


def read(path: str, status: os.stat_result) -> bytes:
    """A file's content, or where a link leads. Raises OSError."""
    if stat.S_ISLNK(status.st_mode):
        return os.fsencode(os.readlink(path))
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
        return file.read()


def _listed(folder: str) -> list[os.DirEntry[str]]:
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
