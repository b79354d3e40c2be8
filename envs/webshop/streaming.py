"""JSON files that are larger than the memory, one entry at a time."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from langgraph_reflexion.errors import ConfigurationError, EnvironmentUnavailable

_PIECE = 4_000_000
"""How many characters are read at once."""
_LONGEST_ENTRY = 100_000_000
"""In characters: what goes on for longer is taken for a file that is broken."""


def stream(path: Path) -> Iterator[tuple[str, Any]]:
    """The entries of a file that holds one JSON list or one JSON object.

    Args:
        path: The file.

    Yields:
        The entry's name in the object, empty in a list; and its value.

    Raises:
        ConfigurationError: the file is not such JSON; entries before the mistake have been given.
        EnvironmentUnavailable: it cannot be read.
    """
    try:
        with path.open(encoding="utf-8-sig") as file:
            yield from entries(file)
    except OSError as error:
        raise EnvironmentUnavailable(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{path} is no whole list or object of JSON: {error}") from error


def entries(file: TextIO) -> Iterator[tuple[str, Any]]:
    """The entries of an open file; see `stream`.

    Raises:
        ValueError: it is no such JSON.
    """
    return _Reader(file).entries()


class _Reader:
    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._text = ""
        self._at = 0
        self._before = 0
        self._decode = json.JSONDecoder().raw_decode

    def entries(self) -> Iterator[tuple[str, Any]]:
        """The entries of the list or the object."""
        opened = self._next()
        if opened not in ("[", "{"):
            raise ValueError("it begins with neither [ nor {")
        closed = "]" if opened == "[" else "}"
        if self._peek() == closed:
            self._at += 1
        else:
            while True:
                name = ""
                if opened == "{":
                    name = self._value()
                    if not isinstance(name, str):
                        raise ValueError(f"{name!r:.50} is no name, before character {self._before + self._at}")
                    self._expect(":")
                yield name, self._value()
                if self._expect(",", closed) == closed:
                    break
        if self._peek():
            raise ValueError(f"there is more after its end, at character {self._before + self._at}")

    def _peek(self) -> str:
        """The next character that is no blank; nothing at the end of the file."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in " \t\n\r":
                self._at += 1
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def _next(self) -> str:
        found = self._peek()
        if not found:
            raise ValueError("it ends too soon")
        self._at += 1
        return found

    def _expect(self, *wanted: str) -> str:
        found = self._next()
        if found not in wanted:
            raise ValueError(f"there should be {' or '.join(wanted)} at character {self._before + self._at - 1}")
        return found

    def _value(self) -> Any:
        if not self._peek():
            raise ValueError("it ends too soon")
        while True:
            try:
                value, end = self._decode(self._text, self._at)
            except ValueError as error:
                if len(self._text) - self._at > _LONGEST_ENTRY or not self._more():
                    raise ValueError(f"{error} (from character {self._before} of the file)") from error
                continue
            # A number may go on in what was not read yet.
            if not self._text[end:].strip("+-.eE0123456789") and self._more():
                continue
            self._at = end
            return value

    def _more(self) -> bool:
        """Read on, and twice as much where one entry is that long; whether there was any more."""
        self._text, self._before, self._at = self._text[self._at :], self._before + self._at, 0
        piece = self._file.read(max(_PIECE, len(self._text)))
        self._text += piece
        return bool(piece)
