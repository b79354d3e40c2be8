"""The official files, by WebShop's names."""

import os
from dataclasses import dataclass
from pathlib import Path

from langgraph_reflexion.errors import EnvironmentUnavailable

_PRODUCTS, _ATTRIBUTES, _GOALS = "items_shuffle", "items_ins_v2", "items_human_ins.json"


@dataclass(frozen=True, slots=True)
class Files:
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
    # The large file of attributes includes those of the small one.
    names = list(dict.fromkeys(f"{_ATTRIBUTES}{end}.json" for end in (size, "")))
    attributes = next((folder / name for name in names if (folder / name).is_file()), None)
    if attributes is None:
        # Without attributes, rewards would be lower for no visible reason.
        raise EnvironmentUnavailable(f"WebShop's attributes are missing: put {' or '.join(names)} into {folder}")
    if not (folder / _GOALS).is_file():
        raise EnvironmentUnavailable(f"WebShop's goals are missing: put {_GOALS} into {folder}")
    return Files(products[0], attributes, folder / _GOALS)
