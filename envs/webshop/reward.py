"""Reward of a purchase (Yao et al. 2022, section 3.1).

reward = type * (attributes found + options found + price within the budget) / (number asked for)
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from langgraph_reflexion.envs.webshop.goals import Goal
from langgraph_reflexion.envs.webshop.products import SEPARATOR, Product

ALIKE = 85
"""Score of 100 above which two texts count as the same."""

# The colours and patterns of the original, in its order: the first one found in a value represents it.
_COLOURS = (
    "alabaster apricot aqua ash asphalt azure banana beige black blue blush bordeaux bronze brown burgundy camel "
    "camo caramel champagne charcoal cheetah chestnut chocolate christmas coffee cognac copper coral cranberry "
    "cream crystal dark denim eggplant elephant espresso fuchsia gold granite grape graphite grass gray green "
    "grey heather indigo ivory ivy khaki lavender lemon leopard light lilac lime magenta maroon mauve merlot "
    "midnight mint mocha multicolor mushroom mustard natural navy nude olive orange peach pewter pink plum purple "
    "rainbow red rose royal rust sand sapphire seashell silver skull slate steel stone stonewash sunflower tan "
    "taupe teal tiger turquoise violet walnut wheat white wine yellow"
)
COLOURS = tuple(_COLOURS.split())

_OTHERS = (
    "a about above after all also an and any are as at be been below best between both but by can each every extra "
    "for from had has have how if in into is it its just less like made many more most much near new no non nor not "
    "now of off on once one only or other our out over per so some such than that the their them then there these "
    "they this those through to too two under until up upon very via was we were what when where which while who "
    "will with within without you your"
)
_NO_NOUNS = frozenset(_OTHERS.split())


class Reward(NamedTuple):
    """The reward of a purchase, from 0 to 1, and its parts, which are the environment's measures."""

    reward: float
    type: float
    """The factor for the type of product: 1, 0.5, 0.1 or 0."""
    attributes: float
    options: float
    """Share of the wanted options that were chosen; 1 if none are wanted, as for the attributes."""
    price: float
    """1 if the price is within the budget."""


def rule_nouns(name: str) -> list[str]:
    """Return the words of two letters or more that are not function words.

    The original asks spaCy. On its own test cases the result is on the same side of every threshold.
    """
    nouns = []
    for word in re.findall(r"[a-z0-9.'-]+", name.lower()):
        letters = re.findall(r"[a-z]", word)
        if len(letters) >= 2 and word not in _NO_NOUNS:
            nouns.append(word)
    return nouns


def reward(bought: Product, price: float, chosen: Sequence[str], wanted: Product, goal: Goal) -> Reward:
    """Return the reward of a purchase."""
    kind = match_type(bought, wanted)
    attributes = match_attributes(bought, goal.attributes)
    options = match_options(chosen, goal.options)
    within = goal.price_upper > 0 and price <= goal.price_upper
    asked = len(goal.attributes) + len(goal.options) + 1
    return Reward(
        reward=(attributes + options + within) / asked * kind,
        type=kind,
        attributes=_share(attributes, goal.attributes),
        options=_share(options, goal.options),
        price=float(within),
    )


def _share(found: int, wanted: Sequence[str]) -> float:
    if not wanted:
        return 1.0
    return found / len(wanted)


def match_type(bought: Product, wanted: Product) -> float:
    """Return how well the types of two products match: 1, 0.5, 0.1 or 0."""
    title = shared_nouns(bought.title, wanted.title)
    if title == 0.0:
        return 0.0
    if title < 0.1:
        return 0.1
    shared = _categories(bought) & _categories(wanted)
    if bought.query == wanted.query or len(shared) >= 2 or title > 0.2:
        return 1.0
    return 0.5


def shared_nouns(bought: str, wanted: str) -> float:
    """Return the share of the wanted title's nouns in the bought title; 0.2 if it has none."""
    desired = rule_nouns(wanted)
    if not desired:
        return 0.2
    shared = set(desired) & set(rule_nouns(bought))
    # A repeated noun counts twice in the denominator, but once in the numerator, as in the original.
    return len(shared) / len(desired)


def match_attributes(bought: Product, attributes: Sequence[str]) -> int:
    """Return how many of the attributes a product has or mentions."""
    title = bought.title.lower()
    bullets = " ".join(bought.bullets).lower()
    description = bought.description.lower()
    found = 0
    for attribute in attributes:
        mentioned = attribute in title or attribute in bullets or attribute in description
        if mentioned or any(alike(has, attribute) for has in bought.attributes):
            found += 1
    return found


def match_options(chosen: Sequence[str], options: Sequence[str]) -> int:
    """Return how many of the options were chosen. Shades of a colour are equal."""
    values = [colour(value) for value in chosen]
    found = 0
    for option in options:
        wanted = colour(option)
        if any(alike(value, wanted) for value in values):
            found += 1
    return found


def colour(value: str) -> str:
    """Return the colour that represents a value, or the value itself if it contains none."""
    for name in COLOURS:
        if name in value:
            return name
    return value


def alike(one: str, other: str) -> bool:
    """Return whether two texts count as the same by their sets of words, with the rounding of `thefuzz`."""
    from rapidfuzz import fuzz
    from rapidfuzz.utils import default_process

    score = fuzz.token_set_ratio(one, other, processor=default_process)
    return round(score) > ALIKE


def _categories(product: Product) -> set[str]:
    return {category.strip() for category in product.product_category.split(SEPARATOR)}
