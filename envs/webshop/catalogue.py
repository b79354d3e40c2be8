"""Generated catalogue of products and goals, drawn from a seed.

Each goal has one product that satisfies it, and near misses that look as good in a list of results: one costs too
much, one lacks a value of an option, and some lack an attribute.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from random import Random
from typing import Any

from langgraph_reflexion.envs.webshop.goals import Goal
from langgraph_reflexion.envs.webshop.products import SEPARATOR, Product
from langgraph_reflexion.support.files import own_table

GOALS = 100
"""Number of goals, each about products of one type."""
MISSES = ("price", "option", "attribute", "attribute")
"""The defects of a goal's near misses."""
ATTRIBUTES = 4
"""Number of attributes of a product."""

vocabulary = partial(own_table, __file__, "catalogue.toml")
"""Returns the contents of `catalogue.toml`."""

_CODE = "BCDFGHJKLMNPQRSTVWXZ0123456789"


@dataclass(frozen=True)
class Catalogue:
    """The products of a shop, and goals that they satisfy."""

    products: list[Product] = field(default_factory=list)
    goals: list[Goal] = field(default_factory=list)


@lru_cache(4)
def generate(seed: int) -> Catalogue:
    """Generate the catalogue of a seed."""
    generator = _Generator(Random(f"webshop catalogue {seed}"))
    kinds = [(category, thing) for category in vocabulary()["category"] for thing in category["things"]]
    for number, (category, thing) in enumerate(generator.shuffled(kinds)):
        generator.add_kind(category, thing, wanted=number < GOALS)
    generator.random.shuffle(generator.made.products)
    return generator.made


@dataclass(frozen=True)
class _Draft:
    """The type of a product, attributes that it must have and must not have, values by option, and its price."""

    category: dict[str, Any]
    thing: str
    attributes: tuple[str, ...]
    lacking: tuple[str, ...]
    offered: dict[str, tuple[str, ...]]
    price: float


class _Generator:
    def __init__(self, random: Random) -> None:
        self.random = random
        self.made = Catalogue()
        self._used: set[str] = set()

    def add_kind(self, category: dict[str, Any], thing: str, *, wanted: bool) -> None:
        """Add the products of one type, and the goal that one of them satisfies."""
        random = self.random
        attributes = tuple(random.sample(category["attributes"], random.choice([1, 2, 2])))
        offered = {
            name: tuple(random.sample(values, len(values) - 1)) for name, values in category["options"].items()
        }
        asked = random.sample(sorted(offered), random.choice([1, 2, 2]))
        options = {name: values[0] for name, values in offered.items() if name in asked}
        price = random.uniform(*category["price"])
        budget = 5.0 * (int(price / 5) + 1)
        right = _Draft(category, thing, attributes, (), offered, price)
        drafts = [right, *(self._miss(miss, right, options, budget) for miss in MISSES)]
        codes = [self._add_product(draft) for draft in drafts]
        if wanted:
            instruction = random.choice(vocabulary()["goals"]["instructions"]).format(
                a_thing=_with_article(thing),
                attributes=" and ".join(attributes),
                options=" and ".join(f"{name} {value}" for name, value in options.items()),
                budget=f"{budget:.2f}",
            )
            wanted_options = [f"{name}: {value}" for name, value in options.items()]
            self.made.goals.append(Goal(codes[0], instruction, attributes, wanted_options, budget))

    def _miss(self, miss: str, right: _Draft, options: dict[str, str], budget: float) -> _Draft:
        random = self.random
        if miss == "price":
            return replace(right, price=budget * random.uniform(1.05, 1.5))
        price = budget * random.uniform(0.6, 0.98)
        if miss == "option":
            name = random.choice(sorted(options))
            others = tuple(each for each in right.category["options"][name] if each != options[name])
            return replace(right, price=price, offered=right.offered | {name: others})
        lacking = random.choice(right.attributes)
        left = tuple(each for each in right.attributes if each != lacking)
        return replace(right, price=price, attributes=left, lacking=(lacking,))

    def _add_product(self, draft: _Draft) -> str:
        random, category = self.random, draft.category
        asin = self._new(lambda: "W" + "".join(random.choices(_CODE, k=9)))
        brand = self._new(lambda: "".join(map(random.choice, vocabulary()["brands"].values())))
        free = [each for each in category["attributes"] if each not in (*draft.attributes, *draft.lacking)]
        has = [*draft.attributes, *random.sample(free, ATTRIBUTES - len(draft.attributes))]
        random.shuffle(has)
        titled, described, *listed = has
        product = Product(
            asin=asin,
            title=f"{brand} {draft.thing}, {titled}".title(),
            description=self._description(draft, brand, described),
            bullets=self._bullets(listed),
            prices=[round(draft.price, 2)],
            options={name: self.shuffled(values) for name, values in draft.offered.items()},
            attributes=sorted(has),
            category=category["name"],
            query=draft.thing,
            product_category=f" {SEPARATOR} ".join([*category["path"], draft.thing.title()]),
        )
        self.made.products.append(product)
        return asin

    def _description(self, draft: _Draft, brand: str, attribute: str) -> str:
        phrases = vocabulary()["phrases"]
        names = {"brand": brand, "thing": draft.thing, "a_thing": _with_article(draft.thing)}
        opening = self.random.choice(phrases["opening"]).format_map(names)
        of_attribute = self.random.choice(phrases["attribute"]).format(attribute=attribute)
        return " ".join([opening, *self.shuffled([of_attribute, *self.random.sample(phrases["also"], 2)])])

    def _bullets(self, attributes: list[str]) -> list[str]:
        phrases, random = vocabulary()["phrases"], self.random
        also = [each.format(number=random.randint(2, 9)) for each in random.sample(phrases["bullet_also"], 2)]
        listed = [random.choice(phrases["bullet"]).format(attribute=each.capitalize()) for each in attributes]
        return self.shuffled([*listed, *also])

    def shuffled(self, values: Any) -> list[Any]:
        return self.random.sample(list(values), len(values))

    def _new(self, make: Callable[[], str]) -> str:
        while (name := make()) in self._used:
            pass
        self._used.add(name)
        return name


def _with_article(thing: str) -> str:
    return f"{'an' if thing[0] in 'aeiou' else 'a'} {thing}"
