"""A folder that is restored before each trial of a wrapped agent."""

import hashlib
import os
import re
from pathlib import Path
from typing import Any

from langgraph_reflexion.envs.cache import cache_folder
from langgraph_reflexion.envs.workspace.copies import remove
from langgraph_reflexion.envs.workspace.snapshots import SnapshotRepo
from langgraph_reflexion.envs.workspace.state_checks import object_id
from langgraph_reflexion.envs.workspace.tree_walk import walk
from langgraph_reflexion.errors import ConfigurationError, checked


def folder_in(store: Path, path: Path) -> Path:
    """Return the folder of a store that belongs to a workspace, the same in each process.

    Raises:
        ConfigurationError: the workspace contains the store, or lies in it.
    """
    if store.is_relative_to(path) or path.is_relative_to(store):
        raise ConfigurationError(f"{store} and {path} overlap: give a folder elsewhere as store=")
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", path.name)[:40]
    digest = hashlib.sha256(os.fsencode(path)).hexdigest()[:12]
    return store / f"{name}-{digest}"


@checked
class WorkspaceFolder:
    """A folder that an agent works in: before each trial, its files are restored to what they were before the first.

    Pass it as `reset=` to `WrappedAgent` or `ReflexionMiddleware`. At the end, the folder has the best trial's files.
    `.git`, caches and installed dependencies are left alone. Nothing else may change the folder during a run.

    Args:
        path: The folder.
        store: Where the snapshots are kept, in a git repository; `langgraph-reflexion/workspaces` in the user's
            cache folder unless given. Resuming a run needs it.

    Raises:
        ConfigurationError: there is no such folder, or it contains the store or lies in it.
        EnvironmentUnavailable: git is not installed, or the store cannot be created.
    """

    def __init__(self, path: str | os.PathLike[str], *, store: str | os.PathLike[str] | None = None) -> None:
        self.path = Path(path).expanduser().resolve()
        if store:
            kept = Path(store).expanduser().resolve()
        else:
            kept = cache_folder() / "workspaces"
        if not self.path.is_dir():
            raise ConfigurationError(f"WorkspaceFolder.path: there is no folder {self.path}")
        folder = folder_in(kept, self.path)
        self._repo = SnapshotRepo(folder / "states.git")

    def save(self) -> dict[str, Any]:
        """Store a snapshot of the files, and return a reference to it.

        Raises:
            OSError: a folder cannot be read.
            EnvironmentFault: a file cannot be read.
        """
        return {"tree": self._repo.store(self.path, walk(self.path))}

    def restore(self, saved: dict[str, Any]) -> None:
        """Restore the files of a snapshot that `save` returned.

        Raises:
            ConfigurationError: it is nothing that `save` returned.
            OSError: a file cannot be removed.
            EnvironmentFault: the snapshot is not in the store, or a file cannot be written.
        """
        tree = object_id(saved.get("tree"), "the tree of a saved folder")
        found = walk(self.path)
        now = self._repo.store(self.path, found)
        # Only what is there now, as a link may lead elsewhere from where a folder was.
        left = [change.path for change in self._repo.changes(tree, now) if change.after]
        for path in left:
            remove(self.path / path)
        self._remove_empty(left, found.empty)
        self._repo.check_out(tree, self.path)

    def _remove_empty(self, removed: list[str], empty: list[str]) -> None:
        """Remove the folders that are empty now that these paths are removed, and that were empty before."""
        folders = set(empty)
        for path in removed + empty:
            folders.update(map(str, Path(path).parents))
        folders.discard(".")
        # In this order, a folder comes after what is in it.
        for name in sorted(folders, reverse=True):
            folder = self.path / name
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()
