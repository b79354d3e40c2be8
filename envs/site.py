"""HTTP to one site: one request a call, never repeated, with every trouble named."""

import threading
import time
import weakref
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NoReturn

import httpx

from langgraph_reflexion.errors import ConfigurationError, EnvironmentFault

_LARGEST_ANSWER = 20_000_000


class Site:
    """GET requests to one site.

    Args:
        name: What it is called in errors.
        timeout: After how many seconds of silence a request is given up; so is an answer that takes longer.
        at_once: How many requests may be on their way at once; any number unless given.
        **options: For `httpx.Client`.

    Raises:
        ConfigurationError: the timeout is not what it should be.
    """

    def __init__(self, name: str, timeout: float, *, at_once: int | None = None, **options: Any) -> None:
        if not isinstance(timeout, int | float) or not timeout > 0:
            raise ConfigurationError(f"timeout is {timeout}: give a number of seconds above 0")
        self.name = name
        self._timeout = timeout
        self._options = options
        self._client: httpx.Client | None = None
        self._lock = threading.Lock()
        self._turns: AbstractContextManager[Any] = nullcontext()
        if at_once:
            self._turns = threading.BoundedSemaphore(at_once)

    def get(self, address: str, params: Mapping[str, Any] | None = None) -> tuple[httpx.Response, bytes]:
        """One request.

        Args:
            address: Where it goes.
            params: The query's parameters.

        Returns:
            The answer, whatever its status, and its body.

        Raises:
            EnvironmentFault: there is none, or no end of it; the message says why.
        """
        try:
            with self._turns:
                return self._got(address, params)
        except httpx.TimeoutException as error:
            self.fail(f"timed out after {self._timeout:g} s", cause=error)
        except (httpx.DecodingError, httpx.RemoteProtocolError, httpx.TooManyRedirects) as error:
            self.fail(f"answered with garbage: {error}", cause=error)
        except httpx.HTTPError as error:
            self.fail(f"is unreachable: {error}", cause=error)

    def close(self) -> None:
        """Close the connections; the next request opens new ones."""
        with self._lock:
            if self._client is not None:
                self._client.close()
            self._client = None

    def fail(
        self,
        what: str,
        *,
        transient: bool = True,
        retry_after: float | None = None,
        cause: BaseException | None = None,
    ) -> NoReturn:
        """Raise the fault that says what the site did."""
        raise EnvironmentFault(f"{self.name} {what}", transient=transient, retry_after=retry_after) from cause

    def _got(self, address: str, params: Mapping[str, Any] | None) -> tuple[httpx.Response, bytes]:
        begin, body = time.monotonic(), bytearray()
        with self._connected().stream("GET", address, params=params) as response:
            # What httpx limits is the time between two pieces.
            for piece in response.iter_bytes():
                body += piece
                if time.monotonic() - begin > self._timeout:
                    raise httpx.ReadTimeout("the answer does not end")
                if len(body) > _LARGEST_ANSWER:
                    self.fail(f"answered with more than {_LARGEST_ANSWER:,} bytes", transient=False)
        return response, bytes(body)

    def _connected(self) -> httpx.Client:
        with self._lock:
            if self._client is None:
                # Whose turn it is we say ourselves: a pool that is full (httpcore 1.0.9) closes connections that
                # other threads have just been given.
                limits = httpx.Limits(max_connections=None)
                self._client = httpx.Client(
                    timeout=self._timeout, limits=limits, follow_redirects=True, **self._options
                )
                weakref.finalize(self, self._client.close)
            return self._client


def read_address(option: str, value: str, example: str) -> httpx.URL:
    """Read the address of a site.

    Args:
        option: The option that it was given as.
        value: The address.
        example: One that would do.

    Raises:
        ConfigurationError: it is none.
    """
    try:
        url = httpx.URL(value)
    except (httpx.InvalidURL, TypeError):
        url = httpx.URL("")
    if url.scheme not in ("http", "https") or not url.host:
        raise ConfigurationError(f"{option} is {value!r}: give an address such as {example}")
    return url


def status_of(response: httpx.Response) -> str:
    """The status of an answer, with what it means."""
    return f"{response.status_code} ({response.reason_phrase.lower() or 'no reason given'})"
