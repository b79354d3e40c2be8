"""A shop: gives the page that belongs to a state. This one is made of a store, without a server."""

from collections.abc import Callable
from typing import Protocol

from langgraph_reflexion.envs.webshop import pages
from langgraph_reflexion.envs.webshop.goals import Goal
from langgraph_reflexion.envs.webshop.nouns import by_rule
from langgraph_reflexion.envs.webshop.pages import PER_PAGE, Page
from langgraph_reflexion.envs.webshop.products import Product
from langgraph_reflexion.envs.webshop.reward import Reward, reward
from langgraph_reflexion.envs.webshop.state import State
from langgraph_reflexion.envs.webshop.store import Store


class Shop(Protocol):
    """Where the pages of one goal come from."""

    replays: bool
    """Whether it gives the same pages for ever, so that an episode can be rebuilt from its actions."""

    def page(self, state: State) -> Page:
        """The page that belongs to a state.

        Raises:
            EnvironmentFault: it cannot be had.
        """


class OwnShop:
    """The shop for one goal.

    Args:
        store: What it sells.
        goal: What is to be bought.
        seed: Of prices that are a range.
        attributes: Whether products have a page of attributes.
        nouns: Gives the nouns of a product's name.
    """

    replays = True

    def __init__(
        self,
        store: Store,
        goal: Goal,
        seed: int = 0,
        attributes: bool = False,
        nouns: Callable[[str], list[str]] = by_rule,
    ) -> None:
        self._store = store
        self._goal = goal
        self._seed = seed
        self._attributes = attributes
        self._nouns = nouns

    def page(self, state: State) -> Page:
        """The page that belongs to a state; see `Shop.page`."""
        told = self._goal.instruction
        if state.page == "search":
            return pages.search_page(told)
        if state.page == "results":
            found = self._store.search(state.query)
            here = found[PER_PAGE * (state.number - 1) : PER_PAGE * state.number]
            return pages.results_page(told, state.number, len(found), list(map(self._store.product, here)))
        if state.page == "done":
            return pages.done_page(self.reward(state).total)
        product = self._product(state.asin)
        if state.page == "item":
            return pages.item_page(told, product, dict(state.options), self._attributes)
        return pages.sub_page(told, product, state.subpage)

    def reward(self, state: State) -> Reward:
        """What it is worth to buy what is open, and the parts of that."""
        bought, wanted = self._product(state.asin), self._product(self._goal.asin)
        chosen = [value for _, value in state.options]
        return reward(bought, bought.price(self._seed), chosen, wanted, self._goal, self._nouns)

    def _product(self, asin: str) -> Product:
        found = self._store.find(asin)
        assert found is not None, asin
        return found[1]
