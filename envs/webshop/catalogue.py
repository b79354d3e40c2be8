"""Generated catalogue of products and goals, in the format of the official files.

Each goal has one product that satisfies it, and near misses that look as good in a list of results: one costs too
much, one lacks a value of an option, and some lack an attribute.
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from random import Random
from typing import Any

from langgraph_reflexion.envs.webshop.generated_products import (
    ProductDraft,
    ProductGenerator,
    vocabulary,
    with_article,
)

GOALS = 100
"""Number of goals, each about products of one type."""
MISSES = ("price", "option", "attribute", "attribute")
"""The defects of a goal's near misses."""


@dataclass(frozen=True)
class Catalogue:
    """The data of a shop.

    Attributes:
        products: Products as in `items_shuffle.json`.
        attributes: Attributes by `asin`, as in `items_ins_v2.json`.
        goals: Goals as in `items_human_ins.json`, with `asin`, `instruction`, `instruction_attributes`,
            `instruction_options` ("color: ink blue") and also `price_upper`, the budget in the instruction.
        near_misses: For each goal in order, the defect of each near miss by `asin`: `price`, `option` or `attribute`.
    """

    products: list[dict[str, Any]]
    attributes: dict[str, dict[str, Any]]
    goals: list[dict[str, Any]]
    near_misses: list[dict[str, str]]


@lru_cache(4)
def generate(seed: int) -> Catalogue:
    """Generate the catalogue of a seed."""
    random = Random(f"webshop catalogue {seed}")
    generator, made = ProductGenerator(random), Catalogue([], {}, [], [])
    kinds = [(category, thing) for category in vocabulary()["category"] for thing in category["things"]]
    for number, (category, thing) in enumerate(random.sample(kinds, len(kinds))):
        _add_kind(made, generator, random, category, thing, wanted=number < GOALS)
    random.shuffle(made.products)
    return made


def _add_kind(
    made: Catalogue,
    generator: ProductGenerator,
    random: Random,
    category: dict[str, Any],
    thing: str,
    *,
    wanted: bool,
) -> None:
    """Add the products of one type, and the goal that one of them satisfies."""
    attributes = tuple(random.sample(category["attributes"], random.choice([1, 2, 2])))
    offered = {name: tuple(random.sample(values, len(values) - 1)) for name, values in category["options"].items()}
    asked = random.sample(sorted(offered), random.choice([1, 2, 2]))
    options = {name: values[0] for name, values in offered.items() if name in asked}
    price = random.uniform(*category["price"])
    budget = 5.0 * (int(price / 5) + 1)
    right = ProductDraft(category, thing, attributes, (), offered, price)
    drafts = [right, *(_miss(random, miss, right, options, budget) for miss in MISSES)]
    codes = [generator.product(draft, made.products, made.attributes) for draft in drafts]
    if wanted:
        goal = {
            "asin": codes[0],
            "instruction": _instruction(random, thing, attributes, options, budget),
            "instruction_attributes": list(attributes),
            "instruction_options": [f"{name}: {value}" for name, value in options.items()],
            "price_upper": budget,
        }
        made.goals.append(goal)
        made.near_misses.append(dict(zip(codes[1:], MISSES, strict=True)))


def _miss(random: Random, miss: str, right: ProductDraft, options: dict[str, str], budget: float) -> ProductDraft:
    if miss == "price":
        return replace(right, price=budget * random.uniform(1.05, 1.5))
    price = budget * random.uniform(0.6, 0.98)
    if miss == "option":
        name = random.choice(sorted(options))
        others = [each for each in right.category["options"][name] if each != options[name]]
        return replace(right, price=price, offered=right.offered | {name: tuple(others)})
    lacking = random.choice(right.attributes)
    left = tuple(each for each in right.attributes if each != lacking)
    return replace(right, price=price, attributes=left, lacking=(lacking,))


def _instruction(
    random: Random, thing: str, attributes: tuple[str, ...], options: dict[str, str], budget: float
) -> str:
    return str(random.choice(vocabulary()["goals"]["instructions"])).format(
        a_thing=with_article(thing),
        attributes=" and ".join(attributes),
        options=" and ".join(f"{name} {value}" for name, value in options.items()),
        budget=f"{budget:.2f}",
    )
