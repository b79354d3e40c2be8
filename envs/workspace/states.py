"""The states of a workspace's files, as the shadow repository keeps them."""

import os
import stat
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from langgraph_reflexion.envs.workspace.shadow import LINK, Entry, Shadow, blob_id
from langgraph_reflexion.envs.workspace.walking import read, walk


@dataclass(frozen=True, slots=True)
class Files:
    """A state of the workspace's files: ids of objects in the shadow repository."""

    tree: str
    """The files, links and what can be executed."""
    empty: str = ""
    """A blob that names the empty folders, which a tree cannot hold; without a name, there are none."""


def keep_empty(shadow: Shadow, names: list[str]) -> str:
    """Keep the names of empty folders as a blob. Returns its id; empty where there are none."""
    if not names:
        return ""
    content = b"\0".join(os.fsencode(name) for name in names)
    shadow.keep([content])
    return blob_id(content)


def empty_folders(shadow: Shadow, files: Files) -> list[str]:
    """The names of a state's empty folders."""
    if not files.empty:
        return []
    return [os.fsdecode(name) for name in shadow.blob(files.empty).split(b"\0") if name]


def entry_of(status: os.stat_result, content: bytes) -> Entry:
    """A file or link as a tree has it."""
    mode = LINK if stat.S_ISLNK(status.st_mode) else "100755" if status.st_mode & stat.S_IXUSR else "100644"
    return Entry(mode, blob_id(content))


def take_in(shadow: Shadow, root: Path, parent: Path) -> tuple[Files, list[str]]:
    """Keep the state of a folder that is not ours, and only read it.

    Args:
        shadow: Where it is kept.
        root: The folder.
        parent: Where an index may lie for a moment.

    Returns:
        The state, and the folders of dependencies, which are no part of it.

    Raises:
        OSError: something in it cannot be read.
    """
    found = walk(root)
    entries: list[tuple[str, Entry | None]] = []

    def contents() -> Iterator[bytes]:
        for path, status in found.files.items():
            content = read(os.path.join(root, path), status)
            entries.append((path, entry_of(status, content)))
            yield content

    shadow.keep(contents())
    parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=parent, prefix="index-") as folder:
        tree = shadow.write_tree(Path(folder) / "index", entries)
    return Files(tree, keep_empty(shadow, found.empty)), found.dependencies
