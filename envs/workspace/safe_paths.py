"""Access to paths that an agent names, which must not lead out of the workspace."""

import os
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
        Refused: it leads out of the workspace, is not a path, or is one that no copy has, such as `.git`.
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
    never = EXCLUDED.intersection(place.split(os.sep))
    if never:
        raise Refused(f"{given}: this copy of the workspace has no {never.pop()}")
    return place


def read_bytes(root: Path, place: str) -> bytes:
    """Return a file's content.

    Raises:
        Refused: there is no such file, it is not an ordinary file, or it is too large.
    """
    path = root / place
    try:
        _check_kind(path, place)
        size = path.stat().st_size
        if size > MOST_BYTES:
            raise Refused(f"{place} has {size} bytes; at most {MOST_BYTES} are read")
        return path.read_bytes()
    except OSError as error:
        raise Refused(f"{place}: {error.strerror}") from None


def write_bytes(root: Path, place: str, content: bytes) -> None:
    """Write a file, and create its folders.

    Raises:
        Refused: it cannot be written, or is too large.
    """
    path = root / place
    if len(content) > MOST_BYTES:
        raise Refused(f"{place}: {len(content)} bytes; at most {MOST_BYTES} are written")
    try:
        _check_kind(path, place)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    except OSError as error:
        raise Refused(f"{place}: {error.strerror}") from None


def _check_kind(path: Path, place: str) -> None:
    if path.is_dir():
        raise Refused(f"{place} is a folder")
    if path.exists() and not path.is_file():
        raise Refused(f"{place} is not an ordinary file")
