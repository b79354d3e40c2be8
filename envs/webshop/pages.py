"""The shop's pages as plain functions: what stands on them, in order, whatever they are written as.

The texts are those of the original's templates, since results are compared with results on those.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from langgraph_reflexion.envs.webshop.products import Product

PER_PAGE = 10
"""How many products there are on a page of results."""
BACK, BEFORE, AFTER, BUY = "Back to Search", "< Prev", "Next >", "Buy Now"
SEARCH = "Search"
SUBPAGES = ("Description", "Features", "Reviews", "Attributes")
SCORE = "Your score (min 0.0, max 1.0)"

PageName = Literal["search", "results", "item", "item_sub", "done"]


@dataclass(frozen=True, slots=True)
class Node:
    """A piece of a page.

    Attributes:
        kind: What it is: mere text, a button, the value of an option, or the link to a product.
        text: What is written there.
        option: Of which option it is a value.
        chosen: Whether it is the value that was chosen.
    """

    kind: Literal["text", "button", "option", "product"]
    text: str
    option: str = ""
    chosen: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    """What stands on a page.

    Attributes:
        name: Which one it is.
        nodes: What stands there, in order.
        reward: What the purchase is worth, on the last page.
    """

    name: PageName
    nodes: tuple[Node, ...]
    reward: float | None = None


def search_page(instruction: str) -> Page:
    """The first page: the instruction, and where to search."""
    return _page("search", [_text("WebShop"), *_instruction(instruction), _button(SEARCH)])


def results_page(instruction: str, number: int, total: int, products: Sequence[Product]) -> Page:
    """What a search found.

    Args:
        instruction: What is to be bought.
        number: Which page of the results this is, counted from 1.
        total: How many products were found.
        products: Those on this page.
    """
    nodes = [*_instruction(instruction), _button(BACK), _text(f"Page {number} (Total results: {total})")]
    # As in the original, there is always a next page, if an empty one.
    nodes += [_button(BEFORE)] * (number > 1) + [_button(AFTER)]
    for product in products:
        nodes += [Node("product", product.asin), _text(product.title), _text(product.price_tag)]
    return _page("results", nodes)


def item_page(
    instruction: str, product: Product, chosen: dict[str, str] | None = None, attributes: bool = False
) -> Page:
    """One product, with its options.

    Args:
        instruction: What is to be bought.
        product: The product.
        chosen: The values of options that were chosen, by the option's name.
        attributes: Whether there is a page of attributes, too.
    """
    nodes = [*_instruction(instruction), _button(BACK), _button(BEFORE)]
    for name, values in product.options.items():
        nodes.append(_text(name))
        nodes += [Node("option", value, name, (chosen or {}).get(name) == value) for value in values]
    nodes += [_text(product.title), _text(f"Price: {product.price_tag}"), _text("Rating: N.A.")]
    nodes += map(_button, SUBPAGES if attributes else SUBPAGES[:3])
    return _page("item", [*nodes, _button(BUY)])


def sub_page(instruction: str, product: Product, name: str) -> Page:
    """More of a product.

    Args:
        instruction: What is to be bought.
        product: The product.
        name: One of `SUBPAGES`. There are no reviews in the data that were published.
    """
    # In the original's lists there is a blank before every entry.
    told = {
        "Description": [product.description],
        "Features": [f" {bullet}" for bullet in product.bullets],
        "Attributes": [
            *(f" {attribute}" for attribute in product.attributes),
            product.category,
            product.query,
            product.product_category,
        ],
    }
    texts = map(_text, told.get(name, []))
    return _page("item_sub", [*_instruction(instruction), _button(BACK), _button(BEFORE), *texts])


def done_page(reward: float) -> Page:
    """The last page: what the purchase is worth. The original's also tells what should have been bought."""
    nodes = [_text("Thank you for shopping with us!"), _text(SCORE), _text(str(reward))]
    return Page("done", tuple(nodes), reward)


def _page(name: PageName, nodes: Sequence[Node]) -> Page:
    return Page(name, tuple(node for node in nodes if node.text.strip()))


def _instruction(instruction: str) -> list[Node]:
    return [_text("Instruction: "), _text(instruction)]


def _text(text: str) -> Node:
    return Node("text", text)


def _button(text: str) -> Node:
    return Node("button", text)
