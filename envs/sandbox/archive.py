"""Names of files that can be there together, and the archive in which a run hands back files of its own making."""

import os
from collections.abc import Sequence

_BLOCK = 512
_LONGEST, _LONGEST_PART, _DEEPEST = 3072, 255, 100
"""Bytes of a name, which the kernel takes with what is before it; bytes of each of its parts; and parts."""


class Names:
    """Names of files, relative to one folder, that can all be there at once."""

    def __init__(self) -> None:
        self._files: set[str] = set()
        self._folders: set[str] = set()

    def add(self, name: str) -> str:
        """Add a name. Returns what is wrong with it, and then leaves it out; the same name may be added again.

        Args:
            name: As `os.path.normpath` makes it.
        """
        if name.startswith("/") or name in ("", ".") or ".." in (parts := name.split("/")) or "\0" in name:
            return "is no name within the working directory"
        try:
            lengths = [len(os.fsencode(part)) for part in parts]
        except UnicodeEncodeError:
            return "cannot be written as a file's name"
        if len(parts) > _DEEPEST or max(lengths) > _LONGEST_PART or sum(lengths) + len(parts) > _LONGEST:
            return "is too long for a file's name"
        if name in self._folders:
            return "is a folder of another file"
        above = []
        folder = os.path.dirname(name)
        while folder and folder not in self._folders:
            if folder in self._files:
                return f"is below {folder!r}, which is a file"
            above.append(folder)
            folder = os.path.dirname(folder)
        self._files.add(name)
        self._folders.update(above)
        return ""


def unpack(archive: bytes, names: Sequence[str]) -> dict[str, bytes]:
    """The regular files of a tar, by their names. What cannot be there at once with those before is left out.

    Of the format it reads what `tar` writes and nothing else, in one pass: a program may have written anything.

    Args:
        archive: A tar, whole or not.
        names: The files and folders that were asked for; others are left out.
    """
    found: dict[str, bytes] = {}
    possible = Names()
    asked = [os.path.normpath(name) for name in names]
    position, long_name = 0, b""
    while position + _BLOCK <= len(archive):
        head = archive[position : position + _BLOCK]
        size = _size(head)
        begin = position + _BLOCK
        if size is None or begin + size > len(archive):
            break
        position = begin + -(-size // _BLOCK) * _BLOCK
        kind = head[156:157]
        if kind == b"L":
            long_name = archive[begin : begin + min(size, 2 * _LONGEST)].partition(b"\0")[0]
        elif kind != b"K":
            raw, long_name = long_name or _short(head), b""
            name = os.path.normpath(os.fsdecode(raw))
            wanted = any(name == each or name.startswith(f"{each}/") or each == "." for each in asked)
            if kind in (b"0", b"\0") and wanted and not possible.add(name):
                found[name] = archive[begin : begin + size]
    return found


def _short(head: bytes) -> bytes:
    """The name in a header itself."""
    name = head[:100].partition(b"\0")[0]
    prefix = head[345:500].partition(b"\0")[0] if head[257:265] == b"ustar\x0000" else b""
    return prefix + b"/" + name if prefix else name


def _size(head: bytes) -> int | None:
    """The size of what follows a header; None where it is no header."""
    try:
        if int(head[148:156].strip(b" \0") or b"0", 8) != sum(head[:148]) + 8 * ord(" ") + sum(head[156:]):
            return None
        if head[124] == 0x80:
            return int.from_bytes(head[125:136], "big")
        size = int(head[124:136].strip(b" \0") or b"0", 8)
    except ValueError:
        return None
    return size if size >= 0 else None
