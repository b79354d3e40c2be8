"""Products, parsed from entries of `items_shuffle.json` by the rules of the original's loader."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from langgraph_reflexion.envs.webshop.files import stream
from langgraph_reflexion.errors import ConfigurationError

LONGEST_ASIN = 10
SEPARATOR = "\u203a"
"""Separator of a product's categories, between blanks."""
NO_ATTRIBUTES = ["DUMMY_ATTR"]
"""The attributes of a product without known ones."""
NO_PRICE = 100.0
"""The price of a product without a known one."""


@dataclass(frozen=True, slots=True)
class Product:
    """A product of the shop, with its price or the ends of a range; options are in lower case, attributes hidden."""

    asin: str
    title: str
    description: str
    bullets: Sequence[str]
    prices: Sequence[float]
    options: Mapping[str, Sequence[str]]
    attributes: Sequence[str]
    category: str
    query: str
    product_category: str

    @property
    def price_tag(self) -> str:
        return " to ".join(f"${price}" for price in self.prices)

    def price(self, seed: int) -> float:
        """Return the price, drawn by seed if it is a range; the original draws a new one at every start."""
        if len(self.prices) == 1:
            return self.prices[0]
        return Random(f"webshop price {seed} {self.asin}").uniform(*self.prices)

    @property
    def indexed(self) -> str:
        """The indexed text: title, description, first feature and options."""
        parts = [self.title, self.description]
        parts += self.bullets[:1]
        options = [f"{name}: {', '.join(values)}" for name, values in self.options.items()]
        parts.append(", and ".join(options))
        return " ".join(parts).lower()


def read_products(products: Path, attributes: Path) -> Iterator[Product]:
    """Yield the products of `items_shuffle.json`, with their attributes from `items_ins_v2.json`.

    Raises:
        ConfigurationError: A file is invalid.
        EnvironmentUnavailable: A file cannot be read.
    """
    known: dict[str, Any] = {}
    for asin, entry in stream(attributes):
        if isinstance(entry, dict):
            known[asin] = entry.get("attributes")
    for place, (_, entry) in enumerate(stream(products)):
        try:
            product = read_product(entry, known.get(str(entry["asin"])))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ConfigurationError(
                f"{products}, entry {place}: not a product of WebShop ({type(error).__name__}: {error})"
            ) from error
        if product is not None:
            yield product


def read_product(entry: Mapping[str, Any], attributes: Sequence[str] | None = None) -> Product | None:
    """Parse one entry of the file of products, with its attributes from `items_ins_v2.json`.

    Returns:
        The product; None if the original skips it for an invalid code.

    Raises:
        KeyError, TypeError, ValueError, AttributeError: The entry is invalid.
    """
    asin = _text(entry["asin"])
    if asin == "nan" or not 0 < len(asin) <= LONGEST_ASIN:
        return None
    bullets = entry["small_description"]
    if not isinstance(bullets, list):
        bullets = [bullets]
    return Product(
        asin=asin,
        title=_text(entry["name"]),
        description=_text(entry["full_description"]),
        bullets=[_text(bullet) for bullet in bullets],
        prices=_prices(entry.get("pricing")),
        options=_options(entry["customization_options"]),
        attributes=_attributes(attributes),
        category=_text(entry["category"]),
        query=_text(entry["query"]).lower().strip(),
        product_category=_text(entry["product_category"]),
    )


def _attributes(known: Sequence[str] | None) -> Sequence[str]:
    if known is None:
        return NO_ATTRIBUTES
    return texts(known)


def texts(values: Any) -> list[str]:
    """Return a list of strings, or raise a `TypeError`, also for a single string."""
    is_list = isinstance(values, list) and all(isinstance(value, str) for value in values)
    if not is_list:
        raise TypeError(f"{values!r:.50} is not a list of strings")
    return [_text(value) for value in values]


def _prices(pricing: Any) -> list[float]:
    """Return the first two prices of "$10.99", "$1,299.00" or "$8.99$12.99"."""
    prices: list[float] = []
    for part in _text(pricing).split("$")[1:]:
        # Without commas.
        number = re.sub(r"[^\d.]", "", part)
        # The original fails on a price without a number.
        if re.fullmatch(r"\d+\.?\d*|\.\d+", number, re.ASCII):
            prices.append(float(number))
    return prices[:2] or [NO_PRICE]


def _options(customization: Any) -> dict[str, list[str]]:
    options: dict[str, list[str]] = {}
    if not customization:
        return options
    for name, contents in customization.items():
        if contents is None:
            continue
        values = []
        for content in contents:
            value = _text(content["value"]).strip()
            # A slash would split the URL of a page.
            values.append(value.replace("/", " | ").lower())
        options[_text(name).lower()] = values
    return options


def _text(value: Any) -> str:
    """Return a value as text, without lone surrogates, which can be neither stored nor sent."""
    if value is None:
        return ""
    return str(value).encode("utf-8", "replace").decode()
