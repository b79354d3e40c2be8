"""The files of a folder that programs of the host run by themselves, and that a run must not change."""

from __future__ import annotations

import fcntl
import os

from langgraph_reflexion.envs.sandbox.helper.kernel import suppress

HOOKS = (
    ".git",
    ".gitmodules",
    ".hg",
    ".husky",
    ".githooks",
    ".pre-commit-config.yaml",
    "lefthook.yml",
    ".envrc",
    ".vscode",
    ".idea",
    ".devcontainer",
    ".claude",
    ".cursor",
    ".mcp.json",
)
"""Names at the top of a folder. git runs the hooks, filters and monitors that `.git` names, even for `git status`."""
_MOST_READ = 1 << 20
"""Characters of `.gitmodules` that are read."""


def present(folder: str) -> list[str]:
    """Return those of `HOOKS` that a folder has."""
    return [name for name in HOOKS if os.path.lexists(os.path.join(folder, name))]


class Guard:
    """Protects the hooks of one writable folder from a run.

    An absent `.git` cannot be left absent: the mount that keeps it empty needs an empty folder on the host, which is
    removed after the last run that uses it. Inside, the folder is mounted at `target`.
    """

    def __init__(self, folder: str, target: str) -> None:
        self.folder = folder
        self.target = target
        self._git = os.path.join(folder, ".git")
        self._lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._locked = False
        with suppress(OSError):  # somebody else has locked it, or its file system has no locks
            fcntl.flock(self._lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            self._locked = True
        self._absent = self._is_absent()

    def _is_absent(self) -> bool:
        if not os.path.lexists(self._git):
            return True
        # An empty one is the mount point of another run.
        return os.path.isdir(self._git) and not os.listdir(self._git)

    def mounts(self) -> dict[str, list[str]]:
        """Return the options of bubblewrap by the path inside."""
        found: dict[str, list[str]] = {}
        if self._absent:
            at = os.path.join(self.target, ".git")
            found[at] = ["--size", "4096", "--tmpfs", at, "--remount-ro", at]
        for name in present(self.folder):
            if name == ".git" and self._absent:
                continue
            found.update(self._kept(name))
        for path in self._submodules():
            # Mounted one by one, so that no folder above a submodule's own `.git` can be renamed.
            parts = path.split("/")
            for end in range(1, len(parts) + 1):
                above = "/".join(parts[:end])
                source = os.path.join(self.folder, above)
                at = os.path.join(self.target, above)
                found[at] = ["--bind", source, at]
            found.update(self._kept(f"{path}/.git"))
        return found

    def release(self) -> None:
        """Remove the empty `.git`, unless another run still needs it."""
        with suppress(OSError):
            if self._absent and self._locked:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.rmdir(self._git)
        os.close(self._lock)

    def _kept(self, name: str) -> dict[str, list[str]]:
        """Return the mount that keeps a hook as it is."""
        source = os.path.join(self.folder, name)
        at = os.path.join(self.target, name)
        if os.path.islink(source):
            raise ValueError(f"{source} is a link, which cannot be protected: bind the folder as the run's own")
        return {at: ["--ro-bind", source, at]}

    def _submodules(self) -> list[str]:
        """Return the paths of the submodules that are checked out."""
        with suppress(OSError, ValueError):
            with open(f"{self.folder}/.gitmodules", encoding="utf-8") as file:
                text = file.read(_MOST_READ)
            base = os.path.realpath(self.folder)
            found = []
            for line in text.splitlines():
                name, _, value = line.partition("=")
                if name.strip() != "path":
                    continue
                path = os.path.normpath(value.strip())
                if _is_checked_out(base, path):
                    found.append(path)
            return found
        return []


def _is_checked_out(base: str, path: str) -> bool:
    """Whether a path that `.gitmodules` names is a submodule: below the folder, behind no link, with a `.git`."""
    place = os.path.join(base, path)
    if os.path.realpath(place) != place:
        return False
    if not os.path.lexists(os.path.join(place, ".git")):
        return False
    return not path.startswith(("/", ".."))
