"""How pages are written for a model: as in WebShop's own text mode, or as ReAct and Reflexion had them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from langgraph_reflexion.envs.webshop.pages import SCORE, Node, Page

PRODUCTS_SHOWN = 3
"""How many products of a page of results ReAct's agents see."""


@dataclass(frozen=True, slots=True)
class Rendering:
    """A way to write pages.

    Attributes:
        page: Writes a page.
        shown: What of a page is written.
        chosen: Writes what a click on an option's value leads to; None where the page is written once more.
    """

    page: Callable[[Page], str]
    shown: Callable[[Page], list[Node]]
    chosen: Callable[[str], str] | None = None


def _separated(page: Page) -> str:
    return " [SEP] ".join(node.text.strip() for node in page.nodes)


def _bracketed(page: Page) -> str:
    if page.name == "done":
        return f"{SCORE}: {page.reward}"
    return "".join(map(_written, _of_interest(page)))


def _written(node: Node) -> str:
    if node.kind == "option":
        return f"[[{node.text}]]" if node.chosen else f"[{node.text}]"
    return f"\n[{node.text}] " if node.kind in ("button", "product") else f"\n{node.text} "


def _of_interest(page: Page) -> list[Node]:
    return list(_first_products(page)) if page.name != "search" else list(page.nodes)


def _first_products(page: Page) -> Iterator[Node]:
    """All but the instruction, which stands on the first page, and the products after the first few."""
    products = 0
    for number, node in enumerate(page.nodes):
        products += node.kind == "product"
        if number >= 2 and products <= PRODUCTS_SHOWN:
            yield node


RENDERINGS = {
    "bracketed": Rendering(_bracketed, _of_interest, lambda value: f"You have clicked {value}."),
    "text": Rendering(_separated, lambda page: list(page.nodes)),
}
"""The ways to write pages, the default one first."""
