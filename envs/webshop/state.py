"""Where a shopper stands, and where a search or a click leads to: plain functions of plain values."""

from dataclasses import asdict, dataclass, replace
from typing import Any

from langgraph_reflexion.envs.webshop.pages import AFTER, BACK, BEFORE, BUY, SEARCH, Node, Page, PageName

LONGEST_QUERY = 1_000
"""In characters; what is longer is cut off, as it has to fit into an address."""


@dataclass(frozen=True, slots=True)
class State:
    """Where a shopper stands.

    Attributes:
        page: On which page.
        query: What was searched for.
        number: Which page of the results is or was open.
        asin: Which product.
        options: The values that were chosen, each with its option's name, in the order of the choices.
        subpage: Which page of the product's.
    """

    page: PageName = "search"
    query: str = ""
    number: int = 1
    asin: str = ""
    options: tuple[tuple[str, str], ...] = ()
    subpage: str = ""

    def to_json(self) -> dict[str, Any]:
        """The state as JSON."""
        return asdict(self) | {"options": [list(each) for each in self.options]}

    @classmethod
    def from_json(cls, told: dict[str, Any]) -> "State":
        """The state that was written as JSON."""
        return cls(**{**told, "options": tuple((name, value) for name, value in told["options"])})


def clean_query(query: str) -> str:
    """What is searched for, without what the original would not survive, or would take for something else.

    There a slash divides the address, a bracket in front is read as Python, and `<r>` and its like lead round the
    search. None of these matters to what a search finds. Empty where there is no word in it.
    """
    words = "".join(c if c.isprintable() and c not in "/<>[]" else " " for c in query).split()
    cleaned = " ".join(words)[:LONGEST_QUERY].strip()
    return cleaned if any(c.isalnum() for c in cleaned) else ""


def searched(query: str) -> State:
    """Where a search leads to.

    Args:
        query: What is searched for, cleaned.
    """
    return State("results", query)


def find(page: Page, state: State, element: str, exact: bool = False) -> Node | None:
    """What a click means.

    Args:
        page: The page.
        state: Where the shopper stands. Of options with the same value the last one is meant, as in the original;
            but where that is chosen already, the one before.
        element: What is clicked.
        exact: Whether capitals, blanks and brackets around it count.

    Returns:
        What is clicked; None where there is nothing of that name.
    """
    wanted = element if exact else fold(element)
    there = [node for node in clickable(page.nodes) if (node.text if exact else fold(node.text)) == wanted]
    free = [node for node in there if (node.option, node.text) not in state.options]
    return next(reversed(free or there), None)


def clickable(nodes: tuple[Node, ...] | list[Node]) -> list[Node]:
    """What can be clicked; searching takes words."""
    return [node for node in nodes if node.kind != "text" and node != Node("button", SEARCH)]


def clicked(state: State, node: Node) -> State:
    """Where a click leads to.

    Args:
        state: Where the shopper stands.
        node: What is clicked on that page.
    """
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


def fold(element: str) -> str:
    """What is clicked, but for capitals, blanks and brackets around it."""
    return " ".join(element.strip().strip("[]").split()).casefold()
