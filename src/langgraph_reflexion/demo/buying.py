"""The demo model's way through a shop: what to search for, what to open, what to choose, when to buy.

The careful buyer does all of it right. What makes a trial fail are slips, each for a reason that people have, too:

* `vague`: the kind of thing is searched for, without what it has to be like.
* `lavish`: the price is not looked at.
* `makeshift`: what does not come as wanted is bought all the same.
* `trusting`: what the product is like is not read up.
* `forgetful`: nothing, or one thing too few, is chosen before buying.

Which of them it is prone to depends on the errand, and is the same in every trial, but for a little luck. A
reflection that speaks of the thing at hand, and says what to do instead, keeps it from the slip.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from langgraph_reflexion.demo.answering import Act
from langgraph_reflexion.demo.errand import Errand
from langgraph_reflexion.demo.reading import sentences_of
from langgraph_reflexion.demo.shop import Offer, Shop

SLIPS = {"vague": 0.5, "lavish": 0.35, "makeshift": 0.35, "trusting": 0.45, "forgetful": 0.3}
"""How many errands it is prone to a slip at."""


@dataclass(frozen=True)
class Notes:
    """What the reflections in the prompt say about an errand; what they say of others is of no use here.

    Attributes:
        sentences: The sentences that speak of the thing.
    """

    sentences: tuple[str, ...]

    @classmethod
    def on(cls, errand: Errand, reflections: tuple[str, ...]) -> "Notes":
        """Read the reflections."""
        told = [sentence for text in reflections for sentence in sentences_of(text)]
        return cls(tuple(each for each in told if re.search(rf"\b{re.escape(errand.thing)}\b", each)))

    @property
    def queries(self) -> list[str]:
        """What to search for, the latest first."""
        return [query for each in reversed(self.sentences) for query in re.findall(r"search\[([^\]]*)\]", each)]

    @property
    def wrong(self) -> set[str]:
        """The codes of what is not to be bought again."""
        return {code for each in self.sentences for code in re.findall(r"\b(\w+) was the wrong\b", each)}

    def minds(self, what: str) -> bool:
        """Whether they say to mind the price, the options, the pages of a product, or what to choose."""
        return any(what in sentence for sentence in self.sentences)


MINDED = {
    "lavish": "look at the price",
    "makeshift": "make sure that it comes in",
    "trusting": "read Description and Features",
    "forgetful": "before I click[Buy Now]",
}
"""The words in a reflection that keep it from a slip."""


@dataclass(frozen=True)
class Buyer:
    """Goes through a shop by what was seen so far.

    Attributes:
        errand: What is to be bought.
        shop: What was seen.
        slips: Whether it makes a slip now, by the slip's name.
        notes: What it wrote down after earlier trials.
    """

    errand: Errand
    shop: Shop
    slips: Callable[[str], bool]
    notes: Notes

    def next(self) -> Act:
        """The next action."""
        match self.shop.page:
            case "results":
                return self._pick()
            case "item" if self.shop.open:
                return self._consider(self.shop.open)
            case "sub":
                return Act("I have read this page. I go back.", "click", "< Prev")
        query = next(iter(self._left()), self.errand.thing)
        return Act(f"I look for a {self.errand.thing}.", "search", query)

    def _left(self) -> list[str]:
        """What can still be searched for."""
        queries = [*self.notes.queries, *self.errand.queries]
        if self._heedless("vague") and not self.notes.queries:
            queries = [self.errand.thing]
        return [query for query in dict.fromkeys(queries) if query not in self.shop.queries]

    def _pick(self) -> Act:
        for code in self.shop.shown:
            offer = self.shop.offers[code]
            if code in self.notes.wrong or code in self.shop.opened:
                continue
            if offer.price <= self.errand.limit or self._heedless("lavish"):
                return Act(f"{offer.title} looks like what I want. I open it.", "click", code)
        if self._left():
            return Act("None of these will do. I search for something else.", "click", "Back to Search")
        shown = [code for code in self.shop.shown if code not in self.notes.wrong] or self.shop.shown
        if not shown:
            return Act("There is nothing here. I search again.", "click", "Back to Search")
        return Act("Nothing fits in full. I take what comes near.", "click", shown[0])

    def _consider(self, offer: Offer) -> Act:
        """Whether to read on about a product, leave it, choose or buy."""
        settled = self.shop.opened.count(offer.code) > 1
        if not settled:
            if offer.price > self.errand.limit and not self._heedless("lavish"):
                return _leave(f"It costs {offer.price:.2f} dollars, which is too much.")
            if (missing := offer.missing_options(self.errand)) and not self._heedless("makeshift"):
                return _leave(f"It does not come in {missing[0]}.")
            if (unproved := offer.unproved(self.errand)) and not self._heedless("trusting"):
                if unread := offer.unread():
                    return Act(f"I want to know whether it is {unproved[0]}.", "click", unread[0])
                return _leave(f"Nothing says that it is {unproved[0]}.")
        unchosen = offer.unchosen(self.errand)
        if unchosen and (len(unchosen) > 1 or not self._heedless("forgetful")):
            return Act(f"I choose {unchosen[0]}.", "click", unchosen[0])
        return Act("This is it. I buy it.", "click", "Buy Now")

    def _heedless(self, slip: str) -> bool:
        return self.slips(slip) and not (slip in MINDED and self.notes.minds(MINDED[slip]))


def _leave(why: str) -> Act:
    return Act(f"{why} I go back.", "click", "< Prev")
