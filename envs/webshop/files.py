"""The official files, by WebShop's names, read entry by entry: the largest does not fit into memory."""

import os
from codecs import BOM_UTF8
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from langgraph_reflexion.errors import ConfigurationError, EnvironmentUnavailable

_PRODUCTS, _ATTRIBUTES, _GOALS = "items_shuffle", "items_ins_v2", "items_human_ins.json"


class Files(NamedTuple):
    """The paths of `items_shuffle*.json`, `items_ins_v2*.json` and `items_human_ins.json`."""

    products: Path
    attributes: Path
    goals: Path


def find_files(path: str | os.PathLike[str]) -> Files:
    """Find the official files.

    Args:
        path: Their folder, or the file of products if the folder has several.

    Raises:
        EnvironmentUnavailable: A file is missing.
    """
    given = Path(path).expanduser().resolve()
    products = [given] if given.is_file() else sorted(given.glob(f"{_PRODUCTS}*.json"))
    if len(products) != 1:
        found = ", ".join(file.name for file in products) or "nothing"
        raise EnvironmentUnavailable(
            f"WebShop needs {_PRODUCTS}.json or {_PRODUCTS}_1000.json, and found {found} in {given}: give the folder "
            "that holds one, or path= of the file itself"
        )
    folder, size = products[0].parent, products[0].stem.removeprefix(_PRODUCTS)
    # The large file of attributes includes those of the small one. Without any, rewards would be lower.
    names = list(dict.fromkeys(f"{_ATTRIBUTES}{end}.json" for end in (size, "")))
    attributes = next((folder / name for name in names if (folder / name).is_file()), None)
    if attributes is None:
        raise EnvironmentUnavailable(f"WebShop's attributes are missing: put {' or '.join(names)} into {folder}")
    if not (folder / _GOALS).is_file():
        raise EnvironmentUnavailable(f"WebShop's goals are missing: put {_GOALS} into {folder}")
    return Files(products[0], attributes, folder / _GOALS)


def stream(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield the entries of a file that holds one JSON list or object: their keys (empty in a list) and values.

    Raises:
        ConfigurationError: The file is not such JSON; the entries before the error have been yielded.
        EnvironmentUnavailable: The file cannot be read.
    """
    import ijson

    try:
        with path.open("rb") as file:
            begin = len(BOM_UTF8) if file.read(len(BOM_UTF8)) == BOM_UTF8 else 0
            file.seek(begin)
            is_object = file.read(1024).lstrip()[:1] == b"{"
            file.seek(begin)
            if is_object:
                yield from ijson.kvitems(file, "", use_float=True)
            else:
                for entry in ijson.items(file, "item", use_float=True):
                    yield "", entry
    except OSError as error:
        raise EnvironmentUnavailable(f"{path} cannot be read: {error.strerror}") from error
    except (ijson.JSONError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path} is not valid JSON: {' '.join(str(error).split()):.200}") from error
