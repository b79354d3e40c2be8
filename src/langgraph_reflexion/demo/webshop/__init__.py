"""The demo model in WebShop, which knows no product, and its reflections on what it bought."""

import re
from random import Random

from langgraph_reflexion.demo.persona import slips_at
from langgraph_reflexion.demo.prompt import Advice, Prompt, sentences_of
from langgraph_reflexion.demo.reply import Act
from langgraph_reflexion.demo.webshop.act import SLIPS, Buyer, queries_in
from langgraph_reflexion.demo.webshop.world import Errand, Offer, Shop, read_errand, read_shop

VAGUE = 0.2
"""Probability of a useless reflection."""


def recognises(prompt: Prompt) -> bool:
    """Return whether a prompt is about a shop."""
    return re.search(r"^Instruction:", prompt.opening, re.MULTILINE) is not None


def act(prompt: Prompt, rng: Random) -> Act:
    """Return the next action."""
    errand = _errand(prompt)
    notes = Advice.of(prompt.reflections).on(errand.thing)
    return Buyer(errand, read_shop(prompt), slips_at(errand.text, SLIPS, rng), notes).next()


def _errand(prompt: Prompt) -> Errand:
    return read_errand(prompt.opening)


def reflect(prompt: Prompt, rng: Random) -> str:
    """Say what was wrong with what it bought, and with what it looked at."""
    if rng.random() < VAGUE:
        return "I did not get what was wanted. Next time I will shop more carefully and compare what there is."
    errand, shop = _errand(prompt), read_shop(prompt)
    earlier = Advice.of(prompt.reflections).on(errand.thing)
    looked_at = [shop.offers[code] for code in dict.fromkeys(shop.opened)]
    unfit = [_wrong(offer, errand.thing) for offer in looked_at if _unfit(offer, errand)]
    said = " ".join([_blame(errand, shop, earlier), *unfit])
    # What earlier notes say stays true.
    return " ".join(dict.fromkeys([*sentences_of(said), *earlier.sentences]))


def judge(prompt: Prompt) -> str:
    """Compare what was bought with what was wanted."""
    errand, shop = _errand(prompt), read_shop(prompt)
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
