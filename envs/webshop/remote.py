"""Client of an original WebShop server, whose URLs (those of its `app.py`) contain the whole state.

Every error is a fault, and never a purchase with reward 0.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import quote

from langgraph_reflexion.envs.http import HttpClient, StatusFault, parse_url
from langgraph_reflexion.envs.webshop.html import read_instruction, read_page
from langgraph_reflexion.envs.webshop.pages import Page, PageName
from langgraph_reflexion.envs.webshop.state import State
from langgraph_reflexion.errors import ConfigurationError, EnvironmentFault

_Read = TypeVar("_Read")


class Remote:
    """An original server; the default of the original is "http://localhost:3000".

    Raises:
        ConfigurationError: An argument is invalid.
    """

    def __init__(self, base_url: str, timeout: float = 20.0) -> None:
        url = parse_url("base_url", base_url, "http://localhost:3000")
        if url.userinfo or url.query or url.fragment:
            # Options are recorded in run.json.
            raise ConfigurationError("base_url has a user, a password, a query or a fragment: give it without")
        self.base_url = base_url.rstrip("/")
        hints = dict.fromkeys((400, 401, 403, 404, 405), "is it a WebShop server?")
        self.http = HttpClient(f"the WebShop server at {url.netloc.decode()}", timeout, hints=hints)

    def instruction(self, number: int) -> str | None:
        """Return the instruction of a goal by its position in the official order; None if there are fewer goals.

        Raises:
            EnvironmentFault: The server failed.
        """
        for _ in range(2):
            try:
                return self._instruction(number)
            except StatusFault as error:
                if number == 0 or error.status < 500:
                    raise
        # The original fails on missing goals, but also for other reasons.
        self._instruction(0)
        return None

    def page(self, number: int, state: State) -> Page:
        """Return the page of a goal's state.

        Raises:
            EnvironmentFault: The page cannot be fetched.
        """
        return self._get(_path(number, state), lambda html: read_page(html, state))

    def _instruction(self, number: int) -> str:
        return self._get(_path(number, State()), read_instruction)

    def _get(self, path: str, read: Callable[[str], _Read]) -> _Read:
        body = self.http.get(self.base_url + path)
        try:
            return read(body.decode("utf-8", "replace"))
        except ValueError as error:
            self.http.fail(f"sent an unexpected page from {path:.200}: {error}", cause=error)


@dataclass
class RemoteShop:
    """The pages of the goal at a position in the official order, from a server."""

    remote: Remote
    number: int
    instruction: str
    """The instruction in the task."""
    opened: bool = False
    replays = False

    def page(self, state: State) -> Page:
        self._open_session()
        try:
            return self.remote.page(self.number, state)
        except EnvironmentFault:
            self.opened = False
            raise

    def _open_session(self) -> None:
        """Open the session, without which the server has no other page, and check that the goal is the task's."""
        if self.opened:
            return
        if self.remote.instruction(self.number) != self.instruction:
            self.remote.http.fail(
                f"has another goal {self.number} than the task, as the original draws new budgets whenever it "
                "starts: begin a new run",
                transient=False,
            )
        self.opened = True


def _path(number: int, state: State) -> str:
    """Return the URL path of the page of a goal's state, whose query has to be clean (`state.clean_query`)."""
    session = f"fixed_{number}"
    # The server splits even at quoted slashes; options are parsed as Python, where \x2f is a slash, too.
    options = repr(dict(state.options)).replace("/", r"\x2f")
    parts: dict[PageName, list[str | int]] = {
        "search": [session],
        "results": ["search_results", session, state.query, state.number],
        "item": ["item_page", session, state.asin, state.query, state.number, options],
        "item_sub": ["item_sub_page", session, state.asin, state.query, state.number, state.subpage, options],
        "done": ["done", session, state.asin, options],
    }
    return "".join("/" + quote(str(part), safe="") for part in parts[state.page])
