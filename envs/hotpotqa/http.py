"""HTTP GET requests to one server, whose failures are `EnvironmentFault`s."""

import threading
import time
import weakref
from collections.abc import Mapping
from typing import Any, NoReturn

import httpx

from langgraph_reflexion.errors import ConfigurationError, EnvironmentFault
from langgraph_reflexion.retries import parse_retry_after

MAX_BYTES = 20_000_000
"""The largest response that is read, in bytes."""
MAX_CONCURRENT = 3
"""The number of requests to a server that are open at once."""


class HttpClient:
    """A client of one server. It sends each request once; retries are the caller's.

    Args:
        server: The server's name in error messages.
        timeout: Seconds after which a request fails: without data, and for a whole response.
        headers: The headers of every request.
        forbidden: What to do about the status 403.

    Raises:
        ConfigurationError: the timeout is not a positive number.
    """

    def __init__(self, server: str, timeout: float, headers: Mapping[str, str], forbidden: str) -> None:
        if not isinstance(timeout, int | float) or not timeout > 0:
            raise ConfigurationError(f"timeout is {timeout}: give a number of seconds above 0")
        self.server = server
        self._timeout = timeout
        self._headers = headers
        self._forbidden = forbidden
        self._client: httpx.Client | None = None
        self._lock = threading.Lock()
        # Wikimedia asks for sequential requests; a few at once keep one slow response from delaying all tasks.
        self._slots = threading.BoundedSemaphore(MAX_CONCURRENT)

    def get(self, url: str, params: Mapping[str, Any]) -> bytes:
        """Send a GET request and return the body of the response.

        Raises:
            EnvironmentFault: there is no response, its status is not 200, or it is incomplete, too slow or too large.
        """
        try:
            with self._slots:
                return self._get(url, params)
        except httpx.TimeoutException as error:
            self.fail(f"timed out after {self._timeout:g} s", cause=error)
        except (httpx.DecodingError, httpx.RemoteProtocolError, httpx.TooManyRedirects) as error:
            self.fail(f"sent an invalid response: {error}", cause=error)
        except httpx.HTTPError as error:
            self.fail(f"is unreachable: {error}", cause=error)

    def close(self) -> None:
        """Close the connections; the next request opens new ones."""
        with self._lock:
            if self._client is not None:
                self._client.close()
            self._client = None

    def fail(self, message: str, *, transient: bool = True, cause: BaseException | None = None) -> NoReturn:
        """Raise an `EnvironmentFault` whose message begins with the server's name."""
        raise EnvironmentFault(f"{self.server} {message}", transient=transient) from cause

    def _get(self, url: str, params: Mapping[str, Any]) -> bytes:
        begin, body = time.monotonic(), bytearray()
        with self._connected().stream("GET", url, params=params) as response:
            # httpx limits the time between two chunks only.
            for chunk in response.iter_bytes():
                body += chunk
                if time.monotonic() - begin > self._timeout:
                    raise httpx.ReadTimeout("the response is too slow")
                if len(body) > MAX_BYTES:
                    self.fail(f"sent more than {MAX_BYTES:,} bytes", transient=False)
        if response.status_code != 200:
            raise self._fault(response)
        return bytes(body)

    def _fault(self, response: httpx.Response) -> EnvironmentFault:
        status, wait = response.status_code, parse_retry_after(response.headers.get("Retry-After"))
        path = response.request.url.raw_path.partition(b"?")[0].decode()
        message = f"{self.server} responded {status} ({response.reason_phrase.lower() or 'no reason'}) to {path:.200}"
        if status == 403:
            message += f": {self._forbidden}"
        if wait is not None:
            message += f"; Retry-After {wait:.0f} s"
        return EnvironmentFault(message, transient=status in (408, 429) or status >= 500, retry_after=wait)

    def _connected(self) -> httpx.Client:
        with self._lock:
            if self._client is None:
                self._client = httpx.Client(timeout=self._timeout, follow_redirects=True, headers=self._headers)
                weakref.finalize(self, self._client.close)
            return self._client
