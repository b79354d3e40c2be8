"""Reader of JSON files larger than memory, one entry at a time."""

from codecs import BOM_UTF8
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from langgraph_reflexion.errors import ConfigurationError, EnvironmentUnavailable, the_extra


def stream(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield the entries of a file that holds one JSON list or object: their keys (empty in a list) and values.

    Raises:
        ConfigurationError: The file is not such JSON; the entries before the error have been yielded.
        EnvironmentUnavailable: The file cannot be read, or ijson is not installed.
    """
    try:
        import ijson
    except ImportError as error:
        raise EnvironmentUnavailable(f"ijson, which reads {path.name}, comes with {the_extra('webshop')}") from error
    try:
        with path.open("rb") as file:
            begin = len(BOM_UTF8) if file.read(len(BOM_UTF8)) == BOM_UTF8 else 0
            file.seek(begin)
            opening = file.read(1024).lstrip()[:1]
            file.seek(begin)
            if opening == b"{":
                yield from ijson.kvitems(file, "", use_float=True)
            elif opening == b"[":
                for entry in ijson.items(file, "item", use_float=True):
                    yield "", entry
            else:
                raise ConfigurationError(f"{path} is not a list or object of JSON")
    except OSError as error:
        raise EnvironmentUnavailable(f"{path} cannot be read: {error.strerror}") from error
    except (ijson.JSONError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path} is not valid JSON: {' '.join(str(error).split()):.200}") from error
