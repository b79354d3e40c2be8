"""What is to be bought: the original's goals in the original's order, with budgets that a seed decides.

The original draws budgets, and prices that are a range, anew whenever its server starts, so that an instruction and
what solves it differ from day to day. Here both depend on the seed, the product, and which of its instructions it is.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from langgraph_reflexion.envs.webshop.products import Product, texts
from langgraph_reflexion.envs.webshop.streaming import stream
from langgraph_reflexion.errors import ConfigurationError

SPLITS = {"test": slice(0, 500), "eval": slice(500, 1500), "train": slice(1500, None)}
"""The official sets of goals, by their places in the shuffled order."""
NO_BUDGET = 1_000_000.0
_SHUFFLE = 233
_BUDGETS = [10.0 * number for number in range(1, 100)]


@dataclass(frozen=True, slots=True)
class Goal:
    """What is to be bought.

    Attributes:
        asin: The product from which the goal was made.
        instruction: What is to be bought, in words, the budget among them.
        attributes: What it should be like.
        options: The values of options to be chosen.
        price_upper: How much it may cost.
    """

    asin: str
    instruction: str
    attributes: tuple[str, ...]
    options: tuple[str, ...]
    price_upper: float


def human_goals(path: Path, product: Callable[[str], tuple[int, Product] | None], seed: int) -> list[Goal]:
    """The goals that people wrote, in the official order.

    Args:
        path: The file `items_human_ins.json`.
        product: Gives the place of a product in the file of products, and the product; None where it is not there.
        seed: Of the budgets.

    Raises:
        ConfigurationError: the file is not what it should be.
        EnvironmentUnavailable: it cannot be read.
    """
    found = []
    for asin, told in stream(path):
        if at := product(asin):
            try:
                found.append((at[0], list(_instructed(at[1], told, seed))))
            except (KeyError, TypeError, AttributeError) as error:
                raise ConfigurationError(
                    f"{path}, {asin}: these are no instructions of WebShop's ({type(error).__name__}: {error})"
                ) from error
    goals = [goal for _, some in sorted(found, key=lambda each: each[0]) for goal in some]
    Random(_SHUFFLE).shuffle(goals)
    return goals


def own_goals(told: Sequence[Mapping[str, Any]]) -> list[Goal]:
    """The goals of the project's own catalogue, in its order."""
    return [
        Goal(
            goal["asin"],
            goal["instruction"],
            tuple(goal["instruction_attributes"]),
            tuple(goal["instruction_options"]),
            goal["price_upper"],
        )
        for goal in told
    ]


def budget(price: float, draw: Random) -> float | None:
    """A round sum above a price; None where the price is too high for one.

    Args:
        price: What the product costs.
        draw: Decides how far above.
    """
    above = [sum_ for sum_ in _BUDGETS if sum_ > price][:4]
    return max(draw.sample(above, 2)) if len(above) >= 2 else None


def _instructed(product: Product, told: Sequence[Mapping[str, Any]], seed: int) -> Iterator[Goal]:
    for index, entry in enumerate(told):
        attributes = texts(entry["instruction_attributes"])
        if not attributes:
            continue
        limit = budget(product.price(seed), Random(f"webshop budget {seed} {product.asin} {index}"))
        asked = "" if limit is None else f", and price lower than {limit:.2f} dollars"
        yield Goal(
            asin=product.asin,
            instruction=entry["instruction"].strip(".") + asked,
            attributes=attributes,
            options=texts(entry["instruction_options"]),
            price_upper=NO_BUDGET if limit is None else limit,
        )
