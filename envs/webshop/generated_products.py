"""Generated products: brands, titles, descriptions and features, drawn from a seed."""

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from random import Random
from typing import Any

ATTRIBUTES = 4
"""Number of attributes of a product."""

_CODE = "BCDFGHJKLMNPQRSTVWXZ0123456789"


@cache
def vocabulary() -> dict[str, Any]:
    """Return the contents of `catalogue.toml`."""
    return tomllib.loads(files(__package__).joinpath("catalogue.toml").read_text(encoding="utf-8"))


def with_article(thing: str) -> str:
    """Return a noun with its indefinite article."""
    return f"{'an' if thing[0] in 'aeiou' else 'a'} {thing}"


@dataclass(frozen=True)
class ProductDraft:
    """The requirements of a product.

    Attributes:
        category: An entry of `category` in `catalogue.toml`.
        thing: The type of product.
        attributes: Attributes that it must have; others are drawn.
        lacking: Attributes that it must not have.
        offered: The values of its options, by option.
        price: The price in dollars.
    """

    category: dict[str, Any]
    thing: str
    attributes: tuple[str, ...]
    lacking: tuple[str, ...]
    offered: dict[str, tuple[str, ...]]
    price: float


class ProductGenerator:
    """Generator of products with unique brands and codes."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.used: set[str] = set()

    def product(
        self, draft: ProductDraft, products: list[dict[str, Any]], attributes: dict[str, dict[str, Any]]
    ) -> str:
        """Add a product to a catalogue and return its code."""
        random, category = self.random, draft.category
        asin = self._new(lambda: "W" + "".join(random.choices(_CODE, k=9)))
        brand = self._new(
            lambda: "".join(random.choice(vocabulary()["brands"][part]) for part in vocabulary()["brands"])
        )
        free = [each for each in category["attributes"] if each not in (*draft.attributes, *draft.lacking)]
        has = [*draft.attributes, *random.sample(free, ATTRIBUTES - len(draft.attributes))]
        random.shuffle(has)
        titled, described, *listed = has
        products.append(
            {
                "asin": asin,
                "name": f"{brand} {draft.thing}, {titled}".title(),
                "category": category["name"],
                "query": draft.thing,
                "product_category": " \u203a ".join([*category["path"], draft.thing.title()]),
                "full_description": self._description(draft, brand, described),
                "small_description": self._bullets(listed),
                "pricing": f"${draft.price:.2f}",
                "customization_options": {
                    name: [{"value": value, "image": None} for value in self._shuffled(values)]
                    for name, values in draft.offered.items()
                },
                "images": [f"{asin}.png"],
            }
        )
        attributes[asin] = {"attributes": sorted(has), "instruction": None, "instruction_attributes": []}
        return asin

    def _description(self, draft: ProductDraft, brand: str, attribute: str) -> str:
        phrases = vocabulary()["phrases"]
        names = {"brand": brand, "thing": draft.thing, "a_thing": with_article(draft.thing)}
        opening = str(self.random.choice(phrases["opening"])).format_map(names)
        of_attribute = str(self.random.choice(phrases["attribute"])).format(attribute=attribute)
        return " ".join([opening, *self._shuffled([of_attribute, *self.random.sample(phrases["also"], 2)])])

    def _bullets(self, attributes: list[str]) -> list[str]:
        phrases, random = vocabulary()["phrases"], self.random
        also = [each.format(number=random.randint(2, 9)) for each in random.sample(phrases["bullet_also"], 2)]
        listed = [str(random.choice(phrases["bullet"])).format(attribute=each.capitalize()) for each in attributes]
        return self._shuffled([*listed, *also])

    def _shuffled(self, values: Any) -> list[Any]:
        return self.random.sample(list(values), len(values))

    def _new(self, make: Callable[[], str]) -> str:
        while (name := make()) in self.used:
            pass
        self.used.add(name)
        return name
