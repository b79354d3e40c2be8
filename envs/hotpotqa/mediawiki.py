"""Live pages of a wiki, read by the `wikipedia` package over our own HTTP client.

The package (1.4.0, of 2014) reads MediaWiki's responses well, but its one HTTP function has no timeout, ignores the
status and sends a user agent that Wikimedia blocks; address, language and caches are globals of its module. So every
`MediaWiki` loads a private copy of that module and replaces that function: two of them share nothing, and other users
of the package in this process see no change.
"""

import importlib
import importlib.util
import json
import re
import threading
import time
import weakref
from functools import partial
from types import ModuleType, SimpleNamespace
from typing import Any, NoReturn

import httpx

from langgraph_reflexion import __version__
from langgraph_reflexion.envs.hotpotqa.pages import SHOWN, Missing, Page, normalize_title
from langgraph_reflexion.errors import ConfigurationError, EnvironmentFault, EnvironmentUnavailable
from langgraph_reflexion.support.retries import parse_retry_after

WIKIPEDIA = "https://en.wikipedia.org/w/api.php"
"""The URL of the English Wikipedia's API."""
MAX_BYTES = 20_000_000
"""The largest response that is read, in bytes."""
PAGE_CHARS = 20_000
"""The number of characters that are read of a page."""
HOMEPAGE = "https://pypi.org/project/langgraph-reflexion/"
_TRANSIENT = ("ratelimited", "maxlag", "readonly", "internal_api_error", "too-busy", "timed out", "queue is full")
"""Words in the API's errors that pass."""
_LONGEST_TITLE = 255
"""Bytes."""
_LONGEST_QUERY = 300
_CONCURRENT = 3
"""Requests at once: Wikimedia asks for sequential ones; a few keep one slow response from delaying all tasks."""
_NO_TITLE = re.compile(r"[\[\]{}|<>#\x00-\x1f\x7f]")


