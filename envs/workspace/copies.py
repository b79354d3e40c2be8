"""Copies of a workspace on disk."""

import itertools
import os
import shutil
import stat
import subprocess
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from pathlib import Path

from langgraph_reflexion.envs.workspace.snapshots import Entry, Files, SnapshotRepo, entry_of
from langgraph_reflexion.envs.workspace.tree_walk import Found, read, walk

_RECENT = 50_000_000
"""Nanoseconds within which two changes of a file may have the same time."""
_MORE_FILES, _MORE_BYTES = 50_000, 1 << 30
"""What a trial may add, besides doubling the files and bytes of the original."""

Stamp = tuple[int, int, int, int]


class TooLarge(Exception):
    """A command left too many or too large files."""


class Copy:
    """A state of the workspace's files on disk.

    Args:
        repo: Holds the states.
        folder: The copy's folder.
        lock: The descriptor of the lock that marks it as in use by this process.
        dependencies: Folders of installed dependencies, which belong to no state.
        on_close: Called when the copy is closed.

    Attributes:
        root: The workspace's root.
        files: Its last known state.
        dependencies: Folders of installed dependencies.
        excluded: Paths that belonged to no state then, such as caches.
    """

    root: Path
    files: Files

    def __init__(
        self,
        repo: SnapshotRepo,
        folder: Path,
        lock: int,
        dependencies: Collection[str],
        on_close: Callable[["Copy"], None],
    ) -> None:
        self.root = folder / "files"
        self.excluded: list[str] = []
        self._on_close = on_close
        self._modes: set[int] = set()
        self._repo = repo
        self._folder = folder
        self._lock = lock
        self.dependencies = frozenset(dependencies)
        self._index = folder / "index"
        self._seen: dict[str, tuple[Stamp, Entry]] = {}
        self._room = (_MORE_FILES, _MORE_BYTES)
        self.root.mkdir()

    def reset_to(self, files: Files) -> None:
        """Make the files exactly those of a state, and leave unchanged files alone.

        A file is unchanged if its change time is, which no command can set.

        Raises:
            OSError: something stands in the way.
        """
        wanted = self._repo.entries(files.tree)
        # The trial may have left an empty folder where a file is restored.
        free = wanted.keys().isdisjoint
        empty = [path for path in self._repo.empty_folders(files) if free((path, *map(str, Path(path).parents)))]
        folders = {str(parent) for path in (*wanted, *self.dependencies) for parent in Path(path).parents}
        folders |= {*empty, *(str(parent) for path in empty for parent in Path(path).parents), *self.dependencies}
        found = self._readable()
        kept = set()
        for path, status in found.files.items():
            stamp, entry = self._seen.get(path, (_UNSURE, None))
            # Of a file's mode, git stores only the executable bit.
            usual = status.st_mode in self._modes
            if usual and stamp == _stamp(status) != _UNSURE and entry == wanted.get(path):
                kept.add(path)
            else:
                remove(self.root / path)
        for path in found.excluded:
            remove(self.root / path)
        for path in found.folders:
            if path not in folders:
                remove(self.root / path)
        for path in self.dependencies:
            # A command may have written there if the sandbox cannot mount the dependencies.
            place = self.root / path
            if place.is_symlink() or not place.is_dir() or os.listdir(place):
                remove(place)
        self._repo.read_tree(files.tree, self._index)
        missing = [path for path in wanted if path not in kept]
        self._repo.check_out(self._index, self.root, missing if kept else None)
        for path in (*empty, *self.dependencies):
            (self.root / path).mkdir(parents=True, exist_ok=True)
        statuses = {path: os.lstat(self.root / path) for path in missing}
        self._modes |= {status.st_mode for status in statuses.values()}
        self._seen = {path: self._seen[path] for path in kept}
        self._seen |= {path: (_stamp(status), wanted[path]) for path, status in statuses.items()}
        size = sum(found.files[path].st_size for path in kept) + sum(each.st_size for each in statuses.values())
        self._room = (2 * len(wanted) + _MORE_FILES, 2 * size + _MORE_BYTES)
        self.files = files

    def refresh(self) -> Files:
        """Store the current state of the files, and return it.

        Raises:
            TooLarge: there are too many files, or one cannot be read.
        """
        try:
            found = self._walk()
            changed, contents = self._differing(found)
        except OSError as error:
            raise TooLarge(f"some of its files cannot be read ({error.strerror})") from None
        first = next(contents, None)
        if first is not None:
            self._repo.keep(itertools.chain([first], contents))
        tree = self._repo.write_tree(self._index, changed) if changed else self.files.tree
        self._came_to(tree, found.empty)
        self.excluded = found.excluded
        return self.files

    def record_write(self, path: str) -> Files:
        """Store the state after a tool has written one file, without a look at the others."""
        status = os.lstat(self.root / path)
        content = _read(str(self.root / path), status)
        entry = entry_of(status, content)
        self._seen[path] = _stamp(status), entry
        self._repo.keep([content])
        tree = self._repo.write_tree(self._index, [(path, entry)])
        empty = self._repo.empty_folders(self.files)
        self._came_to(tree, [each for each in empty if not path.startswith(f"{each}/")])
        return self.files

    def restore(self, files: Files, paths: Collection[str]) -> None:
        """Restore some paths, which are files of this state or another, to that other state."""
        index = self._folder / "other-index"
        self._repo.read_tree(files.tree, index)
        there = self._repo.entries(files.tree)
        wanted = [path for path in paths if path in there]
        for path in paths:
            remove(self.root / path)
        for path in wanted:
            # Remove files and links that are in the way of a file's folders.
            for parent in reversed(Path(path).parents[:-1]):
                if (self.root / parent).is_symlink() or (self.root / parent).is_file():
                    (self.root / parent).unlink()
        self._repo.check_out(index, self.root, wanted)

    def close(self) -> None:
        self._on_close(self)

    def remove(self) -> None:
        """Remove it from disk."""
        remove(self._folder)
        os.close(self._lock)

    def _readable(self) -> Found:
        try:
            return walk(self.root, self.dependencies)
        except PermissionError:
            # A command may have removed its owner's permissions.
            subprocess.run(["chmod", "-R", "u+rwX", "--", str(self.root)], capture_output=True, check=False)
            return walk(self.root, self.dependencies)

    def _walk(self) -> Found:
        found = self._readable()
        files, size = self._room
        if len(found.files) > files or found.size > size:
            raise TooLarge(f"it left {len(found.files)} files of {found.size} bytes, which is too much")
        return found

    def _differing(self, found: Found) -> tuple[list[tuple[str, Entry | None]], Iterator[bytes]]:
        """Return the paths that have changed since the last look, and the new contents."""
        new: dict[str, str] = {}
        changed: list[tuple[str, Entry | None]] = []
        before, self._seen = self._seen, {}
        for path, status in found.files.items():
            stamp, known = _stamp(status), before.get(path)
            if known is not None and known[0] == stamp and stamp != _UNSURE:
                self._seen[path] = known
                continue
            place = os.path.join(self.root, path)
            entry = entry_of(status, _read(place, status))
            self._seen[path] = _stamp(os.lstat(place)), entry
            if known is None or known[1] != entry:
                changed.append((path, entry))
            if known is None or known[1].blob != entry.blob:
                new[entry.blob] = path
        changed += [(path, None) for path in before.keys() - found.files.keys()]
        return changed, (_read(os.path.join(self.root, path), found.files[path]) for path in new.values())

    def _came_to(self, tree: str, empty: list[str]) -> None:
        named = [name for name in empty if name not in self.dependencies]
        self.files = Files(tree, self._repo.keep_empty(named))


def remove(path: Path) -> None:
    """Remove a file, link or folder, of any depth and with any permissions."""
    if not path.is_dir() or path.is_symlink():
        with suppress(FileNotFoundError, NotADirectoryError):
            path.unlink()
        return
    command = [shutil.which("rm") or "rm", "-rf", "--one-file-system", "--", str(path)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        subprocess.run(["chmod", "-R", "u+rwX", "--", str(path)], capture_output=True, check=False)
        subprocess.run(command, capture_output=True, check=False)


_UNSURE: Stamp = (-1, -1, -1, -1)


def _stamp(status: os.stat_result) -> Stamp:
    """Return what identifies a file's version. A file that has just changed may change again with the same stamp."""
    if time.time_ns() - status.st_ctime_ns < _RECENT:
        return _UNSURE
    return status.st_ino, status.st_size, status.st_ctime_ns, status.st_mode


def _read(path: str, status: os.stat_result) -> bytes:
    try:
        return read(path, status)
    except PermissionError:
        # A command may have removed its owner's permissions.
        os.chmod(path, stat.S_IMODE(status.st_mode) | stat.S_IRUSR | stat.S_IWUSR)
        return read(path, status)
