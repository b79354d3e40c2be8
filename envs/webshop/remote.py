"""An original WebShop server over HTTP. A page's address says all that the server has to know.

The addresses, and how things are written in them, are those of the original's `app.py`. Every trouble has a name, and
is a fault: it never passes for a purchase that was worth nothing.
"""

from collections.abc import Callable
from typing import TypeVar
from urllib.parse import quote

from langgraph_reflexion.envs.site import Site, read_address, status_of
from langgraph_reflexion.envs.webshop.html import read_instruction, read_page
from langgraph_reflexion.envs.webshop.pages import Page, PageName
from langgraph_reflexion.envs.webshop.state import State
from langgraph_reflexion.errors import ConfigurationError, EnvironmentFault

_Read = TypeVar("_Read")


class Remote:
    """An original server.

    Args:
        base_url: Its address, "http://localhost:3000" by default of the original.
        timeout: After how many seconds of silence a request is given up; so is an answer that takes longer.

    Raises:
        ConfigurationError: an argument is not what it should be.
    """

    def __init__(self, base_url: str, timeout: float = 20.0) -> None:
        url = read_address("base_url", base_url, "http://localhost:3000")
        if url.userinfo or url.query or url.fragment:
            # Options are written into the record of a run.
            raise ConfigurationError("base_url has a user, a password, a query or a fragment: give it without")
        self.base_url = base_url.rstrip("/")
        self.site = Site(f"the WebShop server at {url.netloc.decode()}", timeout)

    def instruction(self, number: int) -> str | None:
        """What is to be bought for a goal; None where the server has fewer goals.

        Args:
            number: The goal's place in the official order.

        Raises:
            EnvironmentFault: the server did not say.
        """
        try:
            return self._instruction(number)
        except ServerError:
            if number == 0:
                raise
        # The original fails on a goal that it does not have, as it may on anything else.
        try:
            return self._instruction(number)
        except ServerError:
            self._instruction(0)
            return None

    def page(self, session: str, state: State) -> Page:
        """The page that belongs to a state.

        Raises:
            EnvironmentFault: there is none; the message says why.
        """
        return self._get(address(session, state), lambda html: read_page(html, state))

    def close(self) -> None:
        """Close the connections; the next request opens new ones."""
        self.site.close()

    def _instruction(self, number: int) -> str:
        return self._get(address(session_of(number), State()), read_instruction)

    def _get(self, path: str, read: Callable[[str], _Read]) -> _Read:
        response, body = self.site.get(self.base_url + path)
        if response.status_code >= 500:
            raise ServerError(f"{self.site.name} said {status_of(response)} to {path:.200}")
        if response.status_code != 200:
            passing = response.status_code in (408, 429)
            self.site.fail(f"said {status_of(response)} to {path:.200}: is it WebShop's?", transient=passing)
        if not body.strip():
            self.site.fail(f"answered with an empty page to {path:.200}")
        try:
            return read(body.decode("utf-8", "replace"))
        except ValueError as error:
            self.site.fail(f"answered with garbage to {path:.200}: {error}", cause=error)


class ServerError(EnvironmentFault):
    """The server failed on a request."""


class RemoteShop:
    """The pages of one goal, from a server.

    Args:
        remote: The server.
        number: The goal's place in the official order.
        instruction: What is to be bought, as the task has it.
    """

    replays = False

    def __init__(self, remote: Remote, number: int, instruction: str) -> None:
        self._remote = remote
        self._number = number
        self._told = instruction
        self._known = False

    def page(self, state: State) -> Page:
        """The page that belongs to a state; see `Shop.page`."""
        self._introduce()
        try:
            return self._remote.page(session_of(self._number), state)
        except EnvironmentFault:
            self._known = False
            raise

    def _introduce(self) -> None:
        """Have the server open the session, without which it has no other page; it may also have been restarted."""
        if self._known:
            return
        told = self._remote.instruction(self._number)
        if told != self._told:
            self._remote.site.fail(
                f"has another goal {self._number} than the task, as the original draws new budgets whenever it "
                "starts: begin a new run",
                transient=False,
            )
        self._known = True


def session_of(number: int) -> str:
    """The name of a session that has a certain goal."""
    return f"fixed_{number}"


def address(session: str, state: State) -> str:
    """The address of the page that belongs to a state, below the server's.

    Args:
        session: The session's name.
        state: The state; its query is cleaned (`state.clean_query`).
    """
    # A slash divides the address even where it is quoted; but options are read as Python, which can say it otherwise.
    options = repr(dict(state.options)).replace("/", r"\x2f")
    parts: dict[PageName, list[str | int]] = {
        "search": [session],
        "results": ["search_results", session, state.query, state.number],
        "item": ["item_page", session, state.asin, state.query, state.number, options],
        "item_sub": ["item_sub_page", session, state.asin, state.query, state.number, state.subpage, options],
        "done": ["done", session, state.asin, options],
    }
    return "".join("/" + quote(str(part), safe="") for part in parts[state.page])
