"""The memory map of HotPotQA: pages that were read, lookups on them, and titles without a page.

All of it still holds in the next trial, but for the open page.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from langgraph_reflexion.envs.base import MemoryMap, ObservedStep
from langgraph_reflexion.envs.hotpotqa.episode import NO_MORE
from langgraph_reflexion.envs.hotpotqa.pages import split_sentences

GIST = 120
"""Characters of a page's first sentence, and of a sentence that was looked up."""

LISTED = 300
"""Characters of the similar titles."""
KEPT = 40
"""The number of pages, and of titles without a page, that are kept: the latest."""

_MISSED = re.compile(r"Could not find .*? Similar: \[(?P<titles>.*)\]\.", re.DOTALL)
_RESULT = re.compile(r"\(Result (?P<at>\d+) / (?P<of>\d+)\) (?P<text>.*)", re.DOTALL)
_REFUSED = ("Invalid action", "No page is open", "The episode is over")


def make_map(steps: Sequence[ObservedStep], known: Mapping[str, Any]) -> MemoryMap:
    """Return the map of a trial; see `Environment.memory_map`."""
    pages = {title: dict(page) for title, page in known.get("pages", {}).items()}
    missed = dict(known.get("missed", {}))
    open_page = ""
    for step in steps:
        action, seen = step["action"], step["observation"]
        if action is None or seen.startswith(_REFUSED):
            continue
        said = " ".join(str(next(iter(action["args"].values()), "")).split())
        if action["name"] == "search" and (found := _MISSED.match(seen)):
            missed[said] = " ".join(found["titles"].split())[:LISTED]
        elif action["name"] == "search":
            open_page = said
            # A page that is read again is among the latest.
            pages[said] = {"gist": _gist(seen), "found": {}} | pages.pop(said, {})
        elif action["name"] == "lookup" and open_page:
            page = pages[open_page]
            page["found"] = page["found"] | {said: _found(seen, page["found"].get(said))}
    pages, missed = (dict([*each.items()][-KEPT:]) for each in (pages, missed))
    return MemoryMap(tuple(_lines(pages, missed, open_page)), {"pages": pages, "missed": missed})


def _found(seen: str, before: str | None) -> str:
    if seen == NO_MORE:
        return before or "not on the page"
    result = _RESULT.match(seen)
    return f"{result['at']} of {result['of']}: {_short(result['text'])}" if result else _short(seen)


def _lines(pages: dict[str, Any], missed: dict[str, str], open_page: str) -> Iterable[str]:
    if open_page:
        yield f"Open now: {open_page}."
    for title, page in reversed(pages.items()):
        looked_up = [f'"{words}" ({what})' for words, what in page["found"].items()]
        more = f" Looked up: {'; '.join(looked_up)}." if looked_up else ""
        yield f"Page {title}: {page['gist']}{more}"
    for title, similar in reversed(missed.items()):
        yield f"There is no page {title}{f'; there are {similar}' if similar else ''}."


def _gist(seen: str) -> str:
    return _short(next(iter(split_sentences(seen)), seen))


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= GIST else f"{text[:GIST].rsplit(' ', 1)[0]} ..."
