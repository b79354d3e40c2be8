"""Parser of the original server's HTML pages."""

from langgraph_reflexion.envs.webshop.pages import BEFORE, BUY, SCORE, SEARCH, Node, Page, PageName, done_page
from langgraph_reflexion.envs.webshop.state import State

_UNSEEN = ("style", "script", "head", "title", "meta", "[document]")


def read_page(html: str, state: State) -> Page:
    """Parse the page of a state.

    Raises:
        ValueError: This is not the page of that state.
    """
    nodes = tuple(_nodes(html, dict(state.options)))
    if not _is(state.page, nodes):
        raise ValueError(f"this is not the page {state.page} of WebShop")
    # The rest of the last page shows the wanted product.
    return done_page(_score(nodes)) if state.page == "done" else Page(state.page, nodes)


def read_instruction(html: str) -> str:
    """Parse the instruction on the first page.

    Raises:
        ValueError: This is not the first page.
    """
    texts = [node.text.strip() for node in read_page(html, State()).nodes if node.kind == "text"]
    start = next((number for number, text in enumerate(texts) if text.startswith("Instruction:")), len(texts))
    parts = [text.removeprefix("Instruction:").strip() for text in texts[start : start + 2]]
    if not any(parts):
        raise ValueError("the first page has no instruction")
    return next(filter(None, parts))


def _nodes(html: str, chosen: dict[str, str]) -> list[Node]:
    from bs4 import BeautifulSoup
    from bs4.element import PreformattedString, Tag

    nodes = []
    for piece in BeautifulSoup(html, "html.parser").find_all(string=True):
        text, tag = str(piece), piece.parent
        # `PreformattedString`: comments.
        if isinstance(piece, PreformattedString) or tag is None or tag.name in _UNSEEN or not text.strip():
            continue
        if tag.name == "button":
            nodes.append(Node("button", text))
        elif tag.name == "label":
            button = tag.find_previous("input")
            option = str(button.get("name", "")) if isinstance(button, Tag) else ""
            nodes.append(Node("option", text, option, chosen.get(option) == text))
        elif "product-link" in (tag.get("class") or []):
            nodes.append(Node("product", text))
        else:
            nodes.append(Node("text", text))
    return nodes


def _is(name: PageName, nodes: tuple[Node, ...]) -> bool:
    buttons = {node.text for node in nodes if node.kind == "button"}
    texts = [node.text for node in nodes if node.kind == "text"]
    return {
        "search": SEARCH in buttons,
        "results": any(text.startswith("Page ") for text in texts),
        "item": BUY in buttons,
        "item_sub": BEFORE in buttons and BUY not in buttons,
        "done": SCORE in texts,
    }[name]


def _score(nodes: tuple[Node, ...]) -> float:
    texts = [node.text.strip() for node in nodes]
    after = texts[texts.index(SCORE) + 1 :]
    score = float(after[0]) if after else -1.0
    # float("nan") is valid.
    if not 0 <= score <= 1:
        raise ValueError("the last page has no score")
    return score
