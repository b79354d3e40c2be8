"""The shadow repository: a bare git repository beside the workspace, in which every state of its files is a tree.

It is driven by the `git` program and by nothing of the user's: neither their settings, nor their hooks, nor what a
workspace says in `.gitattributes`. Files go in and come out byte for byte.
"""

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from langgraph_reflexion.errors import EnvironmentFault, EnvironmentUnavailable

LINK = "120000"

# What says how files are changed on their way would change them; this place goes before all others.
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
    """What a tree has under a path."""

    mode: str
    """As git writes it: `100644`, `100755` for what can be executed, `120000` for a link."""
    blob: str
    """The id of the content."""


class Change(NamedTuple):
    """How a path differs between two trees."""

    path: str
    before: Entry | None
    after: Entry | None

    @property
    def word(self) -> str:
        """`added`, `removed` or `changed`."""
        return "added" if self.before is None else "removed" if self.after is None else "changed"


class Shadow:
    """A bare git repository. May be used by many threads and processes at once.

    Args:
        folder: Where it lies; it is made.

    Raises:
        EnvironmentUnavailable: there is no `git`, or the folder cannot be made.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._program = shutil.which("git") or ""
        if not self._program:
            raise EnvironmentUnavailable(
                "the workspace keeps its files' states with git, which is missing: install it"
            )
        if not (folder / "info" / "attributes").exists():
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise EnvironmentUnavailable(f"cannot keep the workspace's states in {folder}: {error}") from None
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
        """Run git on this repository, and return what it prints.

        Args:
            *words: The command and its arguments.
            stdin: What it reads.
            index: The index file that it works on.
            cwd: The folder whose files it works on, and where it runs.
            settings: More settings.

        Raises:
            EnvironmentFault: it failed.
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
        """Keep contents as blobs; `blob_id` says under which id."""
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

    def blob(self, blob: str) -> bytes:
        """A blob's content."""
        return self.git("cat-file", "blob", blob)

    def holds(self, tree: str) -> bool:
        """Whether a tree is here."""
        try:
            return self.git("cat-file", "-t", tree).strip() == b"tree"
        except EnvironmentFault:
            return False

    def entries(self, tree: str) -> dict[str, Entry]:
        """All paths of a tree, and what is there."""
        found = {}
        for row in self.git("ls-tree", "-r", "-z", "--full-tree", tree).split(b"\0")[:-1]:
            about, _, path = row.partition(b"\t")
            mode, _, blob = about.decode().split(" ")
            found[os.fsdecode(path)] = Entry(mode, blob)
        return found

    def changes(self, before: str, after: str) -> list[Change]:
        """Which paths differ between two trees, in their order."""
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
        """What leads from one tree to another, for `git apply`: binary files, renames, modes and links included.

        Files whose text is no UTF-8 are in it as binary ones.
        """
        words = ("diff-tree", "-r", "-p", "-M", "--binary", "--full-index", "--no-color", "--no-ext-diff")
        told = self.git(*words, "--no-textconv", before, after)
        try:
            return told.decode()
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
        """Make an index of a tree."""
        self.git("read-tree", tree, index=index)

    def write_tree(self, index: Path, entries: Iterable[tuple[str, Entry | None]]) -> str:
        """Put paths into an index, or take them out of it (None), and make a tree of it. Returns the tree's id."""
        rows = [
            (f"{entry.mode} {entry.blob}\t" if entry else f"0 {'0' * 40}\t").encode() + os.fsencode(path) + b"\0"
            # What is taken out comes first: a file may have become a folder.
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
            folder: A folder in which no link can lead anywhere: a new one, unless paths are given.
            paths: Only these; all of them unless given.
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
        # Of the variables that the user's own git goes by, none: this may run inside a hook.
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


def blob_id(content: bytes) -> str:
    """The id under which git keeps a content."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def _attribute_pattern(path: str) -> bytes:
    """A path as a quoted pattern of an attributes file, in which no character means anything."""
    plain = b"".join(b"\\" + bytes([c]) if c in b"*?[\\" else bytes([c]) for c in os.fsencode(path))
    quoted = b"".join(b"\\%03o" % c if c < 32 or c in b'"\\' or c > 126 else bytes([c]) for c in b"/" + plain)
    return b'"' + quoted + b'"'
