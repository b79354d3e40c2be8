"""A wiki on loopback: as much of MediaWiki's API as the package `wikipedia` asks for, and every trouble it can make.

with MediaWikiServer({"Elm": "The elm is a tree."}, redirects={"Elms": "Elm"}) as server:
    environment = HotPotQA(pages="wikipedia", api=server.api)
    server.faults = iter(["429"])
    ...
"""

import json
import re
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit

from langgraph_reflexion.testing.loopback import ENDINGS, HTML, Answer, Call, Listener

MEDIAWIKI_FAULTS = {
    "403": "any number: this status, with a text that is no JSON; 429 and 503 with the header Retry-After",
    "hang": "nothing is said at all",
    "drip": "the answer comes in small pieces, and never ends",
    "cut": "the connection ends in the middle of the answer",
    "garbage": "the answer is no JSON",
    "odd": "the answer is JSON, but holds nothing that was asked for",
    "error": "the API says that a query failed",
    "busy": "the API says that search is too busy",
}
"""What can go wrong with a request."""

_ERRORS = {
    "error": {"code": "internal_api_error_DBQueryError", "info": "A database query failed."},
    "busy": {"code": "cirrussearch-too-busy-error", "info": "Search is currently too busy."},
}
_ILLEGAL = re.compile(r"[\[\]{}|<>#]")


class MediaWikiServer:
    """A small wiki, served over HTTP while the context lasts.

    Args:
        pages: Title to text, in which paragraphs end with a line break and headings are `== so ==`.
        redirects: Title to title.
        disambiguations: Title to the titles that it may mean.
        faults: What goes wrong with the requests that come, in order, as in `MEDIAWIKI_FAULTS`; None for nothing.
        retry_after: What the header says.

    Attributes:
        api: The address of the API.
        requests: The parameters of the requests so far, and their `User-Agent`.
        faults: What goes wrong with the next requests; may be set at any time.
    """

    def __init__(
        self,
        pages: Mapping[str, str],
        *,
        redirects: Mapping[str, str] | None = None,
        disambiguations: Mapping[str, Sequence[str]] | None = None,
        faults: Iterable[str | None] = (),
        retry_after: str = "30",
    ) -> None:
        self.pages = dict(pages)
        self.redirects = dict(redirects or {})
        self.disambiguations = {title: list(options) for title, options in (disambiguations or {}).items()}
        self.faults: Iterator[str | None] = iter(faults)
        self.retry_after = retry_after
        self.requests: list[dict[str, str]] = []
        self.api = ""
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        self._listener = Listener(0, self._reply)
        self.api = f"{self._listener.url}/w/api.php"
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()

    def answer(self, asked: Mapping[str, str]) -> dict[str, Any]:
        """What the API says to a query that goes well."""
        if asked.get("list") == "search":
            return {"batchcomplete": "", "query": {"search": self._search(asked)}}
        return {"batchcomplete": "", "query": self._query(asked)}

    def _search(self, asked: Mapping[str, str]) -> list[dict[str, Any]]:
        words = set(re.findall(r"\w+", asked["srsearch"].lower()))

        def rank(title: str) -> tuple[int, int]:
            text = self.pages.get(title, "")
            return tuple(-len(words & set(re.findall(r"\w+", told.lower()))) for told in (title, text))  # type: ignore[return-value]

        found = sorted((t for t in [*self.pages, *self.disambiguations] if any(rank(t))), key=rank)
        return [{"ns": 0, "title": title, "pageid": self._id(title)} for title in found[: int(asked["srlimit"])]]

    def _query(self, asked: Mapping[str, str]) -> dict[str, Any]:
        query: dict[str, Any] = {}
        if "pageids" in asked:
            title = next(
                (t for t in [*self.pages, *self.disambiguations] if str(self._id(t)) == asked["pageids"]), ""
            )
        else:
            title = self._normalized(asked["titles"], query)
        if re.match(r"[a-z]{2}:", title):
            return {"interwiki": [{"title": title, "iw": title[:2]}]}
        if "redirects" in asked and title in self.redirects:
            query["redirects"] = []
            # As often as there are redirects, since they may go round in a circle.
            for _ in range(len(self.redirects)):
                if title not in self.redirects:
                    break
                query["redirects"].append({"from": title, "to": self.redirects[title]})
                title = self.redirects[title]
        query["pages"] = self._page(title, asked)
        return query

    def _normalized(self, title: str, query: dict[str, Any]) -> str:
        proper = " ".join(title.replace("_", " ").split())
        proper = proper if re.match(r"[a-z]{2}:", proper) else proper[:1].upper() + proper[1:]
        if proper != title:
            query["normalized"] = [{"from": title, "to": proper}]
        return proper

    def _page(self, title: str, asked: Mapping[str, str]) -> dict[str, Any]:
        if not title or _ILLEGAL.search(title):
            return {"-1": {"title": title, "invalidreason": "It holds an illegal character.", "invalid": ""}}
        if title.startswith("Special:"):
            return {"-1": {"ns": -1, "title": title, "special": "", "fullurl": f"{self.api}?title={title}"}}
        if title not in self.pages and title not in self.disambiguations:
            return {"-1": {"ns": 0, "title": title, "missing": ""}}
        page: dict[str, Any] = {"pageid": self._id(title), "ns": 0, "title": title}
        props = asked.get("prop", "").split("|")
        if "info" in props:
            page["fullurl"] = f"{self.api}?title={title}"
        if "pageprops" in props and title in self.disambiguations:
            page["pageprops"] = {"disambiguation": ""}
        if "extracts" in props:
            text = self.pages.get(title, "")
            page["extract"] = text.partition("\n\n\n==")[0] if "exintro" in asked else text
        if "revisions" in props:
            items = "".join(f"<li><a href='#'>{option}</a></li>" for option in self.disambiguations.get(title, []))
            page["revisions"] = [{"revid": 2, "parentid": 1, "*": f"<ul>{items}</ul>"}]
        return {str(page["pageid"]): page}

    def _id(self, title: str) -> int:
        return [*self.pages, *self.disambiguations].index(title) + 1

    def _reply(self, call: Call) -> Answer:
        asked = dict(parse_qsl(urlsplit(call.path).query, keep_blank_values=True))
        with self._lock:
            self.requests.append(asked | {"User-Agent": call.headers.get("user-agent", "")})
            fault = next(self.faults, None)
        if fault is None:
            return _json(self.answer(asked))
        if fault in ENDINGS:
            return Answer(b'{"batchcomplete": ""}', ending=ENDINGS[fault])
        if fault in _ERRORS:
            return _json({"error": _ERRORS[fault]})
        if fault == "garbage":
            return Answer(b"<!DOCTYPE html><p>This is no JSON.", kind=HTML)
        if fault == "odd":
            return _json({"batchcomplete": ""})
        headers = {"Retry-After": self.retry_after} if fault in ("429", "503") else {}
        return Answer(b"Please respect the policy.", int(fault), headers, kind=HTML)


def _json(data: dict[str, Any]) -> Answer:
    return Answer(json.dumps(data).encode())
