"""The demo model's next action on a question: the page to open, the word to look up, or the answer.

A careful reader makes no mistake. Trials fail by slips:

* `halfway`: it answers with the name on the first page, and never opens the second.
* `hasty`: where the shown sentences do not have the answer, it takes something else on the page.
* `namesake`: of several similar titles it opens the first.
* `again`: it repeats a search that found nothing.
* `one side`: of two things to compare it reads about one.
* `sentence`: it puts the right answer into a sentence.

A question's slips are the same in every trial, but for a little luck. A reflection that names the thing and says what
to do instead prevents the slip.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from langgraph_reflexion.lab.demo.hotpotqa.task import Asked
from langgraph_reflexion.lab.demo.hotpotqa.world import (
    Library,
    Page,
    Target,
    Wanted,
    advised_title,
    advised_word,
    closest,
    find,
    first_mentioned,
    page_of,
)
from langgraph_reflexion.lab.demo.prompt import Advice


class Choice(NamedTuple):
    """The next action, `search`, `lookup` or `finish`, and the thought behind it."""

    thought: str
    name: str
    text: str
    known: bool = True
    """Whether it is based on something read."""


@dataclass(frozen=True)
class Reader:
    """Chooses the next action by what was read so far, with the slips that the advice does not prevent."""

    rate: ClassVar = {"halfway": 0.25, "hasty": 0.6, "namesake": 0.6, "again": 0.2, "one side": 0.5, "sentence": 0.12}
    """Share of questions with each slip."""

    asked: Asked
    library: Library
    slips: Callable[[str], bool]
    advice: Advice
    tools: bool = True
    guesses: bool = True
    """Whether it answers what a page does not say."""

    def next(self) -> Choice:
        act = self._compare() if self.asked.choice else self._follow()
        if act.name != "finish" or not self.slips("sentence"):
            return act
        if self.advice.on(act.text).says("nothing else"):
            return act
        return Choice(act.thought, "finish", in_a_sentence(act.text))

    def _follow(self) -> Choice:
        """Read one page after the other: what each says leads to the next."""
        target = Target(self.asked.text)
        if self.asked.targets:
            target = self.asked.targets[0]
        *bridges, last = self.asked.hops
        for wanted in bridges:
            found = self._find(target, wanted, careful=True)
            if isinstance(found, Choice):
                return found
            if self.slips("halfway") and not self.advice.on(found.name).says("on the way"):
                return Choice(f"{target.name} leads to {found.name}, which must be it.", "finish", found.name)
            target = found
        found = self._find(target, last)
        if isinstance(found, Choice):
            return found
        return Choice(f"By the page of {target.name} it is {found.name}.", "finish", found.name)

    def _compare(self) -> Choice:
        """Read the pages of both things, and compare what they say."""
        one, other = self.asked.targets
        facts: list[Target] = []
        for target in (one, other):
            if facts and self.slips("one side") and not self.advice.on(other.name).says("both"):
                guess = "yes" if self.asked.closed else one.name
                return Choice(f"For {one.name} it is {facts[0].name}. That settles it.", "finish", guess)
            found = self._find(target, self.asked.hops[0], careful=self.asked.closed)
            if isinstance(found, Choice):
                return found
            facts.append(found)
        because = f"For {one.name} it is {facts[0].name}, for {other.name} {facts[1].name}."
        return Choice(because, "finish", compared(self.asked, facts))

    def _page(self, target: Target) -> Page | Choice:
        """Return the page of a thing, or the next action to find it."""
        if not self.tools:
            return page_of(self.library, target) or give_up(target)
        wanted = advised_title(self.advice, target) or target.name
        tried: set[str] = set()
        while wanted not in self.library.pages:
            titles = self.library.missed.get(wanted)
            if titles is None:
                return Choice(f"I need the page of {target.known_as}.", "search", wanted)
            if wanted == target.name and self.slips("again"):
                return Choice(f"The page of {target.name} must be there. I try again.", "search", wanted)
            tried.add(wanted)
            # The first title with the name, whatever its brackets say, or the one that fits.
            meant = Target(target.name) if self.slips("namesake") else target
            untried = [title for title in titles if title not in tried]
            chosen = closest(untried, meant)
            if chosen is None:
                return give_up(target)
            wanted = chosen
        return self.library.pages[wanted]

    def _find(self, target: Target, wanted: Wanted, *, careful: bool = False) -> Target | Choice:
        page = self._page(target)
        if isinstance(page, Choice):
            return page
        hint = advised_word(self.advice, page)
        hasty = not careful and self.slips("hasty") and not hint
        if hasty and not self.tools and (taken := first_mentioned(page, wanted)):
            return taken
        if found := find(page, wanted):
            return found
        if hasty and (taken := first_mentioned(page, wanted)):
            return taken
        if not self.tools:
            return give_up(Target(page.title))
        if self.library.open != page.title:
            return Choice(f"I go back to {page.title}.", "search", page.title)
        terms = [term for term in (hint, *wanted.terms) if term and term not in page.searched_for]
        if not terms:
            taken = first_mentioned(page, wanted) if self.guesses else None
            return taken or give_up(Target(page.title))
        return Choice(f"What I see of {page.title} does not say it. I look further down.", "lookup", terms[0])


def compared(asked: Asked, facts: list[Target]) -> str:
    """Return the result of a comparison."""
    one, other = facts
    if asked.choice == "same":
        return "yes" if one == other else "no"
    first, second = asked.targets
    difference = _number(one.name) - _number(other.name)
    if asked.choice == "lowest":
        difference = -difference
    if difference >= 0:
        return first.name
    return second.name


def in_a_sentence(answer: str) -> str:
    """Return an answer in a sentence, which is wrong."""
    if answer in ("yes", "no"):
        return f"{answer.capitalize()}, as far as I can see"
    return f"It is {answer}"


def carefully(asked: Asked, library: Library, reader: type[Reader] = Reader) -> Choice:
    """Return what a careful reader would answer without reading on."""
    return reader(asked, library, lambda slip: False, Advice(()), tools=False).next()


def _number(text: str) -> float:
    """Return the number that a text is; 0 if it is none."""
    digits = text.replace(",", "").rstrip(".")
    if not digits.replace(".", "", 1).isdigit():
        return 0.0
    return float(digits)


def give_up(target: Target) -> Choice:
    """Finish without having found what was asked for."""
    return Choice(f"I cannot find out more about {target.name}.", "finish", target.name or "unknown", known=False)
