"""Goals in the original's order, with seeded budgets.

The original draws budgets, and prices given as a range, whenever its server starts, so that an instruction and its
solution change with each start. Here both depend on the seed, the product and the index of the instruction alone.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from langgraph_reflexion.envs.webshop.files import stream
from langgraph_reflexion.envs.webshop.products import Product, texts
from langgraph_reflexion.errors import ConfigurationError

SPLITS = {"test": slice(0, 500), "eval": slice(500, 1500), "train": slice(1500, None)}
"""Positions of the official splits in the shuffled order."""
NO_BUDGET = 1_000_000.0
_SHUFFLE = 233
_BUDGETS = [10.0 * number for number in range(1, 100)]


@dataclass(frozen=True, slots=True)
class Goal:
    """A purchase to make: `asin` is the code of the product that it was made from."""

    asin: str
    instruction: str
    attributes: Sequence[str]
    options: Sequence[str]
    price_upper: float


def official_goals(path: Path, product: Callable[[str], tuple[int, Product] | None], seed: int) -> list[Goal]:
    """Return the goals written by people, in the official order; `product` finds a code's number and product.

    Raises:
        ConfigurationError: The file is invalid.
        EnvironmentUnavailable: The file cannot be read.
    """
    by_number: dict[int, list[Goal]] = {}
    for asin, entries in stream(path):
        found = product(asin)
        if found is None:
            continue
        number, about = found
        try:
            some = list(_goals_of(about, entries, seed))
        except (KeyError, TypeError, AttributeError) as error:
            raise ConfigurationError(
                f"{path}, {asin}: not instructions of WebShop ({type(error).__name__}: {error})"
            ) from error
        by_number.setdefault(number, []).extend(some)
    # The official order is that of the products, shuffled.
    goals: list[Goal] = []
    for number in sorted(by_number):
        goals += by_number[number]
    Random(_SHUFFLE).shuffle(goals)
    return goals


def budget(price: float, draw: Random) -> float | None:
    """Draw a round sum above a price; None if the price is too high for one."""
    above = [amount for amount in _BUDGETS if amount > price]
    if len(above) < 2:
        return None
    return max(draw.sample(above[:4], 2))


def _goals_of(product: Product, entries: Sequence[dict[str, Any]], seed: int) -> Iterator[Goal]:
    for index, entry in enumerate(entries):
        attributes = texts(entry["instruction_attributes"])
        if not attributes:
            continue
        instruction = entry["instruction"].strip(".")
        options = texts(entry["instruction_options"])
        random = Random(f"webshop budget {seed} {product.asin} {index}")
        limit = budget(product.price(seed), random)
        if limit is None:
            limit = NO_BUDGET
        else:
            instruction += f", and price lower than {limit:.2f} dollars"
        yield Goal(product.asin, instruction, attributes, options, limit)
