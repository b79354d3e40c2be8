"""A catalogue of our own: invented products, drawn from a seed, in the shapes of the official files.

Every goal has a product that answers it in full, and beside that near misses, which look as good in the list of
results: one costs too much, one does not come in what is asked for, and some lack a property.
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from random import Random
from typing import Any

from langgraph_reflexion.envs.webshop.invented import Draft, Inventor, with_article, words

GOALS = 100
"""How many goals there are, each over products of one kind."""
MISSES = ("price", "option", "attribute", "attribute")
"""What each of the products beside the right one misses."""


@dataclass(frozen=True)
class Catalogue:
    """What a shop is made of.

    Attributes:
        products: As in `items_shuffle.json`: one dict for each product.
        attributes: As in `items_ins_v2.json`: by the product's `asin`, its `attributes`.
        goals: As in `items_human_ins.json`: `asin`, `instruction`, `instruction_attributes` and
            `instruction_options` ("color: ink blue"); and `price_upper`, what may be paid at most, which the
            instruction tells in the words of the original.
        near_misses: For each goal, in their order, the `asin` of every near miss, and what it misses: `price`,
            `option` or `attribute`.
    """

    products: list[dict[str, Any]]
    attributes: dict[str, dict[str, Any]]
    goals: list[dict[str, Any]]
    near_misses: list[dict[str, str]]


@lru_cache(4)
def generate(seed: int) -> Catalogue:
    """Draw a catalogue.

    Args:
        seed: Another seed gives other brands and products, and other goals.
    """
    random = Random(f"webshop catalogue {seed}")
    inventor, made = Inventor(random), Catalogue([], {}, [], [])
    kinds = [(category, thing) for category in words()["category"] for thing in category["things"]]
    for number, (category, thing) in enumerate(random.sample(kinds, len(kinds))):
        _add_kind(made, inventor, random, category, thing, wanted=number < GOALS)
    random.shuffle(made.products)
    return made


def _add_kind(
    made: Catalogue, inventor: Inventor, random: Random, category: dict[str, Any], thing: str, *, wanted: bool
) -> None:
    """Add the products of one kind, and the goal that one of them answers."""
    attributes = tuple(random.sample(category["attributes"], random.choice([1, 2, 2])))
    offered = {name: tuple(random.sample(values, len(values) - 1)) for name, values in category["options"].items()}
    asked = random.sample(sorted(offered), random.choice([1, 2, 2]))
    options = {name: values[0] for name, values in offered.items() if name in asked}
    price = random.uniform(*category["price"])
    budget = 5.0 * (int(price / 5) + 1)
    right = Draft(category, thing, attributes, (), offered, price)
    drafts = [right, *(_miss(random, miss, right, options, budget) for miss in MISSES)]
    codes = [inventor.product(draft, made.products, made.attributes) for draft in drafts]
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


def _miss(random: Random, miss: str, right: Draft, options: dict[str, str], budget: float) -> Draft:
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
    return str(random.choice(words()["asked"]["instructions"])).format(
        a_thing=with_article(thing),
        attributes=" and ".join(attributes),
        options=" and ".join(f"{name} {value}" for name, value in options.items()),
        budget=f"{budget:.2f}",
    )
