"""Pickles of strangers, as plain data or not at all.

A pickle is a program: to name a class or a function in it is to have it imported, and then called. So here every name
is refused, which leaves dictionaries, lists, strings and numbers. joblib's files of such data are pickles, compressed
or not.
"""

import io
import pickle
import zlib
from pathlib import Path
from typing import Any, NoReturn

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.replication.text import MOST_BYTES, read_bytes

_COMPRESSED = (b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda", b"\x1f\x8b")
"""How zlib and gzip begin, which are the ones that joblib uses unless told otherwise."""


class _RefusedError(Exception):
    """A pickle names something that would be imported."""


class _PlainData(pickle._Unpickler):
    """Builds plain data, and nothing that has to be imported.

    It is the one in Python, as the one in C makes room for whatever index into its memo a pickle claims to need.
    """

    def find_class(self, module: str, name: str) -> NoReturn:
        raise _RefusedError(f"{module}.{name}"[:100])

    def persistent_load(self, pid: Any) -> NoReturn:
        # Not named: written out, a small pickle may hold more than there is room for.
        raise _RefusedError("an object of another store")


def read_pickle(path: Path) -> Any:
    """Read a pickle of plain data. Nothing in it is imported or run.

    Args:
        path: The file.

    Returns:
        What it holds: dictionaries, lists, tuples, sets, strings, bytes, numbers, None.

    Raises:
        ConfigurationError: it holds anything else, is too large, or cannot be read.
    """
    content = read_bytes(path)
    if content.startswith(_COMPRESSED):
        try:
            content = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32).decompress(content, MOST_BYTES + 1)
        except zlib.error as error:
            raise ConfigurationError(f"cannot be read: {error}") from error
    if len(content) > MOST_BYTES:
        raise ConfigurationError(f"larger than {MOST_BYTES >> 20} MB, and not read")
    try:
        return _PlainData(io.BytesIO(content)).load()
    except _RefusedError as refused:
        raise ConfigurationError(
            f"refused, and nothing in it run: as a pickle it would import {refused}"
        ) from refused
    except Exception as error:  # whatever a broken pickle trips over
        raise ConfigurationError(f"no pickle that can be read: {str(error) or type(error).__name__}") from error
