"""Claims, as the demo model verifies them on FEVER: it reads pages as for a question, and compares what they say.

Trials fail by the slips of `demo.hotpotqa.act`: it judges by the page on the way, by the wrong sentence or by the
page of a namesake, or it repeats a search that found nothing.
"""

import re
from dataclasses import dataclass, replace
from typing import ClassVar

from langgraph_reflexion.lab.demo.hotpotqa.act import Choice, Reader, give_up
from langgraph_reflexion.lab.demo.hotpotqa.task import Asked, read_path
from langgraph_reflexion.lab.demo.hotpotqa.world import (
    Page,
    Target,
    Wanted,
    advised_word,
    content_words,
    names_in,
    stem,
    stems_of,
)

_STATED = "stated"


@dataclass(frozen=True)
class Verifier(Reader):
    """Chooses the next action on a claim."""

    rate: ClassVar = {
        "halfway": 0.5,
        "hasty": 0.9,
        "namesake": 0.9,
        "again": 0.3,
    }
    """Share of claims with each slip: two of three labels are often right by chance."""

    guesses: bool = False

    def next(self) -> Choice:
        choice = self._follow()
        if choice.name != "finish":
            return choice
        return choice._replace(text=self._label(choice), known=True)

    def _label(self, choice: Choice) -> str:
        """Return the label of a claim, compared with what was found."""
        if not choice.known:
            return "NOT ENOUGH INFO"
        if choice.text == (self.asked.value or _STATED):
            return "SUPPORTS"
        return "REFUTES"

    def _find(self, target: Target, wanted: Wanted, *, careful: bool = False) -> Target | Choice:
        if self.asked.value:
            return super()._find(target, wanted, careful=careful)
        page = self._page(target)
        if isinstance(page, Choice):
            return page
        if _states(page, wanted):
            return Target(_STATED)
        hint = advised_word(self.advice, page)
        if not self.tools:
            return give_up(target)
        if self.slips("hasty") and not hint:
            return give_up(target)
        if self.library.open != page.title:
            return Choice(f"I go back to {page.title}.", "search", page.title)
        for term in (hint, wanted.words[-1]):
            if term and term not in page.searched_for:
                return Choice(f"{page.title} may say so further down.", "lookup", term)
        return give_up(target)


def _states(page: Page, wanted: Wanted) -> bool:
    """Return whether a sentence of a page has all the wanted words."""
    words = {stem(word) for word in wanted.words}
    return any(words <= stems_of(sentence) for sentence in page.sentences)


def read_claim(claim: str) -> Asked:
    """Return what to read about in order to verify a claim, and the value that it says last, if any."""
    text = re.sub(r"^The (?=[a-z])", "the ", claim.strip()).rstrip(".")
    targets = [target for _, target in names_in(text)]
    # A place that only tells a thing from its namesakes is not what the claim is about.
    places = {target.where for target in targets}
    named = [target for target in targets if target.name not in places]
    if not named:
        words = tuple(content_words(text))
        return Asked(text, (), (Wanted("", words),), value="")
    first = named[0]
    last = named[-1]
    number = re.search(r"\b(?P<value>\d+)\b(?: (?P<unit>\w+))?", text)
    if number:
        # A number without a unit is a year.
        unit = number["unit"] or "year"
        return _up_to(text, number.start(), first, unit, number["value"])
    if len(named) > 1:
        begin = text.rindex(last.name)
        return _up_to(text, begin, first, last.role, last.name)
    asked = read_path(text, first, asks=False)
    return replace(asked, value="")


def _up_to(text: str, end: int, target: Target, kind: str, value: str) -> Asked:
    """Return what to read about, with the kind of the value, which begins at `end`."""
    asked = read_path(text[:end], target, asks=False)
    *bridges, last = asked.hops
    number = value.isdigit()
    words: tuple[str, ...] = ()
    if number or not kind:
        words = last.words
    wanted = Wanted(kind or "person", words, number)
    hops = (*bridges, wanted)
    return replace(asked, text=text, hops=hops, value=value)
