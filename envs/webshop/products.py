"""Products, read by the rules of the original's loader from entries of `items_shuffle.json`."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

LONGEST_ASIN = 10
SEPARATOR = "\u203a"
"""What stands between the categories of a product, beside blanks."""
NO_ATTRIBUTES = ("DUMMY_ATTR",)
"""The attributes of a product of which none are known."""
NO_PRICE = 100.0
"""What a product costs of which no price is known."""


@dataclass(frozen=True, slots=True)
class Product:
    """What the shop sells.

    Attributes:
        asin: Its code, by which it is known.
        title: Its name.
        description: Some sentences; may be empty.
        bullets: Its features.
        prices: What it costs in dollars, or from what to what.
        options: In what it comes: the values by the option's name, both in lower case.
        attributes: What is known of it, in a word or two each; never shown unless asked for.
        category: Of which department it is.
        query: With which words it was found when the data were gathered.
        product_category: Its categories, the widest first, with `SEPARATOR` between them.
    """

    asin: str
    title: str
    description: str
    bullets: tuple[str, ...]
    prices: tuple[float, ...]
    options: Mapping[str, tuple[str, ...]]
    attributes: tuple[str, ...]
    category: str
    query: str
    product_category: str

    @property
    def price_tag(self) -> str:
        """The price as it is shown."""
        return " to ".join(f"${price}" for price in self.prices)

    def price(self, seed: int) -> float:
        """What it costs; somewhere in the range where there is one.

        Args:
            seed: Another seed gives another price; the original draws a new one at every start.
        """
        if len(self.prices) == 1:
            return self.prices[0]
        return Random(f"webshop price {seed} {self.asin}").uniform(*self.prices)

    @property
    def indexed(self) -> str:
        """The text that searches look at: title, description, first feature, and options."""
        options = ", and ".join(f"{name}: {', '.join(values)}" for name, values in self.options.items())
        return " ".join([self.title, self.description, *self.bullets[:1], options]).lower()

    def to_json(self) -> list[Any]:
        """The product as JSON."""
        return [getattr(self, name) for name in self.__dataclass_fields__]

    @classmethod
    def from_json(cls, values: Sequence[Any]) -> "Product":
        """The product that was written as JSON."""
        product = dict(zip(cls.__dataclass_fields__, values, strict=True))
        lists = {name: tuple(product[name]) for name in ("bullets", "prices", "attributes")}
        options = {name: tuple(told) for name, told in product["options"].items()}
        return cls(**{**product, **lists, "options": options})


def read_product(entry: Mapping[str, Any], attributes: Sequence[str] | None = None) -> Product | None:
    """Read one entry of the file of products.

    Args:
        entry: The entry.
        attributes: What `items_ins_v2.json` says of it; None where it is not in there.

    Returns:
        The product; None where the original skips it, as it has no proper code.

    Raises:
        KeyError: the entry has not what every product has.
        TypeError, ValueError, AttributeError: it is not what an entry should be.
    """
    asin = _text(entry["asin"])
    if asin == "nan" or not 0 < len(asin) <= LONGEST_ASIN:
        return None
    small = entry["small_description"]
    return Product(
        asin=asin,
        title=_text(entry["name"]),
        description=_text(entry["full_description"]),
        bullets=tuple(map(_text, small)) if isinstance(small, list) else (_text(small),),
        prices=_prices(entry.get("pricing")),
        options=_options(entry["customization_options"]),
        attributes=NO_ATTRIBUTES if attributes is None else texts(attributes),
        category=_text(entry["category"]),
        query=_text(entry["query"]).lower().strip(),
        product_category=_text(entry["product_category"]),
    )


def texts(told: Any) -> tuple[str, ...]:
    """A list of texts.

    Raises:
        TypeError: it is something else, such as one text, which would pass for a list of letters.
    """
    if not isinstance(told, list | tuple) or not all(isinstance(each, str) for each in told):
        raise TypeError(f"{told!r:.50} is no list of texts")
    return tuple(map(_text, told))


def _prices(told: Any) -> tuple[float, ...]:
    """The first two prices of "$10.99", "$1,299.00" or "$8.99$12.99"."""
    numbers = [re.sub(r"[^\d.]", "", part) for part in _text(told).split("$")[1:]]
    # The original fails on a price without a number.
    return tuple(map(float, filter(_is_number, numbers)))[:2] or (NO_PRICE,)


def _is_number(text: str) -> bool:
    return re.fullmatch(r"\d+\.?\d*|\.\d+", text, re.ASCII) is not None


def _options(told: Any) -> dict[str, tuple[str, ...]]:
    options = {}
    for name, contents in (told or {}).items():
        if contents is not None:
            # A slash would divide the address of a page.
            values = (_text(content["value"]).strip().replace("/", " | ").lower() for content in contents)
            options[_text(name).lower()] = tuple(values)
    return options


def _text(value: Any) -> str:
    """What is written there, without halves of characters, which can be neither stored nor sent."""
    return "" if value is None else str(value).encode("utf-8", "replace").decode()
