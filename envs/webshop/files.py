"""The official files, by the names under which WebShop publishes them."""

import os
from dataclasses import dataclass
from pathlib import Path

from langgraph_reflexion.errors import EnvironmentUnavailable

_PRODUCTS, _ATTRIBUTES, _GOALS = "items_shuffle", "items_ins_v2", "items_human_ins.json"


@dataclass(frozen=True, slots=True)
class Files:
    """Where the data are.

    Attributes:
        products: `items_shuffle.json`, or `items_shuffle_1000.json`.
        attributes: `items_ins_v2.json`, or `items_ins_v2_1000.json`.
        goals: `items_human_ins.json`.
    """

    products: Path
    attributes: Path
    goals: Path


def find_files(path: str | os.PathLike[str]) -> Files:
    """Find the official files.

    Args:
        path: Their folder, or the file of products in it, where there is more than one.

    Raises:
        EnvironmentUnavailable: they are not there.
    """
    given = Path(path).expanduser().resolve()
    products = [given] if given.is_file() else sorted(given.glob(f"{_PRODUCTS}*.json"))
    if len(products) != 1:
        found = ", ".join(file.name for file in products) or "nothing"
        raise EnvironmentUnavailable(
            f"WebShop wants {_PRODUCTS}.json or {_PRODUCTS}_1000.json, and found {found} in {given}: give the folder "
            "that holds one, or path= of the file itself"
        )
    folder, size = products[0].parent, products[0].stem.removeprefix(_PRODUCTS)
    # The large file of attributes also has those of the small file's products.
    names = list(dict.fromkeys(f"{_ATTRIBUTES}{end}.json" for end in (size, "")))
    attributes = next((folder / name for name in names if (folder / name).is_file()), None)
    if attributes is None:
        # Without them there are lower rewards, and nothing that says why.
        raise EnvironmentUnavailable(f"WebShop's attributes are not there: put {' or '.join(names)} into {folder}")
    if not (folder / _GOALS).is_file():
        raise EnvironmentUnavailable(f"WebShop's goals are not there: put {_GOALS} into {folder}")
    return Files(products[0], attributes, folder / _GOALS)
