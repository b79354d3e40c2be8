"""The shop of one goal: its pages, with the original's texts, and the states that searches and clicks lead to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Literal

from langgraph_reflexion.envs.webshop.goals import Goal
from langgraph_reflexion.envs.webshop.products import Product
from langgraph_reflexion.envs.webshop.reward import Reward, reward
from langgraph_reflexion.envs.webshop.store import Store

PER_PAGE = 10
"""Number of products on a page of results."""
PRODUCTS_SHOWN = 3
"""Number of products on a page of results that ReAct's agents see."""
BACK, BEFORE, AFTER, BUY = "Back to Search", "< Prev", "Next >", "Buy Now"
SEARCH = "Search"
SUBPAGES = ("Description", "Features", "Reviews")

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
    """A page as agents see it: its type, its elements in order, and on the last page the reward of the purchase.

    The original repeats the instruction on every page; ReAct's agents see it on the first one.
    """

    name: PageName
    nodes: tuple[Node, ...]
    reward: float | None = None


def search_page(instruction: str) -> Page:
    """Return the first page, with the instruction and the search bar."""
    return _page("search", [*map(_text, ("WebShop", "Instruction: ", instruction)), _button(SEARCH)])


def results_page(number: int, total: int, products: Sequence[Product]) -> Page:
    """Return a page of results, with its number from 1 and the total number of products found."""
    nodes = [_button(BACK), _text(f"Page {number} (Total results: {total})")]
    # As in the original, there is always a next page, even if it is empty.
    nodes += [_button(BEFORE)] * (number > 1) + [_button(AFTER)]
    for product in products:
        nodes += [Node("product", product.asin), _text(product.title), _text(product.price_tag)]
    return _page("results", nodes)


def item_page(product: Product, chosen: Mapping[str, str]) -> Page:
    """Return the page of a product; `chosen` has the chosen values by option."""
    nodes = [_button(BACK), _button(BEFORE)]
    for name, values in product.options.items():
        nodes.append(_text(name))
        nodes += [Node("option", value, name, chosen.get(name) == value) for value in values]
    nodes += [_text(product.title), _text(f"Price: {product.price_tag}"), _text("Rating: N.A.")]
    return _page("item", [*nodes, *map(_button, SUBPAGES), _button(BUY)])


def sub_page(product: Product, name: str) -> Page:
    """Return a subpage of a product, one of `SUBPAGES`. The published data has no reviews."""
    # The original's lists have a blank before every entry.
    contents = {"Description": [product.description], "Features": [f" {bullet}" for bullet in product.bullets]}
    return _page("item_sub", [_button(BACK), _button(BEFORE), *map(_text, contents.get(name, []))])


def render(page: Page) -> str:
    """Return a page as ReAct and Reflexion show it, with what can be clicked in brackets."""
    if page.reward is not None:
        return f"Your score (min 0.0, max 1.0): {page.reward}"
    return "".join(map(_in_brackets, shown(page)))


def _in_brackets(node: Node) -> str:
    if node.kind == "option":
        return f"[[{node.text}]]" if node.chosen else f"[{node.text}]"
    return f"\n[{node.text}] " if node.kind in ("button", "product") else f"\n{node.text} "


def shown(page: Page) -> Sequence[Node]:
    """Return all nodes, except products after the first few."""
    products = accumulate(node.kind == "product" for node in page.nodes)
    return [node for node, count in zip(page.nodes, products, strict=True) if count <= PRODUCTS_SHOWN]


def _page(name: PageName, nodes: Sequence[Node]) -> Page:
    return Page(name, tuple(node for node in nodes if node.text.strip()))


def _text(text: str) -> Node:
    return Node("text", text)


def _button(text: str) -> Node:
    return Node("button", text)


LONGEST_QUERY = 1_000
"""Maximum length in characters; longer queries are truncated."""


