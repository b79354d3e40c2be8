"""HTTP to a MediaWiki API: one request a call, with every trouble named."""

import json
import time
from email.utils import parsedate_to_datetime
from typing import Any, NoReturn

import httpx

from langgraph_reflexion import __version__
from langgraph_reflexion.envs.site import Site, read_address, status_of
from langgraph_reflexion.errors import ConfigurationError

HOMEPAGE = "https://pypi.org/project/langgraph-reflexion/"
_PASSING = ("ratelimited", "maxlag", "readonly", "internal_api_error", "too-busy", "timed out", "queue is full")
"""What is in the API's errors that pass."""


class Transport:
    """HTTP requests to one MediaWiki API: one request a call, never repeated, with every trouble named.

    Args:
        api: The API's address.
        contact: An e-mail or a web address at which Wikimedia can reach whoever runs this.
        timeout: After how many seconds of silence a request is given up; so is an answer that takes longer.

    Raises:
        ConfigurationError: an argument is not what it should be.
    """

    def __init__(self, api: str, contact: str | None = None, timeout: float = 20.0) -> None:
        url = read_address("api", api, "https://en.wikipedia.org/w/api.php")
        if contact is not None and not (contact.strip() and contact.isascii() and contact.isprintable()):
            raise ConfigurationError(f"contact is {contact!r}: give an e-mail or a web address, in ASCII")
        self.api = api
        self.contact = contact
        about = f"{HOMEPAGE}; {contact}" if contact else HOMEPAGE
        agent = f"langgraph-reflexion/{__version__} ({about}) httpx/{httpx.__version__}"
        # Wikimedia asks for requests one by one; a few at a time keep one slow answer from delaying all.
        self._site = Site(url.netloc.decode(), timeout, at_once=3, headers={"User-Agent": agent})

    def get(self, params: dict[str, Any]) -> dict[str, Any]:
        """One request.

        Args:
            params: The query's parameters.

        Returns:
            The answer's JSON.

        Raises:
            EnvironmentFault: there is none; the message says why.
        """
        response, body = self._site.get(self.api, params)
        if response.status_code != 200:
            self._refused(response)
        try:
            answer = json.loads(body)
        except ValueError as error:
            self._site.fail(f"answered with garbage, which is no JSON: {body[:60]!r}", cause=error)
        if not isinstance(answer, dict):
            self._site.fail(f"answered with garbage: {body[:60]!r}")
        if "error" in answer:
            self._said_error(answer["error"])
        return answer

    def close(self) -> None:
        """Close the connections; the next request opens new ones."""
        self._site.close()

    def garbage(self, error: Exception) -> NoReturn:
        """Say that an answer was JSON, but not what it should be."""
        self._site.fail(f"answered with garbage: {type(error).__name__}: {error}", cause=error)

    def _refused(self, response: httpx.Response) -> NoReturn:
        status, wait = response.status_code, _seconds(response.headers.get("Retry-After"))
        cause = f"said {status_of(response)}"
        if status == 403:
            cause += "; it blocks this client" + ("" if self.contact else ": set contact= to an address of yours")
        if wait is not None:
            cause += f"; Retry-After {wait:.0f} s"
        self._site.fail(cause, transient=status in (408, 429) or status >= 500, retry_after=wait)

    def _said_error(self, error: Any) -> NoReturn:
        told = f"{error.get('code')}: {error.get('info')}" if isinstance(error, dict) else str(error)
        passing = any(sign in told.lower() for sign in _PASSING)
        self._site.fail(f"answered with an error, {told:.200}", transient=passing)


def _seconds(header: str | None) -> float | None:
    """The time to wait by a Retry-After header, which is a number of seconds or a date."""
    if header is None:
        return None
    if header.strip().isdecimal():
        return float(header)
    try:
        return max(0.0, parsedate_to_datetime(header).timestamp() - time.time())
    except ValueError:
        return None
