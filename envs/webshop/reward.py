"""What a purchase is worth (Yao et al. 2022, section 3.1), and how that comes about.

reward = type * (attributes found + options found + price within the budget) / (as many as were asked for)
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rapidfuzz import fuzz
from rapidfuzz.utils import default_process

from langgraph_reflexion.envs.webshop.goals import Goal
from langgraph_reflexion.envs.webshop.nouns import by_rule
from langgraph_reflexion.envs.webshop.products import SEPARATOR, Product

ALIKE = 85
"""Above which score, of 100, two texts are taken for the same."""

PARTS = ("reward", "type", "attributes", "options", "price")
"""The reward and its parts, as they are measured."""

# The colours and patterns of the original, in its order: the first one that occurs in a value stands for it.
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


@dataclass(frozen=True, slots=True)
class TypeMatch:
    """Whether the right kind of thing was bought.

    Attributes:
        factor: What the rest of the reward is multiplied with: 1, 0.5, 0.1 or 0.
        query: Whether both products were found with the same words when the data were gathered.
        category: Whether they have two categories in common.
        title: Which share of the nouns of the name asked for are in the name bought; 0.2 where it has none.
    """

    factor: float
    query: bool
    category: bool
    title: float


@dataclass(frozen=True, slots=True)
class Reward:
    """What a purchase is worth, and its parts.

    Attributes:
        total: The reward, from 0 to 1.
        type: Whether the right kind of thing was bought.
        attributes: Which share of the attributes asked for it has.
        options: Which share of the options asked for was chosen; None where none was asked for.
        price: Whether it costs no more than the budget.
    """

    total: float
    type: TypeMatch
    attributes: float
    options: float | None
    price: bool

    def measures(self) -> dict[str, float]:
        """The reward and its parts by name."""
        options = 1.0 if self.options is None else self.options
        values = (self.total, self.type.factor, self.attributes, options, float(self.price))
        return dict(zip(PARTS, values, strict=True))


def reward(
    bought: Product,
    price: float,
    chosen: Sequence[str],
    wanted: Product,
    goal: Goal,
    nouns: Callable[[str], list[str]] = by_rule,
) -> Reward:
    """What a purchase is worth.

    Args:
        bought: What was bought.
        price: What it costs.
        chosen: The values of its options.
        wanted: The product from which the goal was made.
        goal: What was asked for.
        nouns: Gives a name's nouns.
    """
    kind = match_type(bought, wanted, nouns)
    attributes, options = match_attributes(bought, goal.attributes), match_options(chosen, goal.options)
    within = goal.price_upper > 0 and price <= goal.price_upper
    asked = len(goal.attributes) + len(goal.options) + 1
    return Reward(
        total=(attributes + options + within) / asked * kind.factor,
        type=kind,
        attributes=attributes / len(goal.attributes) if goal.attributes else 1.0,
        options=options / len(goal.options) if goal.options else None,
        price=within,
    )


def match_type(bought: Product, wanted: Product, nouns: Callable[[str], list[str]] = by_rule) -> TypeMatch:
    """Whether a product is of the kind of another one."""
    query = bought.query == wanted.query
    category = len(_categories(bought) & _categories(wanted)) >= 2
    # A noun that comes twice counts twice below the line, but once above it, as in the original.
    desired = nouns(wanted.title)
    title = len(set(nouns(bought.title)) & set(desired)) / len(desired) if desired else 0.2
    factor = 1.0 if query or category or title > 0.2 else 0.5
    if title < 0.1:
        factor = 0.1 if title else 0.0
    return TypeMatch(factor, query, category, title)


def match_attributes(bought: Product, attributes: Sequence[str]) -> int:
    """How many of the attributes a product has, or mentions."""
    texts = [bought.title.lower(), " ".join(bought.bullets).lower(), bought.description.lower()]
    return sum(
        any(alike(has, attribute) for has in bought.attributes) or any(attribute in text for text in texts)
        for attribute in attributes
    )


def match_options(chosen: Sequence[str], options: Sequence[str]) -> int:
    """How many of the options were chosen. Shades of one colour are the same."""
    values = list(map(colour, chosen))
    return sum(any(alike(value, colour(option)) for value in values) for option in options)


def colour(value: str) -> str:
    """The colour that stands for a value; the value itself where there is none in it."""
    return next((colour for colour in COLOURS if colour in value), value)


def alike(one: str, other: str) -> bool:
    """Whether two texts are taken for the same: by their words, in whatever order, as `thefuzz` rounds it."""
    return round(fuzz.token_set_ratio(one, other, processor=default_process)) > ALIKE


def _categories(product: Product) -> set[str]:
    return {category.strip() for category in product.product_category.split(SEPARATOR)}
