"""A copy of the workspace: the files of a state on disk, to work in; and the state that they have come to."""

import itertools
import os
import shutil
import stat
import subprocess
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from pathlib import Path

from langgraph_reflexion.envs.workspace.shadow import Entry, Shadow
from langgraph_reflexion.envs.workspace.states import Files, empty_folders, entry_of, keep_empty
from langgraph_reflexion.envs.workspace.walking import Found, read, walk

_RECENT = 50_000_000
"""Nanoseconds within which two changes of a file may look like one."""
_MORE_FILES, _MORE_BYTES = 50_000, 1 << 30
"""So much may a trial add to what there was, and as much again as there was."""

Stamp = tuple[int, int, int, int]


class TooMuch(Exception):
    """A command has left more files, or larger ones, than are kept. The message says so."""


class Copy:
    """Files on disk, in a folder of their own.

    Args:
        shadow: Where the states are kept.
        folder: The copy's own folder.
        lock: The descriptor that says that this process is at work in it.
        dependencies: Folders that belong to no state.
        done: Is called when the copy is closed.

    Attributes:
        root: The workspace's root in it.
        files: The state that it was last seen in.
        dependencies: Folders that belong to no state.
        left_out: What else belonged to no state then, such as caches.
    """

    root: Path
    files: Files

    def __init__(
        self,
        shadow: Shadow,
        folder: Path,
        lock: int,
        dependencies: Collection[str],
        done: Callable[["Copy"], None],
    ) -> None:
        self.root = folder / "files"
        self.left_out: list[str] = []
        self._done = done
        self._modes: set[int] = set()
        self._shadow = shadow
        self._folder = folder
        self._lock = lock
        self.dependencies = frozenset(dependencies)
        self._index = folder / "index"
        self._seen: dict[str, tuple[Stamp, Entry]] = {}
        self._room = (_MORE_FILES, _MORE_BYTES)
        self.root.mkdir()

    def become(self, files: Files) -> None:
        """Make the files exactly those of a state; what is the same already stays as it is.

        A file is the same while nothing has touched it since it was last seen, as its change time tells, which no
        command can set.

        Raises:
            OSError: something stands in the way.
        """
        wanted = self._shadow.entries(files.tree)
        # Where a trial has left an empty folder, a file may have been put back.
        free = wanted.keys().isdisjoint
        empty = [path for path in empty_folders(self._shadow, files) if free((path, *map(str, Path(path).parents)))]
        folders = {str(parent) for path in (*wanted, *self.dependencies) for parent in Path(path).parents}
        folders |= {*empty, *(str(parent) for path in empty for parent in Path(path).parents), *self.dependencies}
        found = self._readable()
        kept = set()
        for path, status in found.files.items():
            stamp, entry = self._seen.get(path, (_UNSURE, None))
            # Git knows of a file's mode only whether it can be executed.
            usual = status.st_mode in self._modes
            if usual and stamp == _stamp(status) != _UNSURE and entry == wanted.get(path):
                kept.add(path)
            else:
                remove(self.root / path)
        for path in found.left_out:
            remove(self.root / path)
        for path in found.folders:
            if path not in folders:
                remove(self.root / path)
        for path in self.dependencies:
            # Where the sandbox can show nothing in its place, a command may have put something there.
            place = self.root / path
            if place.is_symlink() or not place.is_dir() or os.listdir(place):
                remove(place)
        self._shadow.read_tree(files.tree, self._index)
        missing = [path for path in wanted if path not in kept]
        self._shadow.check_out(self._index, self.root, missing if kept else None)
        for path in (*empty, *self.dependencies):
            (self.root / path).mkdir(parents=True, exist_ok=True)
        statuses = {path: os.lstat(self.root / path) for path in missing}
        self._modes |= {status.st_mode for status in statuses.values()}
        self._seen = {path: self._seen[path] for path in kept}
        self._seen |= {path: (_stamp(status), wanted[path]) for path, status in statuses.items()}
        size = sum(found.files[path].st_size for path in kept) + sum(each.st_size for each in statuses.values())
        self._room = (2 * len(wanted) + _MORE_FILES, 2 * size + _MORE_BYTES)
        self.files = files

    def look(self) -> Files:
        """Find out which state the files are in now, and keep it.

        Raises:
            TooMuch: they are more than can be kept, or cannot be read.
        """
        try:
            found = self._walk()
            changed, contents = self._differing(found)
        except OSError as error:
            raise TooMuch(f"some of its files cannot be read ({error.strerror})") from None
        first = next(contents, None)
        if first is not None:
            self._shadow.keep(itertools.chain([first], contents))
        tree = self._shadow.write_tree(self._index, changed) if changed else self.files.tree
        self._came_to(tree, found.empty)
        self.left_out = found.left_out
        return self.files

    def wrote(self, path: str) -> Files:
        """Keep the state after one file has been written through a tool, without looking at all the others."""
        status = os.lstat(self.root / path)
        content = _read(str(self.root / path), status)
        entry = entry_of(status, content)
        self._seen[path] = _stamp(status), entry
        self._shadow.keep([content])
        tree = self._shadow.write_tree(self._index, [(path, entry)])
        empty = empty_folders(self._shadow, self.files)
        self._came_to(tree, [each for each in empty if not path.startswith(f"{each}/")])
        return self.files

    def put_back(self, files: Files, paths: Collection[str]) -> None:
        """Make some paths what they are in another state.

        Args:
            files: That state.
            paths: Files of this state or of that one, or of both.
        """
        index = self._folder / "other-index"
        self._shadow.read_tree(files.tree, index)
        there = self._shadow.entries(files.tree)
        wanted = [path for path in paths if path in there]
        for path in paths:
            remove(self.root / path)
        for path in wanted:
            # Whatever is in the way of a file's folders gives way, a link above all.
            for parent in reversed(Path(path).parents[:-1]):
                if (self.root / parent).is_symlink() or (self.root / parent).is_file():
                    (self.root / parent).unlink()
        self._shadow.check_out(index, self.root, wanted)

    def close(self) -> None:
        """Give the copy back."""
        self._done(self)

    def remove(self) -> None:
        """Remove it from the disk."""
        remove(self._folder)
        os.close(self._lock)

    def _readable(self) -> Found:
        try:
            return walk(self.root, self.dependencies)
        except PermissionError:
            # A command may take away its owner's own rights.
            subprocess.run(["chmod", "-R", "u+rwX", "--", str(self.root)], capture_output=True, check=False)
            return walk(self.root, self.dependencies)

    def _walk(self) -> Found:
        found = self._readable()
        files, size = self._room
        if len(found.files) > files or found.size > size:
            raise TooMuch(f"it left {len(found.files)} files of {found.size} bytes, more than the workspace may hold")
        return found

    def _differing(self, found: Found) -> tuple[list[tuple[str, Entry | None]], Iterator[bytes]]:
        """The paths that have changed since the files were last seen, and the contents that are new."""
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
        self.files = Files(tree, keep_empty(self._shadow, named))


def remove(path: Path) -> None:
    """Remove a file, a link or a folder with all that is in it, however deep and whatever its rights."""
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
    """What tells that a file is still the same. One that has only just changed may change again unseen."""
    if time.time_ns() - status.st_ctime_ns < _RECENT:
        return _UNSURE
    return status.st_ino, status.st_size, status.st_ctime_ns, status.st_mode


def _read(path: str, status: os.stat_result) -> bytes:
    try:
        return read(path, status)
    except PermissionError:
        # A command may take away its owner's own rights.
        os.chmod(path, stat.S_IMODE(status.st_mode) | stat.S_IRUSR | stat.S_IWUSR)
        return read(path, status)
