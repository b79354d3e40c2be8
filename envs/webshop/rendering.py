"""Renderings of pages for a model: that of WebShop's text mode, and that of ReAct and Reflexion."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from langgraph_reflexion.envs.webshop.pages import SCORE, Node, Page

PRODUCTS_SHOWN = 3
"""Number of products on a page of results that ReAct's agents see."""


@dataclass(frozen=True, slots=True)
class Rendering:
    """A way to render pages.

    Attributes:
        page: Renders a page.
        shown: Returns the nodes of a page that are rendered.
        chosen: Renders the result of choosing a value; None to render the page again.
    """

    page: Callable[[Page], str]
    shown: Callable[[Page], list[Node]]
    chosen: Callable[[str], str] | None = None


def _separated(page: Page) -> str:
    return " [SEP] ".join(node.text.strip() for node in page.nodes)


def _bracketed(page: Page) -> str:
    if page.name == "done":
        return f"{SCORE}: {page.reward}"
    return "".join(map(_render, _of_interest(page)))


def _render(node: Node) -> str:
    if node.kind == "option":
        return f"[[{node.text}]]" if node.chosen else f"[{node.text}]"
    return f"\n[{node.text}] " if node.kind in ("button", "product") else f"\n{node.text} "


def _of_interest(page: Page) -> list[Node]:
    return list(_first_products(page)) if page.name != "search" else list(page.nodes)


def _first_products(page: Page) -> Iterator[Node]:
    """Yield all nodes except the instruction, which the first page shows, and products after the first few."""
    products = 0
    for number, node in enumerate(page.nodes):
        products += node.kind == "product"
        if number >= 2 and products <= PRODUCTS_SHOWN:
            yield node


RENDERINGS = {
    "bracketed": Rendering(_bracketed, _of_interest, lambda value: f"You have clicked {value}."),
    "text": Rendering(_separated, lambda page: list(page.nodes)),
}
"""The renderings, the default first."""
