"""Text files, rows in JSON, and the package's own tables in TOML."""

import gzip
import json
import tomllib
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from langgraph_reflexion.errors import ConfigurationError

Row = dict[str, Any]


@cache
def own_table(module: str, name: str) -> Row:
    """Return a TOML file beside a module, given by its `__file__`. It is read once, and not to be changed."""
    return tomllib.loads(Path(module).with_name(name).read_text(encoding="utf-8"))


def read_text(path: Path) -> str:
    """Return the text of a file, gzipped or not, without the byte order mark that some editors write.

    Raises:
        ConfigurationError: the file cannot be read.
    """
    try:
        data = path.read_bytes()
        data = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigurationError(f"{path}, line {line}, is not UTF-8: save the file in that encoding") from error
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise ConfigurationError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from error


def read_rows(path: Path, parse: Callable[[str], Any] = json.loads) -> Iterator[tuple[str, Row]]:
    """Yield the objects of a JSON Lines file or a JSON list, gzipped or not, each with its place in words.

    `parse` parses JSON.

    Raises:
        ConfigurationError: the file cannot be read, or a row is not an object; the message has the place.
    """

    def parsed(text: str, place: str) -> Any:
        try:
            return parse(text)
        except (ValueError, RecursionError) as error:
            raise ConfigurationError(f"{place}: not JSON: {error}".replace("line 1 column", "column")) from None

    text = read_text(path)
    rows: Iterator[tuple[str, Any]]
    if text.lstrip().startswith("["):
        rows = ((f"{path}, entry {number}", row) for number, row in enumerate(parsed(text, str(path)), 1))
    else:
        lines = enumerate(text.split("\n"), 1)
        rows = ((place := f"{path}, line {number}", parsed(line, place)) for number, line in lines if line.strip())
    for place, row in rows:
        if not isinstance(row, dict):
            raise ConfigurationError(f"{place}: expected a JSON object, found {type(row).__name__}")
        yield place, row
