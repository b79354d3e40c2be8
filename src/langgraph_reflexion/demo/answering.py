"""The demo model's way through a question: which page to open next, what to look up, when to answer.

The careful reader does all of it right. What makes a trial fail are slips, each for a reason that people have, too:

* `halfway`: what the first page names is handed in, and the second is never opened.
* `hasty`: where the sentences that are shown do not say what is asked, something else on the page is taken for it.
* `namesake`: of several similar titles the first one is opened.
* `again`: a search that found nothing is tried again and again.
* `one side`: of two things to compare only one is read about.
* `sentence`: the answer is right, but stands in a sentence.

Which of them it is prone to depends on the question, and is the same in every trial, but for a little luck. A
reflection that speaks of the thing at hand, and says what to do instead, keeps it from the slip.
"""

from collections.abc import Callable
from dataclasses import dataclass

from langgraph_reflexion.demo.asked import Asked
from langgraph_reflexion.demo.lessons import Lessons
from langgraph_reflexion.demo.library import Library, closest, namesake, page_of
from langgraph_reflexion.demo.reading import Page, Target, Wanted, find, first_mentioned

SLIPS = {"halfway": 0.25, "hasty": 0.6, "namesake": 0.6, "again": 0.2, "one side": 0.5, "sentence": 0.12}
"""How many questions it is prone to a slip at."""


@dataclass(frozen=True)
class Act:
    """What to do next, and why."""

    thought: str
    name: str
    text: str
    known: bool = True
    """Whether it rests on what was read."""


@dataclass(frozen=True)
class Reader:
    """Goes through a question by what was read so far.

    Attributes:
        asked: The question.
        library: What was read.
        slips: Whether it makes a slip now, by the slip's name.
        lessons: What it wrote down after earlier trials.
        tools: Whether it can search; otherwise it has to do with what it was given.
    """

    asked: Asked
    library: Library
    slips: Callable[[str], bool]
    lessons: Lessons
    tools: bool = True

    def next(self) -> Act:
        """The next action."""
        act = self._compare() if self.asked.choice else self._follow()
        if act.name == "finish" and self.slips("sentence") and not self.lessons.bare(act.text):
            return Act(act.thought, "finish", in_a_sentence(act.text))
        return act

    def _follow(self) -> Act:
        """From page to page; what each names is whose page comes next."""
        target = self.asked.targets[0] if self.asked.targets else Target(self.asked.text)
        *bridges, last = self.asked.hops
        for wanted in bridges:
            page = self._page(target)
            found = page if isinstance(page, Act) else self._find(page, wanted, careful=True)
            if isinstance(found, Act):
                return found
            if self.slips("halfway") and not self.lessons.not_yet(found.name):
                return Act(f"{target.name} leads to {found.name}, which must be it.", "finish", found.name)
            target = found
        page = self._page(target)
        found = page if isinstance(page, Act) else self._find(page, last)
        if isinstance(found, Act):
            return found
        return Act(f"By the page of {target.name} it is {found.name}.", "finish", found.name)

    def _compare(self) -> Act:
        """Read about both, and compare."""
        one, other = self.asked.targets
        told: list[Target] = []
        for target in (one, other):
            if told and self.slips("one side") and not self.lessons.both(other.name):
                guess = "yes" if self.asked.closed else one.name
                return Act(f"For {one.name} it is {told[0].name}. That settles it.", "finish", guess)
            page = self._page(target)
            found = page if isinstance(page, Act) else self._find(page, self.asked.hops[0], careful=self.asked.closed)
            if isinstance(found, Act):
                return found
            told.append(found)
        because = f"For {one.name} it is {told[0].name}, for {other.name} {told[1].name}."
        return Act(because, "finish", compared(self.asked, told))

    def _page(self, target: Target) -> Page | Act:
        """The target's page, or how to get at it."""
        if not self.tools:
            return page_of(self.library, target) or _give_up(target)
        wanted, tried = self.lessons.title(target) or target.name, set[str]()
        while wanted not in self.library.pages:
            titles = self.library.missed.get(wanted)
            if titles is None:
                return Act(f"I need the page of {target.known_as}.", "search", wanted)
            if wanted == target.name and self.slips("again"):
                return Act(f"The page of {target.name} must be there. I try again.", "search", wanted)
            tried.add(wanted)
            pick = namesake if self.slips("namesake") else closest
            chosen = pick([title for title in titles if title not in tried], target)
            if chosen is None:
                return _give_up(target)
            wanted = chosen
        return self.library.pages[wanted]

    def _find(self, page: Page, wanted: Wanted, *, careful: bool = False) -> Target | Act:
        """What is wanted of a page, or what to look up on it."""
        hint = self.lessons.word(page.title)
        hasty = not careful and self.slips("hasty") and not hint
        if hasty and not self.tools and (taken := first_mentioned(page, wanted)):
            return taken
        if found := find(page, wanted):
            return found
        if hasty and (taken := first_mentioned(page, wanted)):
            return taken
        if not self.tools:
            return _give_up(Target(page.title))
        if self.library.open != page.title:
            return Act(f"I go back to {page.title}.", "search", page.title)
        terms = [term for term in (hint, *wanted.terms) if term and term not in page.searched_for]
        if not terms:
            taken = first_mentioned(page, wanted)
            return taken or _give_up(Target(page.title))
        return Act(f"What I see of {page.title} does not say it. I look further down.", "lookup", terms[0])


def compared(asked: Asked, told: list[Target]) -> str:
    """The outcome of a comparison."""
    one, other = told
    if asked.choice == "same":
        alike = one.name == other.name and one.where == other.where and one.role == other.role
        return "yes" if alike else "no"
    by_number = [_number(each.name) for each in told]
    first = by_number[0] <= by_number[1] if asked.choice == "lowest" else by_number[0] >= by_number[1]
    return asked.targets[0 if first else 1].name


def in_a_sentence(answer: str) -> str:
    """An answer as it should not be handed in."""
    return f"{answer.capitalize()}, as far as I can see" if answer in ("yes", "no") else f"It is {answer}"


def carefully(asked: Asked, library: Library) -> Act:
    """What the careful reader makes of what was read, without reading on.

    Args:
        asked: The question.
        library: What was read.
    """
    return Reader(asked, library, lambda slip: False, Lessons(()), tools=False).next()


def _number(text: str) -> float:
    digits = text.replace(",", "").rstrip(".")
    return float(digits) if digits.replace(".", "", 1).isdigit() else 0.0


def _give_up(target: Target) -> Act:
    return Act(f"I cannot find out more about {target.name}.", "finish", target.name or "unknown", known=False)
