"""The shop's pages as lists of nodes, with the texts of the original, and their rendering for a model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal

from langgraph_reflexion.envs.webshop.products import Product

PER_PAGE = 10
"""Number of products on a page of results."""
PRODUCTS_SHOWN = 3
"""Number of products on a page of results that ReAct's agents see."""
BACK, BEFORE, AFTER, BUY = "Back to Search", "< Prev", "Next >", "Buy Now"
SEARCH = "Search"
SUBPAGES = ("Description", "Features", "Reviews")
SCORE = "Your score (min 0.0, max 1.0)"

PageName = Literal["search", "results", "item", "item_sub", "done"]


@dataclass(frozen=True, slots=True)
class Node:
    """An element of a page: text, a button, the link to a product, or the value of an option."""

    kind: Literal["text", "button", "option", "product"]
    text: str
    option: str = ""
    chosen: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    """A page: its type, its elements in order, and on the last page the reward of the purchase."""

    name: PageName
    nodes: tuple[Node, ...]
    reward: float | None = None


def search_page(instruction: str) -> Page:
    """Return the first page, with the instruction and the search bar."""
    return _page("search", [_text("WebShop"), *_instruction(instruction), _button(SEARCH)])


def results_page(instruction: str, number: int, total: int, products: Sequence[Product]) -> Page:
    """Return a page of results, with its number from 1 and the total number of products found."""
    nodes = [*_instruction(instruction), _button(BACK), _text(f"Page {number} (Total results: {total})")]
    # As in the original, there is always a next page, even if it is empty.
    nodes += [_button(BEFORE)] * (number > 1) + [_button(AFTER)]
    for product in products:
        nodes += [Node("product", product.asin), _text(product.title), _text(product.price_tag)]
    return _page("results", nodes)


def item_page(instruction: str, product: Product, chosen: Mapping[str, str]) -> Page:
    """Return the page of a product; `chosen` has the chosen values by option."""
    nodes = [*_instruction(instruction), _button(BACK), _button(BEFORE)]
    for name, values in product.options.items():
        nodes.append(_text(name))
        nodes += [Node("option", value, name, chosen.get(name) == value) for value in values]
    nodes += [_text(product.title), _text(f"Price: {product.price_tag}"), _text("Rating: N.A.")]
    return _page("item", [*nodes, *map(_button, SUBPAGES), _button(BUY)])


def sub_page(instruction: str, product: Product, name: str) -> Page:
    """Return a subpage of a product, one of `SUBPAGES`. The published data has no reviews."""
    # The original's lists have a blank before every entry.
    contents = {"Description": [product.description], "Features": [f" {bullet}" for bullet in product.bullets]}
    texts = map(_text, contents.get(name, []))
    return _page("item_sub", [*_instruction(instruction), _button(BACK), _button(BEFORE), *texts])


def done_page(reward: float) -> Page:
    """Return the last page, with the reward. The original's also shows the wanted product."""
    nodes = [_text("Thank you for shopping with us!"), _text(SCORE), _text(str(reward))]
    return Page("done", tuple(nodes), reward)


def render(page: Page) -> str:
    """Return a page as ReAct and Reflexion show it, with what can be clicked in brackets."""
    if page.name == "done":
        return f"{SCORE}: {page.reward}"
    return "".join(map(_in_brackets, shown(page)))


def _in_brackets(node: Node) -> str:
    if node.kind == "option":
        return f"[[{node.text}]]" if node.chosen else f"[{node.text}]"
    return f"\n[{node.text}] " if node.kind in ("button", "product") else f"\n{node.text} "


def shown(page: Page) -> Sequence[Node]:
    """Return all nodes except the instruction, which the first page shows, and products after the first few."""
    if page.name == "search":
        return page.nodes
    products = accumulate(node.kind == "product" for node in page.nodes)
    return [node for node, count in zip(page.nodes, products, strict=True) if count <= PRODUCTS_SHOWN][2:]


def _page(name: PageName, nodes: Sequence[Node]) -> Page:
    return Page(name, tuple(node for node in nodes if node.text.strip()))


def _instruction(instruction: str) -> list[Node]:
    return [_text("Instruction: "), _text(instruction)]


def _text(text: str) -> Node:
    return Node("text", text)


def _button(text: str) -> Node:
    return Node("button", text)
