"""A bare git repository beside the workspace, in which every state of its files is a tree.

It runs the `git` program without the user's settings and hooks, and ignores the workspace's `.gitattributes`. Files
go in and come out byte for byte.

The ids of trees come from states and files that others may have written. Each is checked before git sees it, and
stands behind `--end-of-options`, which git has had since 2.24; `init --object-format` needs 2.29 in any case.
"""

import os
import posixpath
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from langgraph_reflexion.envs.workspace.state_checks import object_id
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
_PATCH = ("-r", "-p", "-M", "--binary", "--full-index", "--no-color", "--no-ext-diff", "--no-textconv")
END = "--end-of-options"
"""What precedes the operands of git: none of them is an option, whatever it begins with."""


class Entry(NamedTuple):
    """An entry of a tree."""

    mode: str
    """`100644`, `100755` if executable, `120000` for a link."""
    blob: str
    """The id of its content."""


_EMPTY = Entry("160000", "1" * 40)
"""An empty folder, which no tree of git can hold: for the entry of a submodule, git makes an empty folder."""


class Change(NamedTuple):
    """A path that differs between two trees."""

    path: str
    before: Entry | None
    after: Entry | None

    @property
    def word(self) -> str:
        if self.before is None:
            return "added"
        if self.after is None:
            return "removed"
        return "changed"