class MediaWiki:
    """The live pages of a wiki.

    Args:
        url: The API's URL.
        contact: An e-mail or web address at which Wikimedia can reach whoever runs this.
        timeout: Seconds after which a request fails: without data, and for a whole response.

    Raises:
        ConfigurationError: an argument is invalid.
    """

    replays = False

    def __init__(self, url: str, contact: str | None = None, timeout: float = 20.0) -> None:
        self.url = _checked_url(url)
        if contact is not None and not _fits_into_a_header(contact):
            raise ConfigurationError(f"contact is {contact!r}: give an e-mail or a web address, in ASCII")
        # Written so that it refuses a NaN, too.
        if not isinstance(timeout, int | float) or not timeout > 0:
            raise ConfigurationError(f"timeout is {timeout}: give a number of seconds above 0")
        self._host = self.url.netloc.decode()
        self._timeout = timeout
        self._contact = contact
        about = HOMEPAGE
        if contact:
            about = f"{HOMEPAGE}; {contact}"
        self._agent = f"langgraph-reflexion/{__version__} ({about}) httpx/{httpx.__version__}"
        self._http: httpx.Client | None = None
        self._lock = threading.Lock()
        self._slots = threading.BoundedSemaphore(_CONCURRENT)
        package = _private_copy()
        package._wiki_request = self._request  # type: ignore[attr-defined]
        # Without a parser, the package warns on every disambiguation page.
        package.BeautifulSoup = partial(package.BeautifulSoup, features="html.parser")  # type: ignore[attr-defined]
        self._errors = importlib.import_module("wikipedia.exceptions")
        # A function with a cache has the function itself as `fn`; `page` has none.
        search_uncached = package.search.fn
        self.client = SimpleNamespace(search=search_uncached, page=package.page, exceptions=self._errors)
        """The package's `search` and `page` without its caches."""

    def _query(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return the JSON that the API responds with; raise an `EnvironmentFault` if there is none."""
        body = b""
        try:
            with self._slots:
                body = self._get({"action": "query", **params, "format": "json"})
            answer = json.loads(body)
        except httpx.TimeoutException as error:
            self._fail(f"timed out after {self._timeout:g} s", cause=error)
        except (httpx.DecodingError, httpx.RemoteProtocolError, httpx.TooManyRedirects) as error:
            self._fail(f"sent an invalid response: {error}", cause=error)
        except httpx.HTTPError as error:
            self._fail(f"is unreachable: {error}", cause=error)
        except ValueError as error:
            self._fail(f"sent no JSON: {body[:60]!r}", cause=error)
        if not isinstance(answer, dict):
            self._fail(f"sent unexpected JSON: {body[:60]!r}")
        problem = answer.get("error")
        if problem:
            message = str(problem)
            if isinstance(problem, dict):
                message = f"{problem.get('code')}: {problem.get('info')}"
            transient = any(word in message.lower() for word in _TRANSIENT)
            self._fail(f"reported an error, {message:.200}", transient=transient)
        return answer

    def _get(self, params: dict[str, Any]) -> bytes:
        client = self._open_client()
        begin = time.monotonic()
        body = bytearray()
        with client.stream("GET", self.url, params=params) as response:
            # httpx limits the time between two chunks only.
            for chunk in response.iter_bytes():
                body += chunk
                if time.monotonic() - begin > self._timeout:
                    raise httpx.ReadTimeout("the response is too slow")
                if len(body) > MAX_BYTES:
                    self._fail(f"sent more than {MAX_BYTES:,} bytes", transient=False)
        if response.status_code != 200:
            self._refused(response)
        return bytes(body)

    def _open_client(self) -> httpx.Client:
        with self._lock:
            if self._http is None:
                headers = {"User-Agent": self._agent}
                self._http = httpx.Client(timeout=self._timeout, follow_redirects=True, headers=headers)
                weakref.finalize(self, self._http.close)
            return self._http

    def _refused(self, response: httpx.Response) -> NoReturn:
        """Raise the fault for a response with an error's status."""
        status = response.status_code
        wait = parse_retry_after(response.headers.get("Retry-After"))
        reason = response.reason_phrase.lower() or "no reason"
        said = f"responded {status} ({reason}) to {self.url.path:.200}"
        if status == 403:
            said += ": it blocks this client"
            if not self._contact:
                said += "; set contact= to your address"
        if wait is not None:
            said += f"; Retry-After {wait:.0f} s"
        passes = status in (408, 429) or status >= 500
        self._fail(said, transient=passes, retry_after=wait)

    def _fail(
        self,
        message: str,
        *,
        cause: BaseException | None = None,
        transient: bool = True,
        retry_after: float | None = None,
    ) -> NoReturn:
        raise EnvironmentFault(f"{self._host} {message}", transient=transient, retry_after=retry_after) from cause

    def unexpected(self, error: Exception) -> NoReturn:
        """Raise the fault for JSON that the `wikipedia` package could not read."""
        self._fail(f"sent unexpected JSON: {type(error).__name__}: {error}", cause=error)

    def find(self, entity: str) -> Page | Missing:
        try:
            return self._found(entity)
        except EnvironmentFault:
            raise
        # The package assumes the response's structure; an exception means that it differs.
        except Exception as error:
            self.unexpected(error)

    def _found(self, entity: str) -> Page | Missing:
        if _may_be_a_title(entity):
            try:
                page = self.client.page(entity, auto_suggest=False)
                return Page.from_text(_text(page.title), _text(page.content)[:PAGE_CHARS])
            except self._errors.DisambiguationError as error:
                return _meanings(entity, error.options)
            except self._errors.PageError:
                pass
        titles = self.client.search(entity[:_LONGEST_QUERY], results=SHOWN)
        return Missing(tuple(_text(title) for title in titles[:SHOWN]))

    def close(self) -> None:
        """Close the connections; the next request opens new ones."""
        with self._lock:
            if self._http is not None:
                self._http.close()
            self._http = None

    def _request(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return the API's response to a request of the package, in place of its own HTTP function.

        The package misreads some responses for a page. They are corrected here.

        Raises:
            EnvironmentFault: the server gave no response.
            PageError: the title cannot be that of a page of this wiki; the package's own error.
        """
        answer = self._query(params)
        asks_for_page = "redirects" in params
        if not asks_for_page:
            return answer
        query = answer.get("query", {})
        pages = query.get("pages", {}).values()
        title_of_other_wiki = "interwiki" in query
        never_a_page = any("invalid" in page or "special" in page for page in pages)
        if title_of_other_wiki or never_a_page:
            raise self._errors.PageError(params["titles"])
        if "redirects" not in query:
            return answer
        # The response has the target already. If it named the redirect, the package would request the target again.
        followed = query.pop("redirects")
        query.pop("normalized", None)
        # For the meanings of a disambiguation page it has to, and expects a redirect from the requested title.
        is_disambiguation = any("pageprops" in page for page in pages)
        if is_disambiguation:
            query["redirects"] = [{"from": params["titles"], "to": followed[-1]["to"]}]
        return answer


def _checked_url(url: str) -> httpx.URL:
    try:
        address = httpx.URL(url)
    except (httpx.InvalidURL, TypeError):
        address = httpx.URL("")
    # httpx quotes what no host may contain.
    if address.scheme not in ("http", "https") or not address.host or b"%" in address.netloc:
        raise ConfigurationError(f"api is {url!r}: give a URL such as {WIKIPEDIA}")
    return address


def _fits_into_a_header(contact: str) -> bool:
    return bool(contact.strip()) and contact.isascii() and contact.isprintable()


def _may_be_a_title(entity: str) -> bool:
    # No title is longer, and servers refuse longer URLs.
    if len(entity.encode("utf-8", "replace")) > _LONGEST_TITLE:
        return False
    return not _NO_TITLE.search(entity)


def _meanings(entity: str, options: list[str]) -> Missing:
    """Return the titles on a disambiguation page, without that of the page itself."""
    same = ("", normalize_title(entity))
    others = [option for option in options if normalize_title(option) not in same]
    distinct = list(dict.fromkeys(others))
    return Missing(tuple(distinct[:SHOWN]))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.60} is not text")
    return value


def _private_copy() -> ModuleType:
    try:
        spec = importlib.util.find_spec("wikipedia.wikipedia")
    except ModuleNotFoundError as error:
        raise EnvironmentUnavailable("live pages need the package wikipedia: pip install wikipedia") from error
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
