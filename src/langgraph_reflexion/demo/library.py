"""What the demo model makes of a transcript of searches and lookups, and of paragraphs that it is given."""

import json
import re
from dataclasses import dataclass, field

from langgraph_reflexion.demo.reading import Page, Target, content_words
from langgraph_reflexion.demo.transcript import Prompt, Turn

_CALL = re.compile(
    r"(?P<name>search|lookup|finish)(?:\[(?P<text>.*)\]|\(\w+=\"(?P<quoted>.*)\"\)|\s(?P<plain>.*))", re.DOTALL
)
_MISSED = re.compile(r"Could not find .*? Similar: \[(?P<titles>.*)\]\.", re.DOTALL)
_TITLE = re.compile(r"'((?:[^'\\]|\\.|'(?!, |$))*)'|\"([^\"]*)\"")
_RESULT = re.compile(r"\(Result (?P<at>\d+) / (?P<of>\d+)\) (?P<text>.*)", re.DOTALL)


@dataclass
class Library:
    """The pages that were read so far.

    Attributes:
        pages: By what they were searched for, or by the title over a paragraph.
        missed: Searches that found nothing, with the titles that were named instead.
        open: What the open page was searched for.
        answer: What was handed in; empty while nothing was.
        searches: Every search, in order.
    """

    pages: dict[str, Page] = field(default_factory=dict)
    missed: dict[str, list[str]] = field(default_factory=dict)
    open: str = ""
    answer: str = ""
    searches: list[str] = field(default_factory=list)


def read_library(prompt: Prompt) -> Library:
    """Read the paragraphs before the question, and the steps after it."""
    library = Library()
    given, _, _ = prompt.opening.rpartition("Question: ")
    for paragraph in given.split("\n\n"):
        title, colon, text = paragraph.partition(": ")
        if colon:
            library.pages[title] = Page(title)
            library.pages[title].add(text)
    for turn in prompt.turns:
        _read_turn(library, turn)
    return library


def _read_turn(library: Library, turn: Turn) -> None:
    call = _CALL.fullmatch(turn.action.strip())
    if not call:
        return
    name, said = call["name"], (call["text"] or _unquoted(call["quoted"]) or call["plain"] or "").strip()
    if name == "finish":
        library.answer = said
    elif name == "search":
        library.searches.append(said)
        if missed := _MISSED.match(turn.observation):
            library.missed[said] = [one or other for one, other in _TITLE.findall(missed["titles"])]
        elif not turn.observation.startswith("Invalid action"):
            library.open = said
            library.pages.setdefault(said, Page(said)).add(turn.observation)
    elif page := library.pages.get(library.open):
        result = _RESULT.match(turn.observation)
        if result:
            page.add(result["text"])
        if result is None or result["at"] == result["of"]:
            page.searched_for.add(said)


def _unquoted(text: str | None) -> str:
    """What stands between the quotes of a tool call that is written down."""
    try:
        return str(json.loads(f'"{text or ""}"'))
    except ValueError:
        return ""


def page_of(library: Library, target: Target) -> Page | None:
    """The page of a target among those that were read; the closest one by its title."""
    found = closest([*library.pages], target)
    return library.pages[found] if found else None


def closest(titles: list[str], target: Target) -> str | None:
    """The title that means a target: of namesakes the one whose brackets say so."""
    rated = [(_likeness(title, target), -index, title) for index, title in enumerate(titles)]
    best = max(rated, default=(0, 0, ""))
    return best[2] if best[0] > 0 else None


def namesake(titles: list[str], target: Target) -> str | None:
    """The first title that bears the name, whatever stands in its brackets."""
    return next((title for title in titles if _likeness(title, Target(target.name)) > 0), None)


def _likeness(title: str, target: Target) -> int:
    base, _, brackets = title.partition(" (")
    if base != target.name and not set(target.name.split()) <= set(base.split()):
        return 0
    told = {target.role, target.where, *content_words(target.role)} - {""}
    fits = bool(brackets) and any(word in brackets for word in told)
    # Another one of that name is none; without brackets there is but one.
    wrong = bool(brackets) and bool(told) and not fits
    return 0 if wrong else 1 + (base == target.name) + 2 * fits