class SnapshotRepo:
    """A bare git repository, for concurrent use by threads and processes.

    Raises:
        EnvironmentUnavailable: `git` is not installed, or the folder cannot be created.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        if not shutil.which("git"):
            raise EnvironmentUnavailable("the workspace needs git, which is not installed")
        # Written last, so its presence shows that the repository is complete.
        attributes = folder / "info" / "attributes"
        if attributes.exists():
            return
        try:
            attributes.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise EnvironmentUnavailable(f"cannot create the workspace's store {folder}: {error}") from None
        self.git("init", "--quiet", "--bare", "--object-format=sha1", "--template=", END, str(folder))
        attributes.write_text(_ATTRIBUTES, encoding="utf-8")

    def git(
        self, *words: str, stdin: bytes = b"", index: Path | None = None, cwd: Path | None = None, fails: int = 0
    ) -> bytes:
        """Run git on this repository, with an index file or in a working tree, and return its output.

        An exit status up to `fails` is not a failure.

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
        # On the command line, settings prevail over those of any file.
        command = ["git"]
        for setting in _SETTINGS:
            command += ["-c", setting]
        command += words
        done = subprocess.run(
            command, input=stdin, capture_output=True, env=environment, cwd=cwd or self.folder, check=False
        )
        # A negative one is a signal.
        if done.returncode not in range(fails + 1):
            said = " ".join(done.stderr.decode(errors="replace").split())
            raise EnvironmentFault(f"git {words[0]} failed: {said[:300]}", transient=False)
        return done.stdout

    def store(self, root: Path, found: Found) -> str:
        """Store what was found in a folder, which is only read, and return the tree.

        Raises:
            EnvironmentFault: a file cannot be read.
        """
        empty = [(path, _EMPTY) for path in found.empty]
        # An index that is kept misses changes of the same size whose times a command has set.
        with self._index() as index:
            self.git("update-index", "-z", "--add", "--stdin", stdin=_rows(found.files), index=index, cwd=root)
            return self._written(index, empty)

    def replace(self, tree: str, entries: Iterable[tuple[str, Entry | None]]) -> str:
        """Return a tree with other entries at some paths, or none."""
        with self._index(tree) as index:
            return self._written(index, entries)

    def ignored(self, tree: str, paths: Iterable[str]) -> set[str]:
        """Return the paths that the `.gitignore` files of a tree ignore."""
        rules = [path for path in self.paths(tree) if posixpath.basename(path) == ".gitignore"]
        if not rules:
            return set()
        with tempfile.TemporaryDirectory(prefix="ignored-") as name:
            folder = Path(name)
            # git reads the rules from a working tree only.
            self.check_out(tree, folder, rules)
            words = ("check-ignore", "--no-index", "-z", "--stdin")
            # It ends with 1 if none is ignored.
            listed = self.git(*words, stdin=_rows(paths), cwd=folder, fails=1)
        names = listed.split(b"\0")[:-1]
        return set(map(os.fsdecode, names))

    def check_out(self, tree: str, folder: Path, paths: Sequence[str] | None = None) -> None:
        """Write a tree into a folder.

        Args:
            tree: The tree.
            folder: An empty folder, unless paths are given.
            paths: The files to write, over whatever is in their way; everything if None.
        """
        words = ["checkout-index", "--force", "--quiet"]
        if paths is None:
            words.append("--all")
        else:
            words += ["-z", "--stdin"]
        with self._index(tree) as index:
            self.git(*words, stdin=_rows(paths or ()), index=index, cwd=folder)

    def blob(self, blob: str) -> bytes:
        return self.git("cat-file", END, "blob", object_id(blob, "blob"))

    def file(self, tree: str, path: str) -> bytes:
        """Return the content of a file of a tree."""
        return self.git("cat-file", END, "blob", f"{object_id(tree)}:{path}")

    def holds(self, tree: str) -> bool:
        object_id(tree)
        try:
            return self.git("cat-file", "-t", END, tree).strip() == b"tree"
        except EnvironmentFault:
            return False

    def paths(self, tree: str, *, empty: bool = False) -> set[str]:
        """Return the paths of a tree's files, or of its empty folders."""
        listed = self.git("ls-tree", "-r", "-z", "--full-tree", END, object_id(tree))
        mode_of_empty = _EMPTY.mode.encode()
        found = set()
        for row in listed.split(b"\0")[:-1]:
            about, path = row.split(b"\t", 1)
            is_empty = about.startswith(mode_of_empty)
            if is_empty == empty:
                found.add(os.fsdecode(path))
        return found

    def changes(self, before: str, after: str) -> list[Change]:
        """Return the files and links that differ between two trees, in order of their paths."""
        differing = self.git("diff-tree", "-r", "-z", "--no-renames", END, object_id(before), object_id(after))
        words = differing.split(b"\0")[:-1]
        # In turn, `:MODE MODE BLOB BLOB STATUS` and a path.
        about_paths = words[::2]
        paths = words[1::2]
        changes = []
        for about, path in zip(about_paths, paths, strict=True):
            old_mode, new_mode, old_blob, new_blob, _ = about.decode().removeprefix(":").split(" ")
            old = _file_or_link(old_mode, old_blob)
            new = _file_or_link(new_mode, new_blob)
            if old or new:
                changes.append(Change(os.fsdecode(path), old, new))
        return changes

    def patch(self, before: str, after: str) -> str:
        """Return the patch between two trees, for `git apply`, with binary files, renames, modes and links.

        It has no empty folders. If a changed line is not UTF-8, all files are included as binary.
        """
        before = self._without_empty(before)
        after = self._without_empty(after)
        try:
            return self.git("diff-tree", *_PATCH, END, before, after).decode()
        except UnicodeDecodeError:
            pass
        # Without `diff`, a file counts as binary, and is written as ASCII.
        with tempfile.NamedTemporaryFile() as attributes:
            attributes.write(b"* -diff\n")
            attributes.flush()
            setting = f"core.attributesFile={attributes.name}"
            return self.git("-c", setting, "diff-tree", *_PATCH, END, before, after).decode()

    def _without_empty(self, tree: str) -> str:
        removed = [(path, None) for path in self.paths(tree, empty=True)]
        return self.replace(tree, removed)

    @contextmanager
    def _index(self, tree: str | None = None) -> Iterator[Path]:
        """Give a temporary index of a tree."""
        with tempfile.TemporaryDirectory(prefix="index-") as folder:
            index = Path(folder, "index")
            # Without a tree, git begins with an empty index.
            if tree is not None:
                self.git("read-tree", END, object_id(tree), index=index)
            yield index

    def _written(self, index: Path, entries: Iterable[tuple[str, Entry | None]]) -> str:
        """Return the tree of an index with other entries at some paths, or none."""
        removals = []
        others = []
        for path, entry in entries:
            name = os.fsencode(path)
            if entry is None:
                removals.append(_REMOVED + name)
            else:
                others.append(f"{entry.mode} {entry.blob}\t".encode() + name)
        # Removals come first: a file may have become a folder.
        stdin = b"".join(row + b"\0" for row in removals + others)
        self.git("update-index", "-z", "--replace", "--index-info", stdin=stdin, index=index)
        return self.git("write-tree", index=index).decode().strip()


_REMOVED = b"0 " + b"0" * 40 + b"\t"


def _file_or_link(mode: str, blob: str) -> Entry | None:
    """Return an entry of a tree, or None for no entry and for an empty folder."""
    if mode in ("000000", _EMPTY.mode):
        return None
    return Entry(mode, blob)


def _rows(paths: Iterable[str]) -> bytes:
    return b"".join(os.fsencode(path) + b"\0" for path in paths)
