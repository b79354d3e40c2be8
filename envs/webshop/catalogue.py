"""Generated catalogue of products and goals, drawn from a seed.

Each goal has one product that satisfies it, and near misses that look as good in a list of results: one costs too
much, one lacks a value of an option, and some lack an attribute.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from random import Random
from typing import Any, TypeVar

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

_T = TypeVar("_T")
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
    kinds: list[tuple[dict[str, Any], str]] = []
    for category in vocabulary()["category"]:
        for thing in category["things"]:
            kinds.append((category, thing))
    for number, (category, thing) in enumerate(generator.shuffled(kinds)):
        generator.add_kind(category, thing, wanted=number < GOALS)
    # So that the products of a type are not neighbours.
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
        attributes = random.sample(category["attributes"], random.choice([1, 2, 2]))
        offered: dict[str, tuple[str, ...]] = {}
        for name, values in category["options"].items():
            # Each product lacks one value of each option.
            offered[name] = tuple(random.sample(values, len(values) - 1))
        asked = random.sample(sorted(offered), random.choice([1, 2, 2]))
        # In the order of the category's options, not in that of the draw.
        options: dict[str, str] = {}
        for name, values in offered.items():
            if name in asked:
                options[name] = values[0]
        low, high = category["price"]
        price = random.uniform(low, high)
        budget = 5.0 * (int(price / 5) + 1)
        right = _Draft(category, thing, tuple(attributes), (), offered, price)
        # All are drawn before the first one becomes a product, which draws its texts.
        misses = [self._miss(miss, right, options, budget) for miss in MISSES]
        asin = self._add_product(right)
        for draft in misses:
            self._add_product(draft)
        if wanted:
            self._add_goal(asin, right, options, budget)

    def _add_goal(self, asin: str, right: _Draft, options: dict[str, str], budget: float) -> None:
        template = self.random.choice(vocabulary()["goals"]["instructions"])
        # The instruction has them in words; the goal has a colon, as the official ones do.
        said = []
        wanted = []
        for name, value in options.items():
            said.append(f"{name} {value}")
            wanted.append(f"{name}: {value}")
        instruction = template.format(
            a_thing=_with_article(right.thing),
            attributes=" and ".join(right.attributes),
            options=" and ".join(said),
            budget=f"{budget:.2f}",
        )
        self.made.goals.append(Goal(asin, instruction, right.attributes, wanted, budget))

    def _miss(self, miss: str, right: _Draft, options: dict[str, str], budget: float) -> _Draft:
        """Return a product that lacks one thing that the goal asks for."""
        random = self.random
        if miss == "price":
            return replace(right, price=budget * random.uniform(1.05, 1.5))
        price = budget * random.uniform(0.6, 0.98)
        if miss == "option":
            name = random.choice(sorted(options))
            offered = right.offered.copy()
            # All other values, also the one that the right product lacks.
            values = right.category["options"][name]
            offered[name] = tuple(value for value in values if value != options[name])
            return replace(right, price=price, offered=offered)
        lacking = random.choice(right.attributes)
        left = tuple(attribute for attribute in right.attributes if attribute != lacking)
        return replace(right, price=price, attributes=left, lacking=(lacking,))

    def _add_product(self, draft: _Draft) -> str:
        """Add a product, and return its code."""
        random = self.random
        category = draft.category
        asin = self._new(self._draw_code)
        brand = self._new(self._draw_brand)
        settled = draft.attributes + draft.lacking
        free = [attribute for attribute in category["attributes"] if attribute not in settled]
        more = random.sample(free, ATTRIBUTES - len(draft.attributes))
        has = list(draft.attributes) + more
        random.shuffle(has)
        # Each attribute is mentioned once, in the title, the description or a bullet.
        titled, described, *listed = has
        description = self._description(draft, brand, described)
        bullets = self._bullets(listed)
        options: dict[str, list[str]] = {}
        for name, values in draft.offered.items():
            options[name] = self.shuffled(values)
        path = [*category["path"], draft.thing.title()]
        product = Product(
            asin=asin,
            title=f"{brand} {draft.thing}, {titled}".title(),
            description=description,
            bullets=bullets,
            prices=[round(draft.price, 2)],
            options=options,
            attributes=sorted(has),
            category=category["name"],
            query=draft.thing,
            product_category=f" {SEPARATOR} ".join(path),
        )
        self.made.products.append(product)
        return asin

    def _draw_code(self) -> str:
        return "W" + "".join(self.random.choices(_CODE, k=9))

    def _draw_brand(self) -> str:
        syllables = [self.random.choice(some) for some in vocabulary()["brands"].values()]
        return "".join(syllables)

    def _description(self, draft: _Draft, brand: str, attribute: str) -> str:
        random = self.random
        phrases = vocabulary()["phrases"]
        opening = random.choice(phrases["opening"]).format(
            brand=brand,
            thing=draft.thing,
            a_thing=_with_article(draft.thing),
        )
        of_attribute = random.choice(phrases["attribute"]).format(attribute=attribute)
        sentences = [of_attribute]
        sentences += random.sample(phrases["also"], 2)
        return " ".join([opening, *self.shuffled(sentences)])

    def _bullets(self, attributes: list[str]) -> list[str]:
        random = self.random
        phrases = vocabulary()["phrases"]
        bullets = []
        for phrase in random.sample(phrases["bullet_also"], 2):
            bullets.append(phrase.format(number=random.randint(2, 9)))
        listed = []
        for attribute in attributes:
            phrase = random.choice(phrases["bullet"])
            listed.append(phrase.format(attribute=attribute.capitalize()))
        return self.shuffled(listed + bullets)

    def shuffled(self, values: Sequence[_T]) -> list[_T]:
        return self.random.sample(values, len(values))

    def _new(self, make: Callable[[], str]) -> str:
        """Return what was drawn, drawn again until it is unique."""
        name = make()
        while name in self._used:
            name = make()
        self._used.add(name)
        return name


def _with_article(thing: str) -> str:
    if thing[0] in "aeiou":
        return f"an {thing}"
    return f"a {thing}"
