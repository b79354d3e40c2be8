"""Paths that an agent names: they stay in the workspace, links included."""

import os
import stat
from pathlib import Path

from langgraph_reflexion.envs.workspace.walking import NEVER

MOST_BYTES = 1 << 20
"""Files that are larger are neither read nor written by a tool."""


class Refused(Exception):
    """A path that a tool does not touch. The message says why."""


def inside(root: Path, path: str, original: str) -> str:
    """Where a path leads in the workspace, relative to its root; `.` for the root itself.

    Commands have all ended when this is asked, so nothing changes meanwhile.

    Args:
        root: The copy's root.
        path: What the agent wrote: relative, or absolute below the place where commands see the workspace.
        original: That place.

    Raises:
        Refused: it leads out, or could be no path.
    """
    given = path.strip()
    if "\0" in given or len(os.fsencode(given)) > 4000:
        raise Refused(f"{given[:80]!r} is no path")
    if given == original or given.startswith(f"{original}/"):
        given = os.path.relpath(given, original)
    base = os.path.realpath(root)
    try:
        real = os.path.realpath(os.path.join(base, given or "."), strict=False)
    except OSError as error:
        raise Refused(f"{given}: {error.strerror}") from None
    if real != base and not real.startswith(f"{base}{os.sep}"):
        raise Refused(f"{given} leads out of the workspace, and only what is in it can be reached")
    place = os.path.relpath(real, base)
    if never := NEVER.intersection(place.split(os.sep)):
        raise Refused(f"{given}: there is no {never.pop()} in this copy of the workspace")
    return place


def read_bytes(root: Path, place: str) -> bytes:
    """A file's content.

    Raises:
        Refused: there is no such file, it is none, or it is too large.
    """
    try:
        descriptor = os.open(root / place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise Refused(f"{place}: {error.strerror}") from None
    # As a raw descriptor, since no file object is made of a folder.
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise Refused(f"{place} is {'a folder' if stat.S_ISDIR(status.st_mode) else 'no ordinary file'}")
        if status.st_size > MOST_BYTES:
            raise Refused(f"{place} has {status.st_size} bytes, and at most {MOST_BYTES} are read")
        with os.fdopen(os.dup(descriptor), "rb") as file:
            return file.read()
    finally:
        os.close(descriptor)


def write_bytes(root: Path, place: str, content: bytes) -> None:
    """Write a file, in folders that are made if need be.

    Raises:
        Refused: it cannot be written, or is too large.
    """
    if len(content) > MOST_BYTES:
        raise Refused(f"{place}: {len(content)} bytes, and at most {MOST_BYTES} are written")
    if place == ".":
        raise Refused("the workspace itself is a folder: name a file in it")
    path = root / place
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        if path.exists() and not path.is_file():
            raise Refused(f"{place} is {'a folder' if path.is_dir() else 'no ordinary file'}")
        with os.fdopen(os.open(path, flags, 0o644), "wb") as file:
            file.write(content)
    except OSError as error:
        raise Refused(f"{place}: {error.strerror}") from None
