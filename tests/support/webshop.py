"""A generated catalogue, and small files in the official format with the defects of real ones."""

import json
from pathlib import Path

from langgraph_reflexion.envs.webshop.catalogue import generate

CATALOGUE = generate(0)


def product(asin, name, pricing="$10.99", options=None, **other):
    return {
        "asin": asin,
        "name": name,
        "category": "beauty",
        "query": "deodorant for men",
        "product_category": "Beauty \u203a Care \u203a Deodorant",
        "full_description": f"This is {name}.",
        "small_description": ["It lasts.", "It is mild."],
        "pricing": pricing,
        "customization_options": options or "",
        "images": ["https://images.example/1.jpg"],
        "brand": "None of ours",
        **other,
    }


def values(*texts):
    return [{"value": text, "image": None, "price_string": ""} for text in texts]


STICK = product(
    "B000000001",
    "Calm Meadow Stick Deodorant",
    options={
        "Scent": values("Bright Citrus", "Rose/Mint"),
        "Size": values("3 Ounce (Pack of 1)"),
        "Gift": None,
    },
    full_description="A deodorant.",
)
SPRAY = product("B000000002", "Calm Meadow Spray", "$8.50$12.00", {"Scent": values("Pine's Best", "Unscented")})
CREAM = product(
    "B000000003", "Plain Hand Cream", "$1,299.00", query=" Hand Cream ", product_category="Beauty \u203a Hands"
)
LAMP = product(
    "B000000004",
    "Brass Desk Lamp",
    "",
    {"Cord/Plug": values("two pin", "three pin"), "Plug": values("three pin")},
    query="desk lamp",
    product_category="Home \u203a Lamps \u203a Desk Lamps",
    small_description="A lamp of brass.",
)
SALVE = product("B000000005", "Calm Meadow Salve", small_description=[], full_description=None)

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
ATTRIBUTES = {
    STICK["asin"]: {"attributes": ["long lasting", "paraben free"], "instruction": None},
    SPRAY["asin"]: {"attributes": ["alcohol free"]},
    LAMP["asin"]: {"instruction": None},
}
GOALS = {
    LAMP["asin"]: [
        {"asin": LAMP["asin"], "instruction": "Find a lamp of brass.", "instruction_attributes": ["brass"]}
        | {"instruction_options": ["three pin"]}
    ],
    STICK["asin"]: [
        {
            "asin": STICK["asin"],
            "instruction": "I want a deodorant that lasts and smells of citrus.",
            "instruction_attributes": ["long lasting"],
            "instruction_options": ["bright citrus"],
        },
        {"asin": STICK["asin"], "instruction": "Skipped.", "instruction_attributes": [], "instruction_options": []},
        {
            "asin": STICK["asin"],
            "instruction": "I want a deodorant without parabens...",
            "instruction_attributes": ["paraben free"],
            "instruction_options": [],
        },
    ],
    CREAM["asin"]: [
        {"asin": CREAM["asin"], "instruction": "Find a cream.", "instruction_attributes": ["plain"]}
        | {"instruction_options": []}
    ],
    "B0NOTTHERE": [{"asin": "B0NOTTHERE", "instruction": "?", "instruction_attributes": ["x"]}],
}


def write(folder: Path, products=PRODUCTS, attributes=ATTRIBUTES, goals=GOALS, size="_1000") -> Path:
    """Write the official files into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"items_shuffle{size}.json").write_text(json.dumps(products), encoding="utf-8")
    (folder / f"items_ins_v2{size}.json").write_text(json.dumps(attributes), encoding="utf-8")
    (folder / "items_human_ins.json").write_text(json.dumps(goals), encoding="utf-8")
    return folder


def solution(catalogue, goal):
    """Return the actions that satisfy a goal of a generated catalogue."""
    title = next(product["name"] for product in catalogue.products if product["asin"] == goal.asin)
    chosen = [option.partition(": ")[2] for option in goal.options]
    return [f"search[{title}]", *(f"click[{each}]" for each in (goal.asin, *chosen, "Buy Now"))]
