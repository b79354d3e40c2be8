"""The shop of one goal: its pages, with the original's texts, and the states that searches and clicks lead to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
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
    nodes = [_text("WebShop"), _text("Instruction: "), _text(instruction), _button(SEARCH)]
    return _page("search", nodes)


def results_page(number: int, total: int, products: Sequence[Product]) -> Page:
    """Return a page of results, with its number from 1 and the total number of products found."""
    nodes = [_button(BACK), _text(f"Page {number} (Total results: {total})")]
    if number > 1:
        nodes.append(_button(BEFORE))
    # As in the original, there is always a next page, even if it is empty.
    nodes.append(_button(AFTER))
    for product in products:
        nodes += [Node("product", product.asin), _text(product.title), _text(product.price_tag)]
    return _page("results", nodes)


def item_page(product: Product, chosen: Mapping[str, str]) -> Page:
    """Return the page of a product; `chosen` has the chosen values by option."""
    nodes = [_button(BACK), _button(BEFORE)]
    for name, values in product.options.items():
        nodes.append(_text(name))
        for value in values:
            nodes.append(Node("option", value, name, chosen.get(name) == value))
    nodes.append(_text(product.title))
    nodes.append(_text(f"Price: {product.price_tag}"))
    nodes.append(_text("Rating: N.A."))
    for subpage in SUBPAGES:
        nodes.append(_button(subpage))
    nodes.append(_button(BUY))
    return _page("item", nodes)


def sub_page(product: Product, name: str) -> Page:
    """Return a subpage of a product, one of `SUBPAGES`. The published data has no reviews."""
    nodes = [_button(BACK), _button(BEFORE)]
    if name == "Description":
        nodes.append(_text(product.description))
    elif name == "Features":
        for bullet in product.bullets:
            # The original's lists have a blank before every entry.
            nodes.append(_text(f" {bullet}"))
    return _page("item_sub", nodes)


def render(page: Page) -> str:
    """Return a page as ReAct and Reflexion show it, with what can be clicked in brackets."""
    if page.reward is not None:
        return f"Your score (min 0.0, max 1.0): {page.reward}"
    return "".join(map(_rendered, shown(page)))


def _rendered(node: Node) -> str:
    match node.kind:
        case "text":
            return f"\n{node.text} "
        case "option" if node.chosen:
            return f"[[{node.text}]]"
        # The values of an option share a line.
        case "option":
            return f"[{node.text}]"
    return f"\n[{node.text}] "


def shown(page: Page) -> Sequence[Node]:
    """Return all nodes up to the last product that is shown."""
    nodes: list[Node] = []
    products = 0
    for node in page.nodes:
        if node.kind == "product":
            products += 1
        # Behind a product are its title and its price.
        if products > PRODUCTS_SHOWN:
            break
        nodes.append(node)
    return nodes


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
    characters = []
    for character in query:
        if character.isprintable() and character not in "/<>[]":
            characters.append(character)
        else:
            characters.append(" ")
    words = "".join(characters).split()
    cleaned = " ".join(words)[:LONGEST_QUERY].strip()
    has_word = any(character.isalnum() for character in cleaned)
    if not has_word:
        return ""
    return cleaned


def find(nodes: Sequence[Node], state: State, element: str, exact: bool = False) -> Node | None:
    """Return the clicked node, or None if no node has that name; case, blanks and brackets matter if `exact`.

    If several options have the same value, it is the last one, as in the original, or the one before if the last is
    already chosen.
    """
    found: Node | None = None
    for node in reversed(clickable(nodes)):
        if not _is_called(node, element, exact):
            continue
        if (node.option, node.text) not in state.options:
            return node
        # Where every option is chosen already, the last one.
        found = found or node
    return found


def _is_called(node: Node, element: str, exact: bool) -> bool:
    if exact:
        return node.text == element
    return normalize_element(node.text) == normalize_element(element)


def clickable(nodes: Sequence[Node]) -> list[Node]:
    """Return the nodes that can be clicked; the search button needs a query."""
    return [node for node in nodes if node.kind != "text" and node != Node("button", SEARCH)]


def clicked(state: State, node: Node) -> State:
    """Return the state after a click on a node."""
    if node.kind == "product":
        return replace(state, page="item", asin=node.text, options=())
    if node.kind == "option":
        options = dict(state.options)
        options[node.option] = node.text
        return replace(state, options=tuple(options.items()))
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
            end = PER_PAGE * state.number
            products = [self.store.product(number) for number in found[end - PER_PAGE : end]]
            return results_page(state.number, len(found), products)
        if state.page == "done":
            return Page("done", (), self.reward(state).reward)
        product = self._product(state.asin)
        if state.page == "item":
            return item_page(product, dict(state.options))
        return sub_page(product, state.subpage)

    def reward(self, state: State) -> Reward:
        """Return the reward of buying the open product."""
        bought = self._product(state.asin)
        wanted = self._product(self.goal.asin)
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
        _, product = found
        return product
