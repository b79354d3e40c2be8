"""Live pages through the `wikipedia` package, with a transport of our own below it.

The package (1.4.0, of 2014) reads MediaWiki's answers well, but its one HTTP function has no timeout, looks at
no status and is called by a name that Wikimedia blocks; address, language and caches are globals of its module.
So every `MediaWiki` loads a private copy of that module and puts its own transport in the place of that function:
two of them share nothing, and other users of the package in this process see no change.
"""

import importlib
import importlib.util
import re
from functools import partial
from types import ModuleType, SimpleNamespace
from typing import Any

from langgraph_reflexion.envs.hotpotqa.pages import SHOWN, Missing, Page, fold
from langgraph_reflexion.envs.hotpotqa.transport import Transport
from langgraph_reflexion.errors import ConfigurationError, EnvironmentFault, EnvironmentUnavailable

_LONGEST_TITLE = 255
"""How many bytes a title may have."""
_LONGEST_QUERY = 300
_NO_TITLE = re.compile(r"[\[\]{}|<>#\x00-\x1f\x7f]")


class MediaWiki:
    """A wiki's pages, live.

    Args:
        transport: The way there.
        page_chars: How much of a page is read; what comes after it is neither shown nor found by a lookup.
    """

    replays = False

    def __init__(self, transport: Transport, page_chars: int = 20_000) -> None:
        if not isinstance(page_chars, int) or page_chars < 1:
            raise ConfigurationError(
                f"page_chars is {page_chars!r}, but it is how many characters are read: 1 or more"
            )
        self.transport = transport
        self.page_chars = page_chars
        package = _private_copy()
        package._wiki_request = self._request  # type: ignore[attr-defined]
        # The package leaves the parser to chance, and a warning on every page that lists meanings.
        package.BeautifulSoup = partial(package.BeautifulSoup, features="html.parser")  # type: ignore[attr-defined]
        self._errors = importlib.import_module("wikipedia.exceptions")
        self.client = SimpleNamespace(search=package.search.fn, page=package.page, exceptions=self._errors)
        """The package's `search` and `page` without its caches, as others use them."""

    def find(self, entity: str) -> Page | Missing:
        """The page of that title, or the titles that come near; see `Pages.find`."""
        try:
            # No title is longer, and servers refuse longer addresses.
            if not _NO_TITLE.search(entity) and len(entity.encode("utf-8", "replace")) <= _LONGEST_TITLE:
                try:
                    page = self.client.page(entity, auto_suggest=False)
                    return Page.from_text(_text(page.title), _text(page.content)[: self.page_chars])
                except self._errors.DisambiguationError as error:
                    meant = dict.fromkeys(
                        option for option in error.options if fold(option) not in ("", fold(entity))
                    )
                    return Missing(tuple(meant)[:SHOWN])
                except self._errors.PageError:
                    pass
            titles = self.client.search(entity[:_LONGEST_QUERY], results=SHOWN)
            return Missing(tuple(_text(title) for title in titles[:SHOWN]))
        except EnvironmentFault:
            raise
        # The package reads what it expects out of an answer; any error of its own says that it was not there.
        except Exception as error:
            self.transport.garbage(error)

    def close(self) -> None:
        """Close the connections."""
        self.transport.close()

    def _request(self, params: dict[str, Any]) -> dict[str, Any]:
        """What the package's HTTP function does, by way of the transport."""
        answer = self.transport.get({"action": "query", **params, "format": "json"})
        if "redirects" not in params:
            return answer
        query = answer.get("query", {})
        pages = query.get("pages", {})
        # Titles of other wikis, those that no page can have, and pages made by programs.
        if "interwiki" in query or any({"invalid", "special"} & set(page) for page in pages.values()):
            raise self._errors.PageError(params["titles"])
        if "redirects" in query:
            followed = query.pop("redirects")
            query.pop("normalized", None)
            # The answer has the target already, which the package would ask for again, and only knows how to from
            # just the title that it asked for. It has to where a list of meanings is still to be asked for.
            if any("pageprops" in page for page in pages.values()):
                query["redirects"] = [{"from": params["titles"], "to": followed[-1]["to"]}]
        return answer


def api_address(language: str) -> str:
    """The address of the API of Wikipedia in a language.

    Raises:
        ConfigurationError: that cannot be a language's code.
    """
    if not re.fullmatch(r"[a-z]+(-[a-z]+)*", language):
        raise ConfigurationError(f"language is {language!r}: give the code of a Wikipedia, such as en or simple")
    return f"https://{language}.wikipedia.org/w/api.php"


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.60} is no text")
    return value


def _private_copy() -> ModuleType:
    try:
        spec = importlib.util.find_spec("wikipedia.wikipedia")
    except ModuleNotFoundError:
        spec = None
    if spec is None or spec.loader is None:
        raise EnvironmentUnavailable("live pages need the package wikipedia: pip install wikipedia")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
