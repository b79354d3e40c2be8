"""The types of the sandbox's API, and the validation of what callers pass."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from langgraph_reflexion.envs.sandbox.helper.launch import HOME, WORK
from langgraph_reflexion.envs.sandbox.helper.protocol import Bound
from langgraph_reflexion.errors import ConfigurationError, checked

_LONGEST_NAME = 255
MAX_FILES = 200
"""Number of files of a run: bubblewrap writes each from a descriptor, and accepts a few thousand arguments."""

Status = Literal["ok", "failed", "timeout", "cpu", "memory", "output", "files"]

RESERVED = (
    "/proc",
    "/dev",
    "/sys",
    "/etc",
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    WORK,
    HOME,
)
"""Paths inside that belong to the sandbox itself."""
_MAX_WORD_BYTES = (1 << 17) - 1


def _word(given: str) -> str:
    if "\0" in given:
        raise ValueError("contains a NUL, which no program can receive")
    if len(os.fsencode(given)) > _MAX_WORD_BYTES:
        raise ValueError(f"has more than {_MAX_WORD_BYTES} bytes: use stdin or a file instead")
    return given


Word = Annotated[str, AfterValidator(_word)]
"""A string that can be passed to a system call."""


def _text(given: str) -> str:
    given.encode()  # raises a ValueError for half of a surrogate pair
    return given


Content = Annotated[str, AfterValidator(_text)] | bytes
"""The content of a file."""


@checked
@dataclass(frozen=True, slots=True)
class Bind:
    """A folder or file of the host that is visible inside."""

    source: Path | Word
    target: Path | Word | None = None
    """Its path inside; by default the same. Landlock supports no other."""
    writable: bool = False
    """Whether the program may change the host's files. It cannot change those that programs of the host run by
    themselves, such as `.git` and `.vscode` (`helper.hooks.HOOKS`)."""
    own: bool = False
    """Whether the folder is the program's alone, such as a copy: then it may also change those files, and have Unix
    sockets, with which it could reach servers of the host that listen in a shared folder."""


@checked
@dataclass(frozen=True, slots=True)
class Policy:
    """What a run may see and do."""

    network: bool = False
    """Share the host's network and everything reachable over it, including the host's loopback services. Unix sockets
    are then refused, except pairs, since the host's abstract ones would be reachable too."""
    fork: bool = True
    """Whether the program may start processes. Threads are always allowed."""
    binds: Sequence[Bind] = ()
    """Host paths that are visible in addition to interpreters and compilers."""
    hidden: Sequence[Path | Word] = ()
    """Host folders that are not visible, although the installation around them is."""
    env: Mapping[Annotated[Word, Field(pattern="^[^=]+$")], Word] = field(default_factory=dict)
    """Environment variables in addition to HOME, PATH, TMPDIR, USER and LANG. None are inherited from the agent."""


@dataclass(frozen=True, slots=True)
class Result:
    """How a run ended. A sandbox that fails to start has no result: it raises `EnvironmentFault`."""

    status: Status
    """`ok` for exit status 0, `failed` for any other, or the limit that ended the run."""
    exit_code: int
    """As in a shell: 128 plus the signal's number if a signal ended it."""
    stdout: bytes
    stderr: bytes
    result: bytes
    """What it wrote to descriptor 3. The program may write anything here: the caller decides what it is worth."""
    collected: bytes
    """The collected files that exist, as a tar: to be unpacked by another run, since a program may have written
    anything there."""
    seconds: float
    """Wall time, from the moment the sandbox was ready."""

    @property
    def text(self) -> str:
        """Standard output as text."""
        return self.stdout.decode(errors="replace")

    @property
    def errors(self) -> str:
        """Standard error as text."""
        return self.stderr.decode(errors="replace")


def within(name: str) -> str:
    """Return the normalized name of something in the working directory."""
    if not name or name.startswith("/") or ".." in name.split("/"):
        raise ConfigurationError(f"{name!r:.80} is not a name within the working directory")
    longest = max(map(len, os.fsencode(name).split(b"/")))
    if longest > _LONGEST_NAME:
        raise ConfigurationError(f"{name!r:.80} is too long for a file's name")
    return os.path.normpath(name)


def validate_binds(binds: Sequence[Bound]) -> None:
    """Refuse binds that hide the sandbox's own paths, or that a link made by an earlier run would redirect."""
    for source, target, _, _ in binds:
        if not os.path.exists(source):
            raise ConfigurationError(f"cannot bind {source}: it does not exist")
        if any(below(target, each) or below(each, target) for each in RESERVED):
            raise ConfigurationError(f"cannot bind at {target}: that path, or one below it, is the sandbox's own")
        for folder, place, writable, _ in binds:
            if writable:
                _refuse_redirected(source, folder, folder)
                _refuse_redirected(target, place, folder)


def _refuse_redirected(path: str, above: str, folder: str) -> None:
    """Refuse a path below a writable one, in which any part of the path may have become a link.

    Args:
        path: The path, on the host or inside.
        above: The writable folder there.
        folder: The writable folder on the host.
    """
    if path == above or not below(path, above):
        return
    rest = os.path.relpath(path, above)
    real = os.path.realpath(os.path.join(folder, rest))
    if real != os.path.join(os.path.realpath(folder), rest):
        raise ConfigurationError(f"cannot bind {path}: a link leads it out of {above}, which is writable")


def below(path: str, folder: str) -> bool:
    """Whether a path is a folder or lies below it."""
    if path == folder:
        return True
    if folder.endswith("/"):
        return path.startswith(folder)
    return path.startswith(f"{folder}/")
