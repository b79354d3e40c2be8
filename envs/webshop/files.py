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
    products = [given]
    if not given.is_file():
        products = sorted(given.glob(f"{_PRODUCTS}*.json"))
    if len(products) != 1:
        found = ", ".join(file.name for file in products) or "nothing"
        raise EnvironmentUnavailable(
            f"WebShop needs {_PRODUCTS}.json or {_PRODUCTS}_1000.json, and found {found} in {given}: give the folder "
            "that holds one, or path= of the file itself"
        )
    folder = products[0].parent
    # Such as "_1000".
    size = products[0].stem.removeprefix(_PRODUCTS)
    attributes = _attributes_in(folder, size)
    goals = folder / _GOALS
    if not goals.is_file():
        raise EnvironmentUnavailable(f"WebShop's goals are missing: put {_GOALS} into {folder}")
    return Files(products[0], attributes, goals)


def _attributes_in(folder: Path, size: str) -> Path:
    names = [f"{_ATTRIBUTES}{size}.json"]
    # The large file includes the attributes of the small one. Without any, rewards would be lower.
    if size:
        names.append(f"{_ATTRIBUTES}.json")
    for name in names:
        path = folder / name
        if path.is_file():
            return path
    raise EnvironmentUnavailable(f"WebShop's attributes are missing: put {' or '.join(names)} into {folder}")


def stream(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield the entries of a file that holds one JSON list or object: their keys (empty in a list) and values.

    Raises:
        ConfigurationError: The file is not such JSON; the entries before the error have been yielded.
        EnvironmentUnavailable: The file cannot be read.
    """
    import ijson

    try:
        with path.open("rb") as file:
            begin = 0
            if file.read(len(BOM_UTF8)) == BOM_UTF8:
                begin = len(BOM_UTF8)
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
        # Some messages have several lines, which show the place.
        said = " ".join(str(error).split())
        raise ConfigurationError(f"{path} is not valid JSON: {said:.200}") from error
