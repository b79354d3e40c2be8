"""HTTP to a MediaWiki API: one request a call, with every trouble named."""

import json
import threading
import time
import weakref
from email.utils import parsedate_to_datetime
from typing import Any, NoReturn

import httpx

from langgraph_reflexion import __version__
from langgraph_reflexion.errors import ConfigurationError, EnvironmentFault

HOMEPAGE = "https://pypi.org/project/langgraph-reflexion/"
_LARGEST_ANSWER = 20_000_000
_AT_ONCE = 3
"""Wikimedia asks for requests one by one; a few at a time keep one slow answer from delaying all."""
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
        try:
            url = httpx.URL(api)
        except httpx.InvalidURL:
            url = httpx.URL("")
        if url.scheme not in ("http", "https") or not url.host:
            raise ConfigurationError(f"api is {api!r}: give an address such as https://en.wikipedia.org/w/api.php")
        if not timeout > 0:
            raise ConfigurationError(f"timeout is {timeout}: give a number of seconds above 0")
        if contact is not None and not (contact.strip() and contact.isascii() and contact.isprintable()):
            raise ConfigurationError(f"contact is {contact!r}: give an e-mail or a web address, in ASCII")
        self.api = api
        self.host = url.netloc.decode()
        self.contact = contact
        self.timeout = timeout
        about = f"{HOMEPAGE}; {contact}" if contact else HOMEPAGE
        self.user_agent = f"langgraph-reflexion/{__version__} ({about}) httpx/{httpx.__version__}"
        self._client: httpx.Client | None = None
        self._lock = threading.Lock()
        self._turns = threading.BoundedSemaphore(_AT_ONCE)

    def get(self, params: dict[str, Any]) -> dict[str, Any]:
        """One request.

        Args:
            params: The query's parameters.

        Returns:
            The answer's JSON.

        Raises:
            EnvironmentFault: there is none; the message says why.
        """
        body = b""
        try:
            with self._turns:
                begin = time.monotonic()
                with self._connected().stream("GET", self.api, params=params) as response:
                    # What httpx limits is the time between two pieces.
                    for piece in response.iter_bytes():
                        body += piece
                        if time.monotonic() - begin > self.timeout:
                            raise httpx.ReadTimeout("the answer does not end")
                        if len(body) > _LARGEST_ANSWER:
                            self._fail(f"answered with more than {_LARGEST_ANSWER:,} bytes", transient=False)
        except httpx.TimeoutException as error:
            self._fail(f"timed out after {self.timeout:g} s", transient=True, cause=error)
        except (httpx.DecodingError, httpx.RemoteProtocolError, httpx.TooManyRedirects) as error:
            self._fail(f"answered with garbage: {error}", transient=True, cause=error)
        except httpx.HTTPError as error:
            self._fail(f"is unreachable: {error}", transient=True, cause=error)
        if response.status_code != 200:
            self._refused(response)
        try:
            answer = json.loads(body)
        except ValueError as error:
            self._fail(f"answered with garbage, which is no JSON: {body[:60]!r}", transient=True, cause=error)
        if not isinstance(answer, dict):
            self._fail(f"answered with garbage: {body[:60]!r}", transient=True)
        if "error" in answer:
            self._said_error(answer["error"])
        return answer

    def close(self) -> None:
        """Close the connections; the next request opens new ones."""
        with self._lock:
            if self._client is not None:
                self._client.close()
            self._client = None

    def garbage(self, error: Exception) -> NoReturn:
        """Say that an answer was JSON, but not what it should be."""
        self._fail(f"answered with garbage: {type(error).__name__}: {error}", transient=True, cause=error)

    def _connected(self) -> httpx.Client:
        with self._lock:
            if self._client is None:
                # Whose turn it is we say ourselves: a pool that is full (httpcore 1.0.9) closes connections that
                # other threads have just been given.
                self._client = httpx.Client(
                    headers={"User-Agent": self.user_agent},
                    timeout=self.timeout,
                    limits=httpx.Limits(max_connections=None),
                    follow_redirects=True,
                )
                weakref.finalize(self, self._client.close)
            return self._client

    def _refused(self, response: httpx.Response) -> NoReturn:
        status, wait = response.status_code, _seconds(response.headers.get("Retry-After"))
        cause = f"said {status} ({response.reason_phrase.lower() or 'no reason given'})"
        if status == 403:
            cause += "; it blocks this client" + ("" if self.contact else ": set contact= to an address of yours")
        if wait is not None:
            cause += f"; Retry-After {wait:.0f} s"
        self._fail(cause, transient=status in (408, 429) or status >= 500, retry_after=wait)

    def _said_error(self, error: Any) -> NoReturn:
        told = f"{error.get('code')}: {error.get('info')}" if isinstance(error, dict) else str(error)
        passing = any(sign in told.lower() for sign in _PASSING)
        self._fail(f"answered with an error, {told:.200}", transient=passing)

    def _fail(
        self, what: str, *, transient: bool, retry_after: float | None = None, cause: BaseException | None = None
    ) -> NoReturn:
        raise _fault(f"{self.host} {what}", transient, retry_after) from cause


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


def _fault(cause: str, transient: bool, retry_after: float | None) -> EnvironmentFault:
    """The fault for a cause, whether it may pass by itself, and after how many seconds."""
    return EnvironmentFault(cause, transient=transient, retry_after=retry_after)
