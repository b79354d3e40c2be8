"""A WebShop server on loopback: the original's pages, and its faults.

with WebShopServer(store, goals) as server:
    environment = WebShop(base_url=server.url)
    server.faults = iter(["500"])
    ...
"""

from ast import literal_eval
from collections.abc import Iterable, Sequence
from html import escape
from urllib.parse import unquote, urlsplit

from langgraph_reflexion.envs.webshop.goals import Goal
from langgraph_reflexion.envs.webshop.pages import Node, Page
from langgraph_reflexion.envs.webshop.shop import LocalShop
from langgraph_reflexion.envs.webshop.state import State
from langgraph_reflexion.envs.webshop.store import Store
from langgraph_reflexion.testing.loopback import ENDINGS, HTML, Answer, Call, FaultyServer

WEBSHOP_FAULTS = {
    "500": "any status, with an error page",
    "hang": "no answer",
    "drip": "the answer comes in small pieces, and never ends",
    "cut": "the connection ends in the middle of the page",
    "empty": "the page is empty",
    "garbage": "another page, with status 200",
    "no score": "the right page without the score",
}
"""The faults of `WebShopServer`."""

_SHOWN = 'class="btn btn-success" type="submit"'


class WebShopServer(FaultyServer[str]):
    """A small shop, served over HTTP inside `with`.

    Like the original it reads options as Python, splits an address at every slash, quoted or not, and fails on
    queries that begin with a bracket but are not lists, and on sessions whose first page was never requested.

    Args:
        store: The products.
        goals: The goals by session: the session `fixed_3` has the fourth.
        faults: The faults of the next requests in order, from `WEBSHOP_FAULTS`; None for none.

    Attributes:
        requests: The addresses of the requests so far.
        goals: The goals; may be changed, as by a restarted server.
    """

    def __init__(self, store: Store, goals: Sequence[Goal], *, faults: Iterable[str | None] = ()) -> None:
        super().__init__(faults)
        self.store = store
        self.goals = list(goals)
        self.sessions: set[str] = set()

    def answer(self, path: str) -> tuple[int, str]:
        """Return the status and the page for an address."""
        parts = unquote(urlsplit(path).path).split("/")[1:]
        try:
            match parts:
                case [session]:
                    self.sessions.add(session)
                    return self._page(session, State())
                case ["search_results", session, query, number]:
                    query = " ".join(literal_eval(query)) if query.startswith("[") else query
                    return self._page(session, State("results", query, int(number)))
                case ["item_page", session, asin, query, number, options]:
                    return self._page(session, State("item", query, int(number), asin, _read(options)))
                case ["item_sub_page", session, asin, query, number, name, options]:
                    state = State("item_sub", query, int(number), asin, _read(options), name)
                    return self._page(session, state)
                case ["done", session, asin, options]:
                    return self._page(session, State("done", asin=asin, options=_read(options)))
        except (KeyError, IndexError, ValueError, SyntaxError, AssertionError):
            return 500, "<title>500</title><h1>Internal Server Error</h1>"
        return 404, ""

    def _page(self, session: str, state: State) -> tuple[int, str]:
        if session not in self.sessions:
            raise KeyError(session)
        goal = self.goals[int(session.rpartition("_")[2])]
        page = LocalShop(self.store, goal).page(state)
        return 200, _html(page, goal)

    def _answer(self, call: Call) -> Answer:
        match fault := self._record(call.path):
            case None:
                return _page_of(*self.answer(call.path))
            case "no score":
                status, page = self.answer(call.path)
                return _page_of(status, page.partition("<pre>")[0])
            case "garbage":
                return _page_of(200, "<html><body><h1>Please sign in</h1></body></html>")
            case "empty":
                return _page_of(200, "")
            case _ if fault in ENDINGS:
                return Answer(b"<html><body><h2>WebShop</h2>", ending=ENDINGS[fault], kind=HTML)
        return _page_of(int(fault), "<h1>Something went wrong</h1>")


def _page_of(status: int, page: str) -> Answer:
    return Answer(page.encode(), status, kind=HTML)


def _read(options: str) -> tuple[tuple[str, str], ...]:
    return tuple(literal_eval(options).items())


def _html(page: Page, goal: Goal) -> str:
    """Return a page in the original's tags, with parts that a browser does not show."""
    content = "\n".join(map(_tag, page.nodes)) if page.name != "done" else _done(page, goal)
    body = f"<body>\n<!-- no part of it -->\n{content}\n<script>;</script>\n</body>"
    return f"<!DOCTYPE html>\n<html>\n<head><title>WebShop</title></head>\n{body}\n</html>"


def _tag(node: Node) -> str:
    text = escape(node.text)
    if node.kind == "button":
        return f"<form><button {_SHOWN}>{text}</button></form>"
    if node.kind == "product":
        return f'<h4><a class="product-link" href="#">{text}</a></h4>'
    if node.kind == "option":
        return f'<input type="radio" name="{escape(node.option)}" value="{text}">\n<label>{text}</label>'
    return f"<h4>{text}</h4>"


def _done(page: Page, goal: Goal) -> str:
    """Return the original's last page, which contains more than the agent may know."""
    thanks, score, reward = (escape(node.text) for node in page.nodes)
    hidden = f'<div style="display:none"><h2>Target</h2><h4>asin<pre>{goal.asin}</pre></h4></div>'
    return f'<h1>{thanks}</h1>\n{hidden}\n<h3 id="reward">{score}<pre>{reward}</pre></h3>'
