"""The files of a folder that programs of the host run by themselves, and that a run must not change."""

from __future__ import annotations

import fcntl
import os

from langgraph_reflexion.envs.sandbox.helper.kernel import suppress

HOOKS = (
    *(".git", ".gitmodules", ".hg", ".husky", ".githooks", ".pre-commit-config.yaml", "lefthook.yml", ".envrc"),
    *(".vscode", ".idea", ".devcontainer", ".claude", ".cursor", ".mcp.json"),
)
"""Names at the top of a folder. git runs the hooks, filters and monitors that `.git` names, even for `git status`."""


def present(folder: str) -> list[str]:
    """Return those of `HOOKS` that a folder has."""
    return [name for name in HOOKS if os.path.lexists(os.path.join(folder, name))]


class Guard:
    """Protects the hooks of one writable folder from a run.

    An absent `.git` cannot be left absent: the mount that keeps it empty needs an empty folder on the host, which is
    removed after the last run that uses it. Inside, the folder is mounted at `target`.
    """

    def __init__(self, folder: str, target: str) -> None:
        self.folder, self.target, self._git = folder, target, os.path.join(folder, ".git")
        self._lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._locked = False
        with suppress(OSError):  # somebody else has locked it, or its file system has no locks
            fcntl.flock(self._lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            self._locked = True
        self._absent = not os.path.lexists(self._git) or (os.path.isdir(self._git) and not os.listdir(self._git))

    def mounts(self) -> dict[str, list[str]]:
        """Return the options of bubblewrap by the path inside."""
        found = {}
        if self._absent:
            at = os.path.join(self.target, ".git")
            found[at] = ["--size", "4096", "--tmpfs", at, "--remount-ro", at]
        for name in present(self.folder):
            if name != ".git" or not self._absent:
                found |= self._kept(name)
        for path in self._submodules():
            # Mounted one by one, so that no folder above a submodule's own `.git` can be renamed.
            parts = path.split("/")
            for end in range(1, len(parts) + 1):
                above = "/".join(parts[:end])
                at = os.path.join(self.target, above)
                found[at] = ["--bind", os.path.join(self.folder, above), at]
            found |= self._kept(f"{path}/.git")
        return found

    def release(self) -> None:
        """Remove the empty `.git`, unless another run still needs it."""
        with suppress(OSError):
            if self._absent and self._locked:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.rmdir(self._git)
        os.close(self._lock)

    def _kept(self, name: str) -> dict[str, list[str]]:
        source, at = os.path.join(self.folder, name), os.path.join(self.target, name)
        if os.path.islink(source):
            raise ValueError(f"{source} is a link, which cannot be protected: bind the folder as the run's own")
        return {at: ["--ro-bind", source, at]}

    def _submodules(self) -> list[str]:
        with suppress(OSError, ValueError), open(f"{self.folder}/.gitmodules", encoding="utf-8") as file:
            rows = [line.partition("=") for line in file.read(1 << 20).splitlines()]
            paths = [os.path.normpath(value.strip()) for name, _, value in rows if name.strip() == "path"]
            base = os.path.realpath(self.folder)
            return [
                path
                for path in paths
                if os.path.realpath(os.path.join(base, path)) == os.path.join(base, path)
                and os.path.lexists(os.path.join(base, path, ".git"))
                and not path.startswith(("/", ".."))
            ]
        return []
