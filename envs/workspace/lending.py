"""Copies that are lent: what one trial is done with, the next takes over, so that little has to be written anew."""

import fcntl
import os
import tempfile
import threading
import time
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from langgraph_reflexion.envs.workspace.copies import Copy, remove
from langgraph_reflexion.envs.workspace.shadow import Shadow
from langgraph_reflexion.envs.workspace.states import Files


class Copies:
    """The copies of one workspace. What one trial is done with, the next one takes over.

    Should this process die, the next one removes them.

    Args:
        shadow: Where the states are kept.
        folder: Where the copies lie.
        dependencies: Folders that belong to no state.
    """

    def __init__(self, shadow: Shadow, folder: Path, dependencies: Collection[str]) -> None:
        self.folder = folder
        self._shadow = shadow
        self._dependencies = dependencies
        self._idle: list[Copy] = []
        self._lent: set[Copy] = set()
        self._closed = False
        self._guard = threading.Lock()

    def take(self, files: Files) -> Copy:
        """A copy of a state. It is given back by closing it; closing it twice is fine."""
        with self._guard:
            used = self._idle.pop() if self._idle else None
        copy = used or self._new()
        try:
            copy.become(files)
        except BaseException as error:
            copy.remove()
            if used is None or not isinstance(error, OSError):
                raise
            # What a trial has left there stands in the way.
            return self.take(files)
        with self._guard:
            self._lent.add(copy)
        return copy

    def close(self) -> None:
        """Remove all copies; those that are lent, when they are given back."""
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
            # Another process may have taken it for a dead one's just before.
            if (folder / "lock").exists():
                break
            os.close(lock)
        return Copy(self._shadow, folder, lock, self._dependencies, self._given_back)

    def _given_back(self, copy: Copy) -> None:
        with self._guard:
            if copy not in self._lent:
                return
            self._lent.remove(copy)
            if not self._closed:
                self._idle.append(copy)
                return
        copy.remove()


def remove_forgotten(parent: Path) -> None:
    """Remove the copies of processes that have died."""
    for folder in parent.glob("copy-*"):
        try:
            lock = os.open(folder / "lock", os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            # It is being made, or removed, right now; or its process died in between.
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
