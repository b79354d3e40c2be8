"""A bare git repository beside the workspace, in which every state of its files is a tree.

It runs the `git` program without the user's settings and hooks, and ignores the workspace's `.gitattributes`. Files
go in and come out byte for byte.
"""

import hashlib
import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from langgraph_reflexion.envs.workspace.tree_walk import read, walk
from langgraph_reflexion.errors import EnvironmentFault, EnvironmentUnavailable

LINK = "120000"

# Attributes that convert files would change them; this file has the highest precedence.
_ATTRIBUTES = "* -text -crlf -ident -filter !eol !working-tree-encoding\n"
_SETTINGS = {
    "core.bare": "false",
    "core.autocrlf": "false",
    "core.fileMode": "true",
    "core.symlinks": "true",
    "core.ignoreCase": "false",
    "core.precomposeUnicode": "false",
    "core.protectHFS": "false",
    "core.protectNTFS": "false",
    "core.quotePath": "true",
    "core.compression": "1",
    "core.fsync": "none",
    "core.hooksPath": "/dev/null",
    "gc.auto": "0",
    "checkout.workers": "0",
    "checkout.thresholdForParallelism": "500",
    "fastimport.unpackLimit": "20",
    "diff.renameLimit": "1000",
}


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

    Args:
        folder: The repository's folder, which is created.

    Raises:
        EnvironmentUnavailable: `git` is not installed, or the folder cannot be created.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._program = shutil.which("git") or ""
        if not self._program:
            raise EnvironmentUnavailable("the workspace needs git, which is not installed")
        if not (folder / "info" / "attributes").exists():
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise EnvironmentUnavailable(f"cannot create the workspace's store {folder}: {error}") from None
            self.git("init", "--quiet", "--bare", "--object-format=sha1", "--template=", str(folder))
            (folder / "info").mkdir(exist_ok=True)
            (folder / "info" / "attributes").write_text(_ATTRIBUTES, encoding="utf-8")

    def git(
        self,
        *words: str,
        stdin: bytes = b"",
        index: Path | None = None,
        cwd: Path | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> bytes:
        """Run git on this repository, and return its output.

        Args:
            *words: The command and its arguments.
            stdin: Its input.
            index: Its index file.
            cwd: Its working tree.
            settings: Additional settings.

        Raises:
            EnvironmentFault: git failed.
        """
        done = subprocess.run(
            self._command(words, settings or {}),
            input=stdin,
            capture_output=True,
            env=self._environment(index, cwd),
            cwd=cwd or self.folder,
            check=False,
        )
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip()
            raise EnvironmentFault(f"git {words[0]} failed: {' '.join(said.split())[:300]}", transient=False)
        return done.stdout

    def keep(self, contents: Iterable[bytes]) -> None:
        """Store contents as blobs; `blob_id` gives their ids."""
        writing = subprocess.Popen(
            self._command(("fast-import", "--quiet", "--done", "--depth=0"), {}),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=self._environment(None, None),
            cwd=self.folder,
        )
        with writing:
            assert writing.stdin is not None
            assert writing.stderr is not None
            try:
                for content in contents:
                    writing.stdin.write(b"blob\ndata %d\n" % len(content))
                    writing.stdin.write(content)
                    writing.stdin.write(b"\n")
                writing.stdin.write(b"done\n")
                writing.stdin.close()
            except BrokenPipeError:
                pass
            except BaseException:
                writing.kill()
                raise
            said = writing.stderr.read().decode(errors="replace")
        if writing.returncode:
            raise EnvironmentFault(f"git fast-import failed: {' '.join(said.split())[:300]}", transient=False)

    def keep_empty(self, names: list[str]) -> str:
        """Store the names of empty folders as a blob, and return its id; empty if there are none."""
        if not names:
            return ""
        content = b"\0".join(os.fsencode(name) for name in names)
        self.keep([content])
        return blob_id(content)

    def empty_folders(self, files: Files) -> list[str]:
        """Return the names of a state's empty folders."""
        if not files.empty:
            return []
        return [os.fsdecode(name) for name in self.blob(files.empty).split(b"\0") if name]

    def take_in(self, root: Path, scratch: Path) -> tuple[Files, list[str]]:
        """Store the state of a user's folder, which is only read.

        Args:
            root: The folder.
            scratch: A folder for a temporary index.

        Returns:
            The state, and the folders of dependencies, which are not part of it.

        Raises:
            OSError: a file cannot be read.
        """
        found = walk(root)
        entries: list[tuple[str, Entry | None]] = []

        def contents() -> Iterator[bytes]:
            for path, status in found.files.items():
                content = read(os.path.join(root, path), status)
                entries.append((path, entry_of(status, content)))
                yield content

        self.keep(contents())
        scratch.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=scratch, prefix="index-") as folder:
            tree = self.write_tree(Path(folder) / "index", entries)
        return Files(tree, self.keep_empty(found.empty)), found.dependencies

    def blob(self, blob: str) -> bytes:
        return self.git("cat-file", "blob", blob)

    def holds(self, tree: str) -> bool:
        try:
            return self.git("cat-file", "-t", tree).strip() == b"tree"
        except EnvironmentFault:
            return False

    def entries(self, tree: str) -> dict[str, Entry]:
        """Return the entries of a tree by path."""
        found = {}
        for row in self.git("ls-tree", "-r", "-z", "--full-tree", tree).split(b"\0")[:-1]:
            about, _, path = row.partition(b"\t")
            mode, _, blob = about.decode().split(" ")
            found[os.fsdecode(path)] = Entry(mode, blob)
        return found

    def changes(self, before: str, after: str) -> list[Change]:
        """Return the paths that differ between two trees, in order."""
        if before == after:
            return []
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

        Files that are not UTF-8 are included as binary.
        """
        words = ("diff-tree", "-r", "-p", "-M", "--binary", "--full-index", "--no-color", "--no-ext-diff")
        patch = self.git(*words, "--no-textconv", before, after)
        try:
            return patch.decode()
        except UnicodeDecodeError:
            pass
        binary = [
            change.path
            for change in self.changes(before, after)
            if not all(_is_utf8(self.blob(entry.blob)) for entry in (change.before, change.after) if entry)
        ]
        with tempfile.NamedTemporaryFile(dir=self.folder, prefix="binary-") as attributes:
            attributes.write(b"".join(_attribute_pattern(path) + b" -diff\n" for path in binary))
            attributes.flush()
            settings = {"core.attributesFile": attributes.name}
            return self.git(*words, "--no-textconv", before, after, settings=settings).decode()

    def read_tree(self, tree: str, index: Path) -> None:
        """Read a tree into an index."""
        self.git("read-tree", tree, index=index)

    def write_tree(self, index: Path, entries: Iterable[tuple[str, Entry | None]]) -> str:
        """Add paths to an index, or remove them (None); write its tree and return the id."""
        rows = [
            (f"{entry.mode} {entry.blob}\t" if entry else f"0 {'0' * 40}\t").encode() + os.fsencode(path) + b"\0"
            # Removals come first: a file may have become a folder.
            for path, entry in sorted(entries, key=lambda each: each[1] is not None)
        ]
        if rows:
            stdin = b"".join(rows)
            self.git("update-index", "-z", "--replace", "--index-info", stdin=stdin, index=index)
        return self.git("write-tree", index=index).decode().strip()

    def check_out(self, index: Path, folder: Path, paths: Sequence[str] | None = None) -> None:
        """Write the files of an index into a folder.

        Args:
            index: The index.
            folder: A folder without links: a new one, unless paths are given.
            paths: The paths to write; all of them if None.
        """
        if paths is None:
            self.git("checkout-index", "--all", "--force", "--quiet", index=index, cwd=folder)
        elif paths:
            stdin = b"".join(os.fsencode(path) + b"\0" for path in paths)
            self.git("checkout-index", "--force", "--quiet", "-z", "--stdin", stdin=stdin, index=index, cwd=folder)

    def _command(self, words: Sequence[str], settings: Mapping[str, str]) -> list[str]:
        given = {**_SETTINGS, "core.attributesFile": "/dev/null", **settings}
        return [self._program, *(word for name, value in given.items() for word in ("-c", f"{name}={value}")), *words]

    def _environment(self, index: Path | None, work_tree: Path | None) -> dict[str, str]:
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
        if work_tree is not None:
            environment["GIT_WORK_TREE"] = str(work_tree)
        return environment


def entry_of(status: os.stat_result, content: bytes) -> Entry:
    """Return the entry of a file or link."""
    mode = LINK if stat.S_ISLNK(status.st_mode) else "100755" if status.st_mode & stat.S_IXUSR else "100644"
    return Entry(mode, blob_id(content))


def blob_id(content: bytes) -> str:
    """Return git's id of a content."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def _attribute_pattern(path: str) -> bytes:
    """Return a path as a literal, quoted pattern for an attributes file."""
    plain = b"".join(b"\\" + bytes([c]) if c in b"*?[\\" else bytes([c]) for c in os.fsencode(path))
    quoted = b"".join(b"\\%03o" % c if c < 32 or c in b'"\\' or c > 126 else bytes([c]) for c in b"/" + plain)
    return b'"' + quoted + b'"'
