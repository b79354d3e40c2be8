"""A wiki on loopback: the part of MediaWiki's API that the environment uses, and its faults."""

import gzip
import json
import re
from urllib.parse import parse_qsl, urlsplit

from tests.support.loopback import ENDINGS, HTML, Answer, FaultyServer

MEDIAWIKI_FAULTS = {
    "403": "any status, with a text that is not JSON; 429 and 503 with the header Retry-After",
    "hang": "no answer",
    "drip": "the answer comes in small pieces, and never ends",
    "cut": "the connection ends in the middle of the answer",
    "garbage": "the answer is not JSON",
    "huge": "the answer is compressed, and of 24 million blanks",
    "odd": "the answer is JSON without results",
    "error": "an API error: the query failed",
    "busy": "an API error: search is too busy",
}
"""The faults of `MediaWikiServer`."""

_ERRORS = {
    "error": {"code": "internal_api_error_DBQueryError", "info": "A database query failed."},
    "busy": {"code": "cirrussearch-too-busy-error", "info": "Search is currently too busy."},
}
_ILLEGAL = re.compile(r"[\[\]{}|<>#]")


class MediaWikiServer(FaultyServer[dict[str, str]]):
    """A small wiki of pages by title, in which paragraphs end with a line break and headings are `== so ==`.

    `faults` are those of the next requests in order; `requests` are the parameters so far, and the `User-Agent`.
    """

    def __init__(self, pages, *, redirects=None, disambiguations=None, faults=(), retry_after="30"):
        super().__init__(faults)
        self.pages = dict(pages)
        self.redirects = dict(redirects or {})
        self.disambiguations = {title: list(options) for title, options in (disambiguations or {}).items()}
        self.retry_after = retry_after

    @property
    def api(self):
        """The address of the API."""
        return f"{self.url}/w/api.php"

    def answer(self, asked):
        """Return the API's answer to a query."""
        if asked.get("list") == "search":
            return {"batchcomplete": "", "query": {"search": self._search(asked)}}
        return {"batchcomplete": "", "query": self._query(asked)}

    def _search(self, asked):
        words = set(re.findall(r"\w+", asked["srsearch"].lower()))

        def rank(title):
            text = self.pages.get(title, "")
            return tuple(-len(words & set(re.findall(r"\w+", each.lower()))) for each in (title, text))

        found = sorted((t for t in [*self.pages, *self.disambiguations] if any(rank(t))), key=rank)
        return [{"ns": 0, "title": title, "pageid": self._id(title)} for title in found[: int(asked["srlimit"])]]

    def _query(self, asked):
        query = {}
        if "pageids" in asked:
            every = [*self.pages, *self.disambiguations]
            title = next((each for each in every if str(self._id(each)) == asked["pageids"]), "")
        else:
            title = self._normalized(asked["titles"], query)
        if re.match(r"[a-z]{2}:", title):
            return {"interwiki": [{"title": title, "iw": title[:2]}]}
        if "redirects" in asked and title in self.redirects:
            steps = []
            # At most once for each redirect, since they may form a circle.
            while title in self.redirects and len(steps) < len(self.redirects):
                steps.append({"from": title, "to": self.redirects[title]})
                title = self.redirects[title]
            query["redirects"] = steps
        return query | {"pages": self._page(title, asked)}

    def _normalized(self, title, query):
        proper = " ".join(title.replace("_", " ").split())
        proper = proper if re.match(r"[a-z]{2}:", proper) else proper[:1].upper() + proper[1:]
        if proper != title:
            query["normalized"] = [{"from": title, "to": proper}]
        return proper

    def _page(self, title, asked):
        if not title or _ILLEGAL.search(title):
            return {"-1": {"title": title, "invalidreason": "It holds an illegal character.", "invalid": ""}}
        if title.startswith("Special:"):
            return {"-1": {"ns": -1, "title": title, "special": "", "fullurl": f"{self.api}?title={title}"}}
        if title not in self.pages and title not in self.disambiguations:
            return {"-1": {"ns": 0, "title": title, "missing": ""}}
        page = {"pageid": self._id(title), "ns": 0, "title": title}
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

    def _id(self, title):
        return [*self.pages, *self.disambiguations].index(title) + 1

    def _answer(self, call):
        asked = dict(parse_qsl(urlsplit(call.path).query, keep_blank_values=True))
        fault = self._record(asked | {"User-Agent": call.headers.get("user-agent", "")})
        if fault is None:
            return _json(self.answer(asked))
        if fault in ENDINGS:
            return Answer(b'{"batchcomplete": ""}', ending=ENDINGS[fault])
        if fault in _ERRORS:
            return _json({"error": _ERRORS[fault]})
        if fault == "garbage":
            return Answer(b"<!DOCTYPE html><p>This is not JSON.", kind=HTML)
        if fault == "huge":
            return Answer(gzip.compress(b" " * 24_000_000, 1), headers={"Content-Encoding": "gzip"})
        if fault == "odd":
            return _json({"batchcomplete": ""})
        headers = {"Retry-After": self.retry_after} if fault in ("429", "503") else {}
        return Answer(b"Please respect the policy.", int(fault), headers, kind=HTML)


def _json(data):
    return Answer(json.dumps(data).encode())
