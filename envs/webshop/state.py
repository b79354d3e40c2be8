"""The shopper's state, and the states that searches and clicks lead to."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from langgraph_reflexion.envs.webshop.pages import AFTER, BACK, BEFORE, BUY, SEARCH, Node, PageName

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
