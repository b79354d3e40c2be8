"""Invented products: brands, titles, descriptions and features, put together from a seed."""

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from random import Random
from typing import Any

ATTRIBUTES = 4
"""How many attributes a product has."""

_CODE = "BCDFGHJKLMNPQRSTVWXZ0123456789"


@cache
def words() -> dict[str, Any]:
    """The contents of `catalogue.toml`."""
    return tomllib.loads(files(__package__).joinpath("catalogue.toml").read_text(encoding="utf-8"))


def with_article(thing: str) -> str:
    """One of these things."""
    return f"{'an' if thing[0] in 'aeiou' else 'a'} {thing}"


@dataclass(frozen=True)
class Draft:
    """What a product is to be like.

    Attributes:
        category: An entry of `category` in `catalogue.toml`.
        thing: What it is.
        attributes: What it has in any case; more are drawn.
        lacking: What it is not to have.
        offered: The values of its options, by name.
        price: In dollars.
    """

    category: dict[str, Any]
    thing: str
    attributes: tuple[str, ...]
    lacking: tuple[str, ...]
    offered: dict[str, tuple[str, ...]]
    price: float


class Inventor:
    """Makes up products; no brand and no code comes twice."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.used: set[str] = set()

    def product(self, draft: Draft, products: list[dict[str, Any]], attributes: dict[str, dict[str, Any]]) -> str:
        """Add a product to a catalogue's files.

        Returns:
            Its code, the `asin`.
        """
        random, category = self.random, draft.category
        asin = self._new(lambda: "W" + "".join(random.choices(_CODE, k=9)))
        brand = self._new(lambda: "".join(random.choice(words()["brands"][part]) for part in words()["brands"]))
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

    def _description(self, draft: Draft, brand: str, attribute: str) -> str:
        told = words()["told"]
        names = {"brand": brand, "thing": draft.thing, "a_thing": with_article(draft.thing)}
        opening = str(self.random.choice(told["opening"])).format_map(names)
        of_attribute = str(self.random.choice(told["attribute"])).format(attribute=attribute)
        return " ".join([opening, *self._shuffled([of_attribute, *self.random.sample(told["also"], 2)])])

    def _bullets(self, attributes: list[str]) -> list[str]:
        told, random = words()["told"], self.random
        also = [each.format(number=random.randint(2, 9)) for each in random.sample(told["bullet_also"], 2)]
        listed = [str(random.choice(told["bullet"])).format(attribute=each.capitalize()) for each in attributes]
        return self._shuffled([*listed, *also])

    def _shuffled(self, values: Any) -> list[Any]:
        return self.random.sample(list(values), len(values))

    def _new(self, make: Callable[[], str]) -> str:
        while (name := make()) in self.used:
            pass
        self.used.add(name)
        return name
