"""A bare git repository beside the workspace, in which every state of its files is a tree.

It runs the `git` program without the user's settings and hooks, and ignores the workspace's `.gitattributes`. Files
go in and come out byte for byte.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from langgraph_reflexion.envs.workspace.tree_walk import Found
from langgraph_reflexion.errors import EnvironmentFault, EnvironmentUnavailable

LINK = "120000"

# Attributes that convert files would change them; this file has the highest precedence.
_ATTRIBUTES = "* -text -crlf -ident -filter !eol !working-tree-encoding\n"
_SETTINGS = (
    "core.bare=false",
    "core.autocrlf=false",
    "core.fileMode=true",
    "core.symlinks=true",
    "core.ignoreCase=false",
    "core.precomposeUnicode=false",
    "core.protectHFS=false",
    "core.protectNTFS=false",
    "core.quotePath=true",
    "core.compression=1",
    # Larger files, which may be sparse, are not read into memory.
    "core.bigFileThreshold=16m",
    "core.fsync=none",
    "core.hooksPath=/dev/null",
    "core.attributesFile=/dev/null",
    "gc.auto=0",
)
_PATCH = (*("-r", "-p", "-M", "--binary", "--full-index"), *("--no-color", "--no-ext-diff", "--no-textconv"))


class Entry(NamedTuple):
    """An entry of a tree."""

    mode: str
    """`100644`, `100755` if executable, `120000` for a link."""
    blob: str
    """The id of its content."""


class Change(NamedTuple):
    """A path that differs between two trees."""

    path: str
    before: Entry | None
    after: Entry | None

    @property
    def word(self) -> str:
        return "added" if self.before is None else "removed" if self.after is None else "changed"


@dataclass(frozen=True, slots=True)
class Files:
    """A state of the workspace's files, as ids of objects in the repository."""

    tree: str
    """The tree of files and links."""
    empty: str = ""
    """The blob that names the empty folders, which a tree cannot hold; empty if there are none."""


