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

from collections.abc import Callable
from dataclasses import dataclass

from langgraph_reflexion.demo.prompt import Advice
from langgraph_reflexion.demo.reply import Act
from langgraph_reflexion.demo.webshop.world import Errand, Offer, Shop

SLIPS = {"vague": 0.5, "lavish": 0.35, "makeshift": 0.35, "trusting": 0.45, "forgetful": 0.3}
"""Share of tasks with each slip."""


def queries_in(notes: Advice) -> list[str]:
    """Return the queries that notes recommend, the newest first."""
    return list(reversed(notes.quoted(r"search\[([^\]]*)\]")))


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
    notes: Advice
    """On the wanted thing."""

    def next(self) -> Act:
        match self.shop.page:
            case "results":
                return self._pick()
            case "item" if self.shop.open:
                return self._consider(self.shop.open)
            case "sub":
                return _act("I have read this page. I go back.", "click", "< Prev")
        query = next(iter(self._left()), self.errand.thing)
        return _act(f"I look for a {self.errand.thing}.", "search", query)

    def _left(self) -> list[str]:
        noted = queries_in(self.notes)
        queries = [*noted, *self.errand.queries]
        if self._heedless("vague") and not noted:
            queries = [self.errand.thing]
        return [query for query in dict.fromkeys(queries) if query not in self.shop.queries]

    def _pick(self) -> Act:
        wrong = self.notes.quoted(r"\b(\w+) was the wrong\b")
        for code in self.shop.shown:
            offer = self.shop.offers[code]
            if code in wrong or code in self.shop.opened:
                continue
            if offer.price <= self.errand.limit or self._heedless("lavish"):
                return _act(f"{offer.title} looks like what I want. I open it.", "click", code)
        if self._left():
            return _act("None of these will do. I search for something else.", "click", "Back to Search")
        shown = [code for code in self.shop.shown if code not in wrong] or self.shop.shown
        if not shown:
            return _act("There is nothing here. I search again.", "click", "Back to Search")
        return _act("Nothing fits in full. I take what comes near.", "click", shown[0])

    def _consider(self, offer: Offer) -> Act:
        settled = self.shop.opened.count(offer.code) > 1
        if not settled:
            if offer.price > self.errand.limit and not self._heedless("lavish"):
                return _leave(f"It costs {offer.price:.2f} dollars, which is too much.")
            if (missing := offer.missing_options(self.errand)) and not self._heedless("makeshift"):
                return _leave(f"It does not come in {missing[0]}.")
            if (unproved := offer.unproved(self.errand)) and not self._heedless("trusting"):
                if unread := offer.unread():
                    return _act(f"I want to know whether it is {unproved[0]}.", "click", unread[0])
                return _leave(f"Nothing says that it is {unproved[0]}.")
        unchosen = offer.unchosen(self.errand)
        if unchosen and (len(unchosen) > 1 or not self._heedless("forgetful")):
            return _act(f"I choose {unchosen[0]}.", "click", unchosen[0])
        return _act("This is it. I buy it.", "click", "Buy Now")

    def _heedless(self, slip: str) -> bool:
        return self.slips(slip) and not (slip in MINDED and self.notes.says(MINDED[slip]))


def _act(thought: str, name: str, text: str) -> Act:
    return Act(thought, name, {{"search": "query", "click": "element"}[name]: text}, f"{name}[{text}]")


def _leave(why: str) -> Act:
    return _act(f"{why} I go back.", "click", "< Prev")
