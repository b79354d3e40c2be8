"""The demo model in WebShop, which knows no product: what it searches for, opens and buys, and its reflections on it.

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
from random import Random

from langgraph_reflexion.lab.demo.persona import Act, slips_at
from langgraph_reflexion.lab.demo.prompt import Advice, Prompt, sentences_of
from langgraph_reflexion.lab.demo.webshop.world import Errand, Offer, Shop, read_errand, read_shop

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


VAGUE = 0.2
"""Probability of a useless reflection."""


def recognises(prompt: Prompt) -> bool:
    """Return whether a prompt is about a shop."""
    return re.search(r"^Instruction:", prompt.opening, re.MULTILINE) is not None


def act(prompt: Prompt, rng: Random) -> Act:
    """Return the next action."""
    errand = read_errand(prompt.opening)
    notes = Advice.of(prompt.reflections).on(errand.thing)
    return Buyer(errand, read_shop(prompt), slips_at(errand.text, SLIPS, rng), notes).next()


def reflect(prompt: Prompt, rng: Random) -> str:
    """Say what was wrong with what it bought, and with what it looked at."""
    if rng.random() < VAGUE:
        return "I did not get what was wanted. Next time I will shop more carefully and compare what there is."
    errand, shop = read_errand(prompt.opening), read_shop(prompt)
    earlier = Advice.of(prompt.reflections).on(errand.thing)
    looked_at = [shop.offers[code] for code in dict.fromkeys(shop.opened)]
    unfit = [_wrong(offer, errand.thing) for offer in looked_at if _unfit(offer, errand)]
    said = " ".join([_blame(errand, shop, earlier), *unfit])
    # What earlier notes say stays true.
    return " ".join(dict.fromkeys([*sentences_of(said), *earlier.sentences]))


def judge(prompt: Prompt) -> str:
    """Compare what was bought with what was wanted."""
    errand, shop = read_errand(prompt.opening), read_shop(prompt)
    bought = shop.offers.get(shop.bought)
    if bought is None:
        return "Nothing was bought.\nVerdict: no"
    faults = [
        *(f"{value} was not chosen" for value in bought.unchosen(errand)),
        *(f"it does not come in {missing}" for missing in bought.missing_options(errand)),
        *(f"nothing says that it is {attribute}" for attribute in bought.unproved(errand)),
        *(["it costs too much"] if bought.price > errand.limit else []),
    ]
    if faults:
        return f"{bought.code} was bought, but {' and '.join(faults)}.\nVerdict: no"
    return f"{bought.code} is what was wanted, as far as the pages say.\nVerdict: yes"


def _blame(errand: Errand, shop: Shop, earlier: Advice) -> str:
    thing, bought = errand.thing, shop.offers.get(shop.bought)
    if bought is None:
        return f"I ran out of actions before I had bought any {thing}. {_advice(errand, shop, earlier)}"
    code = bought.code
    if shop.opened.count(code) > 1 and _unfit(bought, errand):
        return (
            f"Nothing that I found for {shop.queries[-1]} was a {thing} that fits. {_advice(errand, shop, earlier)}"
        )
    if unchosen := bought.unchosen(errand):
        clicks = " and ".join(f"click[{value}]" for value in unchosen)
        return (
            f"I bought the {thing} {code} without choosing {' and '.join(unchosen)}. "
            f"Next time I will {clicks} for the {thing} before I click[Buy Now]."
        )
    if bought.price > errand.limit:
        return (
            f"The {thing} {code} costs {bought.price:.2f} dollars, and I could pay {errand.limit:.2f} at most. "
            f"{_wrong(bought, thing)} Next time I will look at the price of every {thing} before I open it."
        )
    if missing := bought.missing_options(errand):
        wanted = " and ".join(errand.options.values())
        return (
            f"The {thing} {code} does not come in {missing[0]}. {_wrong(bought, thing)} "
            f"Next time I will make sure that it comes in {wanted} before I buy a {thing}."
        )
    if unproved := bought.unproved(errand):
        if bought.unread():
            return (
                f"I bought the {thing} {code} without knowing whether it is {unproved[0]}. "
                f"Next time I will read Description and Features of every {thing} before I buy it."
            )
        return f"Nothing says that the {thing} {code} is {unproved[0]}. {_advice(errand, shop, earlier)}"
    return f"I cannot see what is wrong with it, but {_wrong(bought, thing)}"


def _advice(errand: Errand, shop: Shop, earlier: Advice) -> str:
    tried = {*shop.queries, *queries_in(earlier)}
    better = next((query for query in errand.queries if query not in tried), errand.queries[0])
    return f"Next time I will search[{better}] to find a {errand.thing} that fits."


def _unfit(offer: Offer, errand: Errand) -> bool:
    lacks = not offer.unread() and offer.unproved(errand)
    return bool(offer.price > errand.limit or offer.missing_options(errand) or lacks)


def _wrong(offer: Offer, thing: str) -> str:
    return f"{offer.code} was the wrong {thing}."
