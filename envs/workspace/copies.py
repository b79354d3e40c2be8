"""Copies of a workspace on disk."""

import os
import subprocess
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from langgraph_reflexion.envs.sandbox.helper import staging
from langgraph_reflexion.envs.workspace.snapshots import SnapshotRepo
from langgraph_reflexion.envs.workspace.tree_walk import walk

_MORE_FILES, _MORE_BYTES = 50_000, 1 << 28
"""What a trial may add, besides doubling the files and bytes of the original."""


class TooLarge(Exception):
    """A command left too many or too large files."""


class Copy:
    """A state of the workspace's files on disk. If this process dies, the next one removes it."""

    tree: str
    """Its last known state."""
    excluded: list[str]
    """Paths that belonged to no state then, such as caches."""

    def __init__(self, repo: SnapshotRepo, parent: Path, dependencies: Collection[str], tree: str) -> None:
        self.dependencies = frozenset(dependencies)
        self._repo = repo
        folder, self._lock = staging.make(str(parent))
        self._folder = Path(folder)
        self.root = self._folder / "files"
        try:
            self.reset(tree)
        except BaseException:
            self.close()
            raise

    def reset(self, tree: str) -> None:
        """Replace all files by those of a tree."""
        remove(self.root)
        self.root.mkdir()
        # Made before the files are checked out, which may include a link or a file of that name.
        for path in self.dependencies:
            (self.root / path).mkdir(parents=True, exist_ok=True)
        self._repo.check_out(tree, self.root)
        self.tree = tree
        self.excluded = []
        found = walk(self.root, self.dependencies)
        self._most_files = 2 * len(found.files) + _MORE_FILES
        self._most_bytes = 2 * found.size + _MORE_BYTES

    def refresh(self) -> str:
        """Store the current state of the files, and return its tree.

        Raises:
            TooLarge: there are too many files, or one cannot be read.
        """
        # A command may have removed its owner's permissions.
        subprocess.run(["chmod", "-R", "u+rwX", "--", str(self.root)], capture_output=True, check=False)
        try:
            found = walk(self.root, self.dependencies)
        except OSError as error:
            raise TooLarge(f"some of its files cannot be read ({error.strerror})") from None
        if len(found.files) > self._most_files or found.size > self._most_bytes:
            raise TooLarge(f"it left {len(found.files)} files of {found.size} bytes, which is too much")
        self.tree = self._repo.store(self.root, found)
        self.excluded = found.excluded
        return self.tree

    def restore(self, tree: str, paths: Collection[str]) -> None:
        """Restore some paths to what they are in a tree, and remove those that it does not have."""
        there = self._repo.paths(tree)
        restored = []
        for path in paths:
            if path in there:
                # Left to git alone, which replaces what is there: a folder on the way may be a link by now, which
                # `remove` would follow, and git does not.
                restored.append(path)
            else:
                remove(self.root / path)
        self._repo.check_out(tree, self.root, restored)

    def close(self) -> None:
        """Remove it from disk."""
        if self._lock >= 0:
            remove(self._folder)
            os.close(self._lock)
            self._lock = -1


def remove(path: Path) -> None:
    """Remove a file, link or folder, of any depth and with any permissions."""
    if not path.is_dir() or path.is_symlink():
        with suppress(FileNotFoundError, NotADirectoryError):
            path.unlink()
        return
    staging.remove(str(path), patience=None)