@dataclass(frozen=True, slots=True)
class State:
    """The page that a shopper is on, and the options chosen there in the order of the choices."""

    page: PageName = "search"
    query: str = ""
    number: int = 1
    asin: str = ""
    options: tuple[tuple[str, str], ...] = ()
    subpage: str = ""


def clean_query(query: str) -> str:
    """Return a query without the characters that the original misinterprets; empty if it has no word.

    There, a slash splits the URL, an opening bracket is parsed as Python, and `<r>` and its like bypass the search.
    None of these affects the results of a search.
    """
    words = "".join(c if c.isprintable() and c not in "/<>[]" else " " for c in query).split()
    cleaned = " ".join(words)[:LONGEST_QUERY].strip()
    return cleaned if any(c.isalnum() for c in cleaned) else ""


def find(nodes: Sequence[Node], state: State, element: str, exact: bool = False) -> Node | None:
    """Return the clicked node, or None if no node has that name; case, blanks and brackets matter if `exact`.

    If several options have the same value, it is the last one, as in the original, or the one before if the last is
    already chosen.
    """
    wanted = element if exact else normalize_element(element)
    there = [node for node in clickable(nodes) if (node.text if exact else normalize_element(node.text)) == wanted]
    free = [node for node in there if (node.option, node.text) not in state.options]
    return next(reversed(free or there), None)


def clickable(nodes: Sequence[Node]) -> list[Node]:
    """Return the nodes that can be clicked; the search button needs a query."""
    return [node for node in nodes if node.kind != "text" and node != Node("button", SEARCH)]


def clicked(state: State, node: Node) -> State:
    """Return the state after a click on a node."""
    if node.kind == "product":
        return replace(state, page="item", asin=node.text, options=())
    if node.kind == "option":
        return replace(state, options=tuple({**dict(state.options), node.option: node.text}.items()))
    if node.text == BACK:
        return State()
    if node.text == BEFORE:
        return _before(state)
    if node.text == AFTER:
        return replace(state, number=state.number + 1)
    if node.text == BUY:
        return replace(state, page="done")
    return replace(state, page="item_sub", subpage=node.text)


def _before(state: State) -> State:
    if state.page == "results":
        return replace(state, number=max(1, state.number - 1))
    if state.page == "item_sub":
        return replace(state, page="item", subpage="")
    return replace(state, page="results", asin="", options=())


def normalize_element(element: str) -> str:
    """Return an element's name in lower case, without brackets and extra blanks."""
    return " ".join(element.strip().strip("[]").split()).casefold()


@dataclass(frozen=True)
class Shop:
    """The pages of one goal, from a store. The seed is that of prices given as a range."""

    store: Store
    goal: Goal
    seed: int = 0

    def page(self, state: State) -> Page:
        """Return the page of a state."""
        if state.page == "search":
            return search_page(self.goal.instruction)
        if state.page == "results":
            found = self.store.search(state.query)
            here = found[PER_PAGE * (state.number - 1) : PER_PAGE * state.number]
            return results_page(state.number, len(found), list(map(self.store.product, here)))
        if state.page == "done":
            return Page("done", (), self.reward(state).reward)
        product = self._product(state.asin)
        if state.page == "item":
            return item_page(product, dict(state.options))
        return sub_page(product, state.subpage)

    def reward(self, state: State) -> Reward:
        """Return the reward of buying the open product."""
        bought, wanted = self._product(state.asin), self._product(self.goal.asin)
        chosen = [value for _, value in state.options]
        return reward(bought, bought.price(self.seed), chosen, wanted, self.goal)

    @property
    def answer(self) -> str:
        """The product that the goal was made from, with its code, options and price."""
        right = self._product(self.goal.asin)
        return ", ".join([f"{right.title} [{right.asin}]", *self.goal.options, right.price_tag])

    def _product(self, asin: str) -> Product:
        found = self.store.find(asin)
        assert found is not None, asin
        return found[1]
