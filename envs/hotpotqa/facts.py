"""What is certain about a failed trial on a wiki: the pages that it has named and not read, or not found."""

import ast
import re
from collections.abc import Sequence

from langgraph_reflexion.envs.base import ObservedStep
from langgraph_reflexion.envs.hotpotqa.pages import before_brackets, normalize_title
from langgraph_reflexion.support.text import listed

LONGEST_LIST = 10_000
"""Characters of a list of titles that is read."""

_NOT_FOUND = re.compile(r"Could not find (?P<title>.*?)\. Similar: (?P<similar>\[.*\])\.", re.DOTALL)


def missed_in(steps: Sequence[ObservedStep]) -> list[str]:
    """Return which pages a search has named that were not read, and which titles were not found."""
    read: set[str] = set()
    named: list[str] = []
    missing: list[str] = []
    for step in steps:
        action = step["action"]
        if action is None or action["name"] != "search":
            continue
        found = _NOT_FOUND.fullmatch(step["observation"])
        if found is None:
            read.add(normalize_title(str(action["args"].get("entity"))))
            continue
        missing.append(found["title"])
        named += _titles(found["similar"])
    unread: list[str] = []
    for title in named:
        # A search without the brackets of a title may have opened its page.
        searches = {normalize_title(title), normalize_title(before_brackets(title))}
        if read.isdisjoint(searches) and title not in unread:
            unread.append(title)
    facts: list[str] = []
    if unread:
        facts.append(f"Named by a search, and never read: {listed(unread)}.")
    if missing:
        titles = list(dict.fromkeys(missing))
        facts.append(f"There is no page with the title: {listed(titles)}.")
    return facts


def _titles(text: str) -> list[str]:
    """Return the titles in a list as an observation shows it; none if it cannot be read, as after an edit."""
    if len(text) > LONGEST_LIST:
        return []
    try:
        read = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return []
    return [title for title in read if isinstance(title, str)]
