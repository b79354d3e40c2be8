"""Text files, rows in JSON, and the package's own tables in TOML."""

import gzip
import io
import json
import tomllib
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from langgraph_reflexion.errors import ConfigurationError

Row = dict[str, Any]

DEEPEST_TABLE = 50
"""Levels of tables and lists that a TOML file may have."""
MAX_UNPACKED = 1 << 30
"""Bytes that a gzipped file may have when it is unpacked."""


@cache
def own_table(module: str, name: str) -> Row:
    """Return a TOML file beside a module, given by its `__file__`. Cached: do not modify the result."""
    return tomllib.loads(Path(module).with_name(name).read_text(encoding="utf-8"))


def expect_ordinary(path: Path) -> None:
    """Refuse a pipe or a device, from which reading may wait or go on for ever.

    Raises:
        ConfigurationError: it is there, and is not an ordinary file.
    """
    if path.exists() and not path.is_file():
        if path.is_dir():
            raise ConfigurationError(f"{path} is a folder: name a file")
        raise ConfigurationError(f"{path} is not an ordinary file: name a file")


def read_toml(path: Path) -> Row:
    """Return the content of a TOML file, whoever wrote it.

    Raises:
        ConfigurationError: the file cannot be read, is not TOML, or is nested too deeply.
    """
    expect_ordinary(path)
    try:
        read = tomllib.loads(path.read_text(encoding="utf-8"))
        deep = is_deeper(read, DEEPEST_TABLE)
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}") from error
    except RecursionError:
        deep = True
    except ValueError as error:
        # Python itself refuses integers of thousands of digits.
        raise ConfigurationError(f"{path} is not TOML: {error}") from error
    if deep:
        raise ConfigurationError(f"{path} is nested more than {DEEPEST_TABLE} levels deep: write it flatter")
    return read


def is_deeper(value: Any, levels: int) -> bool:
    """Return whether lists and tables in a value are nested deeper than this."""
    # Level by level: recursion would fail where it is deep.
    found: list[Any] = [value]
    for _ in range(levels + 1):
        inner: list[Any] = []
        for each in found:
            if isinstance(each, dict):
                inner += each.values()
            elif isinstance(each, list):
                inner += each
        found = inner
    return bool(found)


def _unpacked(data: bytes) -> bytes:
    """Return the content of gzipped data.

    Raises:
        ValueError: it is too large.
    """
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
        unpacked = file.read(MAX_UNPACKED + 1)
    if len(unpacked) > MAX_UNPACKED:
        raise ValueError(f"unpacked, it has more than {MAX_UNPACKED >> 20} MB")
    return unpacked


class FileMissing(ConfigurationError):
    """A file that a setting names is not there."""


def read_text(path: Path) -> str:
    """Return the text of a file, gzipped or not, without the byte order mark that some editors write.

    Raises:
        ConfigurationError: the file cannot be read; FileMissing if it is not there.
    """
    expect_ordinary(path)
    try:
        data = path.read_bytes()
        if data.startswith(b"\x1f\x8b"):
            data = _unpacked(data)
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigurationError(f"{path}, line {line}, is not UTF-8: save the file in that encoding") from error
    except FileNotFoundError as error:
        raise FileMissing(f"{path} cannot be read: {error.strerror}") from error
    except (OSError, EOFError, ValueError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigurationError(f"{path} cannot be read: {reason}") from error


def read_rows(path: Path, parse: Callable[[str], Any] = json.loads) -> Iterator[tuple[str, Row]]:
    """Yield the objects of a JSON Lines file or a JSON list, gzipped or not, each with its place in words.

    `parse` parses JSON.

    Raises:
        ConfigurationError: the file cannot be read, or a row is not an object; the message has the place.
    """
    for place, value in _values(path, parse):
        if not isinstance(value, dict):
            raise ConfigurationError(f"{place}: expected a JSON object, found {type(value).__name__}")
        yield place, value


def _values(path: Path, parse: Callable[[str], Any]) -> Iterator[tuple[str, Any]]:
    """Yield the entries of a JSON list, or the lines of any other file, each with its place in words."""
    text = read_text(path)
    if text.lstrip().startswith("["):
        for number, value in enumerate(_parsed(text, str(path), parse), 1):
            yield f"{path}, entry {number}", value
        return
    # Not `splitlines`, which also splits a text in JSON at U+2028.
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            place = f"{path}, line {number}"
            yield place, _parsed(line, place, parse)


def _parsed(text: str, place: str, parse: Callable[[str], Any]) -> Any:
    try:
        return parse(text)
    except (ValueError, RecursionError) as error:
        message = f"{place}: not JSON: {error}"
        # The place says in which line of the file it is.
        raise ConfigurationError(message.replace("line 1 column", "column")) from None
