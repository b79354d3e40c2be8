"""The shop's pages as lists of nodes, with the texts of the original's templates."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from langgraph_reflexion.envs.webshop.products import Product

PER_PAGE = 10
"""Number of products on a page of results."""
BACK, BEFORE, AFTER, BUY = "Back to Search", "< Prev", "Next >", "Buy Now"
SEARCH = "Search"
SUBPAGES = ("Description", "Features", "Reviews", "Attributes")
SCORE = "Your score (min 0.0, max 1.0)"

PageName = Literal["search", "results", "item", "item_sub", "done"]


@dataclass(frozen=True, slots=True)
class Node:
    """An element of a page.

    Attributes:
        kind: Text, a button, the value of an option, or the link to a product.
        text: Its text.
        option: The option that it is a value of.
        chosen: Whether it is the chosen value.
    """

    kind: Literal["text", "button", "option", "product"]
    text: str
    option: str = ""
    chosen: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    """A page.

    Attributes:
        name: The type of page.
        nodes: Its elements, in order.
        reward: The reward of the purchase, on the last page.
    """

    name: PageName
    nodes: tuple[Node, ...]
    reward: float | None = None


def search_page(instruction: str) -> Page:
    """Return the first page, with the instruction and the search bar."""
    return _page("search", [_text("WebShop"), *_instruction(instruction), _button(SEARCH)])


def results_page(instruction: str, number: int, total: int, products: Sequence[Product]) -> Page:
    """Return a page of results.

    Args:
        instruction: The instruction.
        number: The number of the page, from 1.
        total: Number of products found.
        products: The products on this page.
    """
    nodes = [*_instruction(instruction), _button(BACK), _text(f"Page {number} (Total results: {total})")]
    # As in the original, there is always a next page, even if it is empty.
    nodes += [_button(BEFORE)] * (number > 1) + [_button(AFTER)]
    for product in products:
        nodes += [Node("product", product.asin), _text(product.title), _text(product.price_tag)]
    return _page("results", nodes)


def item_page(
    instruction: str, product: Product, chosen: dict[str, str] | None = None, attributes: bool = False
) -> Page:
    """Return the page of a product.

    Args:
        instruction: The instruction.
        product: The product.
        chosen: The chosen values by option.
        attributes: Whether there is a page of attributes.
    """
    nodes = [*_instruction(instruction), _button(BACK), _button(BEFORE)]
    for name, values in product.options.items():
        nodes.append(_text(name))
        nodes += [Node("option", value, name, (chosen or {}).get(name) == value) for value in values]
    nodes += [_text(product.title), _text(f"Price: {product.price_tag}"), _text("Rating: N.A.")]
    nodes += map(_button, SUBPAGES if attributes else SUBPAGES[:3])
    return _page("item", [*nodes, _button(BUY)])


def sub_page(instruction: str, product: Product, name: str) -> Page:
    """Return a subpage of a product, one of `SUBPAGES`. The published data has no reviews."""
    # The original's lists have a blank before every entry.
    contents = {
        "Description": [product.description],
        "Features": [f" {bullet}" for bullet in product.bullets],
        "Attributes": [
            *(f" {attribute}" for attribute in product.attributes),
            product.category,
            product.query,
            product.product_category,
        ],
    }
    texts = map(_text, contents.get(name, []))
    return _page("item_sub", [*_instruction(instruction), _button(BACK), _button(BEFORE), *texts])


def done_page(reward: float) -> Page:
    """Return the last page, with the reward. The original's also shows the wanted product."""
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
