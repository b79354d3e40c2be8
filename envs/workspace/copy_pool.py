"""A pool of copies of a workspace, which trials reuse so that few files are written."""

import fcntl
import os
import tempfile
import threading
import time
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from langgraph_reflexion.envs.workspace.copies import Copy, remove
from langgraph_reflexion.envs.workspace.snapshots import Files, SnapshotRepo


class CopyPool:
    """The copies of one workspace. If this process dies, the next one removes them.

    Args:
        repo: Holds the states.
        folder: The folder of the copies.
        dependencies: Folders of installed dependencies.
    """

    def __init__(self, repo: SnapshotRepo, folder: Path, dependencies: Collection[str]) -> None:
        self.folder = folder
        self._repo = repo
        self._dependencies = dependencies
        self._idle: list[Copy] = []
        self._in_use: set[Copy] = set()
        self._closed = False
        self._guard = threading.Lock()

    def take(self, files: Files) -> Copy:
        """Return a copy of a state. Closing it returns it to the pool."""
        with self._guard:
            used = self._idle.pop() if self._idle else None
        copy = used or self._new()
        try:
            copy.reset_to(files)
        except BaseException as error:
            copy.remove()
            if used is None or not isinstance(error, OSError):
                raise
            # Leftovers of a trial are in the way.
            return self.take(files)
        with self._guard:
            self._in_use.add(copy)
        return copy

    def close(self) -> None:
        """Remove all copies; those in use, when they are closed."""
        with self._guard:
            idle, self._idle, self._closed = self._idle, [], True
        for copy in idle:
            copy.remove()

    def _new(self) -> Copy:
        self.folder.mkdir(parents=True, exist_ok=True)
        while True:
            folder = Path(tempfile.mkdtemp(prefix="copy-", dir=self.folder))
            lock = os.open(folder / "lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
            fcntl.flock(lock, fcntl.LOCK_EX)
            # Another process may have removed it as a dead one's.
            if (folder / "lock").exists():
                break
            os.close(lock)
        return Copy(self._repo, folder, lock, self._dependencies, self._on_close)

    def _on_close(self, copy: Copy) -> None:
        with self._guard:
            if copy not in self._in_use:
                return
            self._in_use.remove(copy)
            if not self._closed:
                self._idle.append(copy)
                return
        copy.remove()


def remove_stale(parent: Path) -> None:
    """Remove the copies of dead processes."""
    for folder in parent.glob("copy-*"):
        try:
            lock = os.open(folder / "lock", os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            # It is being created or removed, or its process died meanwhile.
            with suppress(OSError):
                if time.time() - folder.stat().st_mtime > 600:
                    remove(folder)
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            remove(folder)
        except BlockingIOError:
            pass
        finally:
            os.close(lock)
