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

    rate: ClassVar = {
        "halfway": 0.25,
        "hasty": 0.6,
        "namesake": 0.6,
        "again": 0.2,
        "one side": 0.5,
        "sentence": 0.12,
    }
    """Share of questions with each slip."""

    asked: Asked
    library: Library
    slips: Callable[[str], bool]
    advice: Advice
    tools: bool = True
    guesses: bool = True
    """Whether it answers what a page does not say."""

    def next(self) -> Choice:
        if self.asked.choice:
            choice = self._compare()
        else:
            choice = self._follow()
        if choice.name != "finish" or not self.slips("sentence"):
            return choice
        advised = self.advice.on(choice.text).says("nothing else")
        if advised:
            return choice
        return Choice(choice.thought, "finish", in_a_sentence(choice.text))

    def _follow(self) -> Choice:
        """Read one page after the other: what each says leads to the next."""
        target = Target(self.asked.text)
        if self.asked.targets:
            target = self.asked.targets[0]
        for wanted in self.asked.hops[:-1]:
            bridge = self._find(target, wanted, careful=True)
            if isinstance(bridge, Choice):
                return bridge
            advised = self.advice.on(bridge.name).says("on the way")
            if self.slips("halfway") and not advised:
                return Choice(f"{target.name} leads to {bridge.name}, which must be it.", "finish", bridge.name)
            target = bridge
        found = self._find(target, self.asked.hops[-1])
        if isinstance(found, Choice):
            return found
        return Choice(f"By the page of {target.name} it is {found.name}.", "finish", found.name)

    def _compare(self) -> Choice:
        """Read the pages of both things, and compare what they say."""
        one, other = self.asked.targets
        wanted = self.asked.hops[0]
        of_one = self._find(one, wanted, careful=self.asked.closed)
        if isinstance(of_one, Choice):
            return of_one
        advised = self.advice.on(other.name).says("both")
        if self.slips("one side") and not advised:
            guess = one.name
            if self.asked.closed:
                guess = "yes"
            return Choice(f"For {one.name} it is {of_one.name}. That settles it.", "finish", guess)
        of_other = self._find(other, wanted, careful=self.asked.closed)
        if isinstance(of_other, Choice):
            return of_other
        because = f"For {one.name} it is {of_one.name}, for {other.name} {of_other.name}."
        return Choice(because, "finish", compared(self.asked, [of_one, of_other]))

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
            meant = target
            if self.slips("namesake"):
                # The first title with the name, whatever its brackets say.
                meant = Target(target.name)
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
        found = find(page, wanted)
        at_first_sight = first_mentioned(page, wanted)
        if hasty and at_first_sight:
            # With the whole page given, it does not even read on to where the answer is.
            if not self.tools or not found:
                return at_first_sight
        if found:
            return found
        nothing = give_up(Target(page.title))
        if not self.tools:
            return nothing
        if self.library.open != page.title:
            return Choice(f"I go back to {page.title}.", "search", page.title)
        for term in (hint, *wanted.terms):
            if term and term not in page.searched_for:
                thought = f"What I see of {page.title} does not say it. I look further down."
                return Choice(thought, "lookup", term)
        if self.guesses and at_first_sight:
            return at_first_sight
        return nothing


def compared(asked: Asked, facts: list[Target]) -> str:
    """Return the result of a comparison."""
    one, other = facts
    if asked.choice == "same":
        if one == other:
            return "yes"
        return "no"
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
