"""Archives of the files that a run leaves, and file names that can exist together."""

import os
from collections.abc import Sequence

_BLOCK = 512
_LONGEST, _LONGEST_PART, _DEEPEST = 3072, 255, 100
"""Limits of a name in bytes, leaving room for a prefix; of each part in bytes; and of the number of parts."""


class Names:
    """File names, relative to one folder, that can all exist at the same time."""

    def __init__(self) -> None:
        self._files: set[str] = set()
        self._folders: set[str] = set()

    def add(self, name: str) -> str:
        """Add a normalized name, or return why it is invalid. The same name may be added again."""
        if name.startswith("/") or name in ("", ".") or ".." in (parts := name.split("/")) or "\0" in name:
            return "is not a name within the working directory"
        try:
            lengths = [len(os.fsencode(part)) for part in parts]
        except UnicodeEncodeError:
            return "cannot be encoded as a file's name"
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
    """Return the regular files of a tar that were asked for, except names that conflict with earlier ones.

    It parses what `tar` writes and nothing else, in one pass: `tarfile` can be made to loop or to allocate without
    limit, and a program may have written anything.
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
    name = head[:100].partition(b"\0")[0]
    prefix = head[345:500].partition(b"\0")[0] if head[257:265] == b"ustar\x0000" else b""
    return prefix + b"/" + name if prefix else name


def _size(head: bytes) -> int | None:
    """Return the size of the content after a header; None if it is not a header."""
    try:
        if int(head[148:156].strip(b" \0") or b"0", 8) != sum(head[:148]) + 8 * ord(" ") + sum(head[156:]):
            return None
        if head[124] == 0x80:
            return int.from_bytes(head[125:136], "big")
        size = int(head[124:136].strip(b" \0") or b"0", 8)
    except ValueError:
        return None
    return size if size >= 0 else None
