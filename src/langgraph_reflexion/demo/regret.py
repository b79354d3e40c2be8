"""The demo model's self-reflection on an errand: what was wrong with what it bought, and what to do instead."""

from langgraph_reflexion.demo.buying import Notes
from langgraph_reflexion.demo.errand import Errand
from langgraph_reflexion.demo.shop import Offer, Shop


def look_back(errand: Errand, shop: Shop, earlier: Notes) -> str:
    """What went wrong in a failed trial, in words.

    Args:
        errand: What was to be bought.
        shop: What was seen and done.
        earlier: What was written down before.
    """
    return " ".join([_blame(errand, shop, earlier), *_known(errand, shop)])


def _blame(errand: Errand, shop: Shop, earlier: Notes) -> str:
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


def _advice(errand: Errand, shop: Shop, earlier: Notes) -> str:
    """What to search for instead."""
    tried = {*shop.queries, *earlier.queries}
    better = next((query for query in errand.queries if query not in tried), errand.queries[0])
    return f"Next time I will search[{better}] to find a {errand.thing} that fits."


def _known(errand: Errand, shop: Shop) -> list[str]:
    """The products that were looked at and do not fit, as far as it can tell."""
    looked_at = [shop.offers[code] for code in dict.fromkeys(shop.opened)]
    return [_wrong(offer, errand.thing) for offer in looked_at if _unfit(offer, errand)]


def _unfit(offer: Offer, errand: Errand) -> bool:
    lacks = not offer.unread() and offer.unproved(errand)
    return bool(offer.price > errand.limit or offer.missing_options(errand) or lacks)


def _wrong(offer: Offer, thing: str) -> str:
    return f"{offer.code} was the wrong {thing}."
