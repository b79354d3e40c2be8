"""The demo model's next action in a shop: what to search for, open, choose and buy.

A careful buyer makes no mistake. Trials fail by slips:

* `vague`: it searches for the kind of thing, without its attributes.
* `lavish`: it ignores the price.
* `makeshift`: it buys what does not come in the wanted options.
* `trusting`: it does not read the description.
* `forgetful`: it buys with an option too few.

A task's slips are the same in every trial, but for a little luck. A reflection that names the thing and says what to
do instead prevents the slip.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from langgraph_reflexion.demo.prompt import sentences_of
from langgraph_reflexion.demo.reply import Act
from langgraph_reflexion.demo.webshop.world import Errand, Offer, Shop

SLIPS = {"vague": 0.5, "lavish": 0.35, "makeshift": 0.35, "trusting": 0.45, "forgetful": 0.3}
"""Share of tasks with each slip."""


@dataclass(frozen=True)
class Notes:
    """The sentences of reflections that are about the wanted thing."""

    sentences: tuple[str, ...]

    @classmethod
    def on(cls, errand: Errand, reflections: tuple[str, ...]) -> "Notes":
        told = [sentence for text in reflections for sentence in sentences_of(text)]
        return cls(tuple(each for each in told if re.search(rf"\b{re.escape(errand.thing)}\b", each)))

    @property
    def queries(self) -> list[str]:
        return [query for each in reversed(self.sentences) for query in re.findall(r"search\[([^\]]*)\]", each)]

    @property
    def wrong(self) -> set[str]:
        return {code for each in self.sentences for code in re.findall(r"\b(\w+) was the wrong\b", each)}

    def minds(self, what: str) -> bool:
        return any(what in sentence for sentence in self.sentences)


MINDED = {
    "lavish": "look at the price",
    "makeshift": "make sure that it comes in",
    "trusting": "read Description and Features",
    "forgetful": "before I click[Buy Now]",
}
"""The words in a reflection that prevent each slip."""


@dataclass(frozen=True)
class Buyer:
    """Chooses the next action by what was seen so far."""

    errand: Errand
    shop: Shop
    slips: Callable[[str], bool]
    notes: Notes

    def next(self) -> Act:
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
