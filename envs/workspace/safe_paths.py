"""Access to paths that an agent names, which must not lead out of the workspace."""

import os
import stat
from pathlib import Path

from langgraph_reflexion.envs.workspace.tree_walk import EXCLUDED

MOST_BYTES = 1 << 20
"""The largest file that a tool reads or writes, in bytes."""


class Refused(Exception):
    """A tool refuses a path. The message says why."""


def inside(root: Path, path: str, original: str) -> str:
    """Resolve a path, and return it relative to the workspace's root (`.` for the root).

    No command runs meanwhile, so nothing changes between the check and the access.

    Args:
        root: The copy's root.
        path: The agent's path: relative, or absolute below `original`.
        original: The path at which commands see the workspace.

    Raises:
        Refused: it leads out of the workspace, or is not a path.
    """
    given = path.strip()
    if "\0" in given or len(os.fsencode(given)) > 4000:
        raise Refused(f"{given[:80]!r} is not a path")
    if given == original or given.startswith(f"{original}/"):
        given = os.path.relpath(given, original)
    base = os.path.realpath(root)
    try:
        real = os.path.realpath(os.path.join(base, given or "."), strict=False)
    except OSError as error:
        raise Refused(f"{given}: {error.strerror}") from None
    if real != base and not real.startswith(f"{base}{os.sep}"):
        raise Refused(f"{given} leads out of the workspace")
    place = os.path.relpath(real, base)
    if never := EXCLUDED.intersection(place.split(os.sep)):
        raise Refused(f"{given}: this copy of the workspace has no {never.pop()}")
    return place


def read_bytes(root: Path, place: str) -> bytes:
    """Return a file's content.

    Raises:
        Refused: there is no such file, it is not an ordinary file, or it is too large.
    """
    try:
        descriptor = os.open(root / place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise Refused(f"{place}: {error.strerror}") from None
    # A raw descriptor, as Python opens no folder as a file object.
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise Refused(f"{place} is {'a folder' if stat.S_ISDIR(status.st_mode) else 'not an ordinary file'}")
        if status.st_size > MOST_BYTES:
            raise Refused(f"{place} has {status.st_size} bytes; at most {MOST_BYTES} are read")
        with os.fdopen(os.dup(descriptor), "rb") as file:
            return file.read()
    finally:
        os.close(descriptor)


def write_bytes(root: Path, place: str, content: bytes) -> None:
    """Write a file, and create its folders.

    Raises:
        Refused: it cannot be written, or is too large.
    """
    if len(content) > MOST_BYTES:
        raise Refused(f"{place}: {len(content)} bytes; at most {MOST_BYTES} are written")
    if place == ".":
        raise Refused("this is the workspace itself: name a file in it")
    path = root / place
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        if path.exists() and not path.is_file():
            raise Refused(f"{place} is {'a folder' if path.is_dir() else 'not an ordinary file'}")
        with os.fdopen(os.open(path, flags, 0o644), "wb") as file:
            file.write(content)
    except OSError as error:
        raise Refused(f"{place}: {error.strerror}") from None
