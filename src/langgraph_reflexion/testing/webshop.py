"""A WebShop server on loopback: as much of the original as an agent asks for, and every trouble it can make.

with WebShopServer(store, goals) as server:
    environment = WebShop(base_url=server.url)
    server.faults = iter(["500"])
    ...
"""

import threading
from ast import literal_eval
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Self
from urllib.parse import unquote, urlsplit

from langgraph_reflexion.envs.webshop.goals import Goal
from langgraph_reflexion.envs.webshop.pages import Node, Page
from langgraph_reflexion.envs.webshop.shop import OwnShop
from langgraph_reflexion.envs.webshop.state import State
from langgraph_reflexion.envs.webshop.store import Store
from langgraph_reflexion.testing.loopback import ENDINGS, HTML, Answer, Call, Listener

WEBSHOP_FAULTS = {
    "500": "any number: this status, with a page that says so",
    "hang": "nothing is said at all",
    "drip": "the answer comes in small pieces, and never ends",
    "cut": "the connection ends in the middle of the page",
    "empty": "the page is empty",
    "empty 404": "the page is empty, and not found, as for an address that was not quoted",
    "garbage": "the page is another one, with a good status",
    "no score": "the page is what was asked for, but for the score",
}
"""What can go wrong with a request."""

_SHOWN = 'class="btn btn-success" type="submit"'


class WebShopServer:
    """A small shop, served over HTTP while the context lasts.

    Like the original it reads options as Python, splits an address at every slash, quoted or not, fails on a query
    that begins with a bracket and is none, and on the pages of a session whose first page nobody has asked for.

    Args:
        store: What it sells.
        goals: What is to be bought; the session `fixed_3` has the fourth of them.
        faults: What goes wrong with the requests that come, in order, as in `WEBSHOP_FAULTS`; None for nothing.
        attributes: Whether products have a page of attributes.

    Attributes:
        url: Its address.
        requests: The addresses of the requests so far, as they came.
        faults: What goes wrong with the next requests; may be set at any time.
        goals: What is to be bought; may be changed, as by a server that starts anew.
        sessions: The sessions that it knows.
    """

    def __init__(
        self,
        store: Store,
        goals: Sequence[Goal],
        *,
        faults: Iterable[str | None] = (),
        attributes: bool = False,
    ) -> None:
        self.store = store
        self.goals = list(goals)
        self.faults: Iterator[str | None] = iter(faults)
        self.requests: list[str] = []
        self.sessions: set[str] = set()
        self.url = ""
        self._attributes = attributes
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        self._listener = Listener(0, self._reply)
        self.url = self._listener.url
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()

    def answer(self, path: str) -> tuple[int, str]:
        """The status and the page for an address, where nothing goes wrong."""
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
        page = OwnShop(self.store, goal, attributes=self._attributes).page(state)
        return 200, _html(page, goal)

    def _reply(self, call: Call) -> Answer:
        with self._lock:
            self.requests.append(call.path)
            fault = next(self.faults, None)
        match fault:
            case None:
                return _page_of(*self.answer(call.path))
            case "no score":
                status, page = self.answer(call.path)
                return _page_of(status, page.partition("<pre>")[0])
            case "garbage":
                return _page_of(200, "<html><body><h1>Please sign in</h1></body></html>")
            case "empty":
                return _page_of(200, "")
            case "empty 404":
                return _page_of(404, "")
            case _ if fault in ENDINGS:
                return Answer(b"<html><body><h2>WebShop</h2>", ending=ENDINGS[fault], kind=HTML)
        return _page_of(int(fault), "<h1>Something went wrong</h1>")


def _page_of(status: int, page: str) -> Answer:
    return Answer(page.encode(), status, kind=HTML)


def _read(options: str) -> tuple[tuple[str, str], ...]:
    return tuple(literal_eval(options).items())


def _html(page: Page, goal: Goal) -> str:
    """A page in the tags of the original, with what a browser does not show."""
    told = "\n".join(map(_tag, page.nodes)) if page.name != "done" else _done(page, goal)
    head = "<head><title>WebShop</title><style>h4 {}</style></head>"
    body = f"<body>\n<!-- no part of it -->\n{told}\n</body>\n<script>;</script>"
    return f"<!DOCTYPE html>\n<html>\n{head}\n{body}\n</html>"


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
    """The original's last page, which tells more than the agent is to know."""
    thanks, score, reward = (escape(node.text) for node in page.nodes)
    target = f"<h4>asin<pre>{goal.asin}</pre></h4><h4>options<pre>{escape(str(goal.options))}</pre></h4>"
    hidden = f'<div style="display:none"><h2>Target</h2>{target}</div>'
    return f'<h1>{thanks}</h1>\n{hidden}\n<h3 id="reward">{score}<pre>{reward}</pre></h3>'