class SnapshotRepo:
    """A bare git repository, for concurrent use by threads and processes.

    Raises:
        EnvironmentUnavailable: `git` is not installed, or the folder cannot be created.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        if not shutil.which("git"):
            raise EnvironmentUnavailable("the workspace needs git, which is not installed")
        attributes = folder / "info" / "attributes"
        if not attributes.exists():
            try:
                attributes.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise EnvironmentUnavailable(f"cannot create the workspace's store {folder}: {error}") from None
            self.git("init", "--quiet", "--bare", "--object-format=sha1", "--template=", str(folder))
            attributes.write_text(_ATTRIBUTES, encoding="utf-8")

    def git(
        self, *words: str, stdin: bytes = b"", index: Path | None = None, cwd: Path | None = None, fails: int = 0
    ) -> bytes:
        """Run git on this repository, with an index file or in a working tree, and return its output.

        An exit status up to `fails` is no failure.

        Raises:
            EnvironmentFault: git failed.
        """
        # None of the user's own git variables: this may run inside a hook.
        environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(self.folder),
            "XDG_CONFIG_HOME": str(self.folder),
            "LC_ALL": "C",
            "GIT_DIR": str(self.folder),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
        }
        if index is not None:
            environment["GIT_INDEX_FILE"] = str(index)
        if cwd is not None:
            environment["GIT_WORK_TREE"] = str(cwd)
        command = ["git", *(word for setting in _SETTINGS for word in ("-c", setting)), *words]
        done = subprocess.run(
            command, input=stdin, capture_output=True, env=environment, cwd=cwd or self.folder, check=False
        )
        if done.returncode not in range(fails + 1):
            said = " ".join(done.stderr.decode(errors="replace").split())
            raise EnvironmentFault(f"git {words[0]} failed: {said[:300]}", transient=False)
        return done.stdout

    def store(self, root: Path, found: Found) -> Files:
        """Store what was found in a folder, which is only read.

        Raises:
            EnvironmentFault: a file cannot be read.
        """
        empty = self.store_empty(found.empty)
        with self._index() as index:
            # An index that is kept misses changes of the same size whose times a command has set.
            self.git("update-index", "-z", "--add", "--stdin", stdin=_rows(found.files), index=index, cwd=root)
            return Files(self._written(index), empty)

    def replace(self, files: Files, entries: Iterable[tuple[str, Entry | None]], empty: str) -> Files:
        """Return a state with other entries at some paths, or none, and with the empty folders of this blob."""
        rows = [
            f"{entry.mode} {entry.blob}\t".encode() + os.fsencode(path) if entry else _REMOVED + os.fsencode(path)
            # Removals come first: a file may have become a folder.
            for path, entry in sorted(entries, key=lambda each: each[1] is not None)
        ]
        with self._index(files) as index:
            stdin = b"".join(row + b"\0" for row in rows)
            self.git("update-index", "-z", "--replace", "--index-info", stdin=stdin, index=index)
            return Files(self._written(index), empty)

    def empty_folders(self, files: Files) -> list[str]:
        return [os.fsdecode(name) for name in self.blob(files.empty).split(b"\0")] if files.empty else []

    def store_empty(self, folders: Iterable[str]) -> str:
        """Store the names of empty folders, and return the blob; empty if there are none."""
        names = b"\0".join(map(os.fsencode, folders))
        return self.git("hash-object", "-w", "--stdin", stdin=names).decode().strip() if names else ""

    def ignored(self, tree: str, paths: Iterable[str]) -> set[str]:
        """Return the paths that the `.gitignore` files of a tree ignore."""
        rules = [path for path in self.paths(tree) if path.rpartition("/")[2] == ".gitignore"]
        if not rules:
            return set()
        with tempfile.TemporaryDirectory(prefix="ignored-") as folder:
            self.check_out(Files(tree), Path(folder), rules)
            words = ("check-ignore", "--no-index", "-z", "--stdin")
            found = self.git(*words, stdin=_rows(paths), cwd=Path(folder), fails=1)
        return set(map(os.fsdecode, found.split(b"\0")[:-1]))

    def check_out(self, files: Files, folder: Path, paths: Sequence[str] | None = None) -> None:
        """Write a state into a folder.

        Args:
            files: The state.
            folder: An empty folder, unless paths are given.
            paths: The files to write, over whatever is in their way; everything if None.
        """
        if paths is None:
            # Before the files: the trial may have left an empty folder where a file was restored.
            for name in self.empty_folders(files):
                (folder / name).mkdir(parents=True, exist_ok=True)
        words = ["checkout-index", "--force", "--quiet", *(["--all"] if paths is None else ["-z", "--stdin"])]
        with self._index(files) as index:
            self.git(*words, stdin=_rows(paths or ()), index=index, cwd=folder)

    def blob(self, blob: str) -> bytes:
        return self.git("cat-file", "blob", blob)

    def holds(self, tree: str) -> bool:
        try:
            return self.git("cat-file", "-t", tree).strip() == b"tree"
        except EnvironmentFault:
            return False

    def paths(self, tree: str) -> set[str]:
        """Return the paths of a tree's files."""
        rows = self.git("ls-tree", "-r", "-z", "--full-tree", "--name-only", tree).split(b"\0")[:-1]
        return {os.fsdecode(row) for row in rows}

    def changes(self, before: str, after: str) -> list[Change]:
        """Return the paths that differ between two trees, in order."""
        words = self.git("diff-tree", "-r", "-z", "--no-renames", before, after).split(b"\0")[:-1]
        changes = []
        for about, path in zip(words[::2], words[1::2], strict=True):
            old_mode, mode, old_blob, blob, _ = about.decode()[1:].split(" ")
            old = None if set(old_mode) == {"0"} else Entry(old_mode, old_blob)
            new = None if set(mode) == {"0"} else Entry(mode, blob)
            changes.append(Change(os.fsdecode(path), old, new))
        return changes

    def patch(self, before: str, after: str) -> str:
        """Return the patch between two trees, for `git apply`, with binary files, renames, modes and links.

        If a changed line is not UTF-8, all files are included as binary.
        """
        try:
            return self.git("diff-tree", *_PATCH, before, after).decode()
        except UnicodeDecodeError:
            pass
        with tempfile.NamedTemporaryFile() as attributes:
            attributes.write(b"* -diff\n")
            attributes.flush()
            setting = f"core.attributesFile={attributes.name}"
            return self.git("-c", setting, "diff-tree", *_PATCH, before, after).decode()

    @contextmanager
    def _index(self, files: Files | None = None) -> Iterator[Path]:
        """Give a temporary index of a state."""
        with tempfile.TemporaryDirectory(prefix="index-") as folder:
            index = Path(folder, "index")
            if files is not None:
                self.git("read-tree", files.tree, index=index)
            yield index

    def _written(self, index: Path) -> str:
        return self.git("write-tree", index=index).decode().strip()


_REMOVED = b"0 " + b"0" * 40 + b"\t"


def _rows(paths: Iterable[str]) -> bytes:
    return b"".join(os.fsencode(path) + b"\0" for path in paths)
