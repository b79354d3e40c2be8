"""Small files in the official format with the defects of real ones."""

import json
from pathlib import Path

from langgraph_reflexion.envs.webshop.products import read_product
from langgraph_reflexion.envs.webshop.store import Store


def values(*texts):
    return [{"value": text, "image": None, "price_string": ""} for text in texts]


def product(asin, name, pricing="$10.99", options=None, **other):
    """Return a product in the official form; its options are texts."""
    about = {"category": "beauty", "query": "deodorant for men", "brand": "Unbranded", "pricing": pricing}
    about |= {"product_category": "Beauty \u203a Care \u203a Deodorant"}
    about |= {"full_description": f"This is {name}.", "small_description": ["It lasts.", "It is mild."]}
    chosen = {group: texts and values(*texts) for group, texts in (options or {}).items()} or ""
    about |= {"customization_options": chosen, "images": ["https://images.example/1.jpg"]}
    return {"asin": asin, "name": name, **about, **other}


_DATA = json.loads(Path(__file__).with_name("webshop.json").read_text(encoding="utf-8"))
ATTRIBUTES, GOALS = _DATA["attributes"], _DATA["goals"]
STICK, SPRAY, CREAM, LAMP, SALVE = (product(**given) for given in _DATA["products"].values())
PRODUCTS = [
    product("nan", "Nothing"),
    STICK,
    product("B00000000011", "A code that is too long"),
    SPRAY,
    {**CREAM, "asin": STICK["asin"]},
    CREAM,
    LAMP,
    SALVE,
]


def store_of(products, attributes=ATTRIBUTES):
    """Return a store of products in the official form, in memory."""
    read = (read_product(each, attributes.get(each["asin"], {}).get("attributes")) for each in products)
    return Store.in_memory(filter(None, read))


def write(folder, products=PRODUCTS, attributes=ATTRIBUTES, goals=GOALS, size="_1000"):
    """Write the official files into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"items_shuffle{size}.json").write_text(json.dumps(products), encoding="utf-8")
    (folder / f"items_ins_v2{size}.json").write_text(json.dumps(attributes), encoding="utf-8")
    (folder / "items_human_ins.json").write_text(json.dumps(goals), encoding="utf-8")
    return folder


def solution(catalogue, goal):
    """Return the actions that satisfy a goal of a generated catalogue."""
    title = next(product.title for product in catalogue.products if product.asin == goal.asin)
    chosen = [option.partition(": ")[2] for option in goal.options]
    return [f"search[{title}]", *(f"click[{each}]" for each in (goal.asin, *chosen, "Buy Now"))]
