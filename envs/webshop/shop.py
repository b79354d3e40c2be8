"""The shop of one goal: its pages by state, from a store."""

from dataclasses import dataclass

from langgraph_reflexion.envs.webshop import pages
from langgraph_reflexion.envs.webshop.goals import Goal
from langgraph_reflexion.envs.webshop.pages import PER_PAGE, Page
from langgraph_reflexion.envs.webshop.products import Product
from langgraph_reflexion.envs.webshop.reward import Reward, reward
from langgraph_reflexion.envs.webshop.state import State
from langgraph_reflexion.envs.webshop.store import Store


@dataclass(frozen=True)
class Shop:
    """The pages of one goal, from a store. The seed is that of prices given as a range."""

    store: Store
    goal: Goal
    seed: int = 0

    def page(self, state: State) -> Page:
        """Return the page of a state."""
        instruction = self.goal.instruction
        if state.page == "search":
            return pages.search_page(instruction)
        if state.page == "results":
            found = self.store.search(state.query)
            here = found[PER_PAGE * (state.number - 1) : PER_PAGE * state.number]
            return pages.results_page(instruction, state.number, len(found), list(map(self.store.product, here)))
        if state.page == "done":
            return pages.done_page(self.reward(state).reward)
        product = self._product(state.asin)
        if state.page == "item":
            return pages.item_page(instruction, product, dict(state.options))
        return pages.sub_page(instruction, product, state.subpage)

    def reward(self, state: State) -> Reward:
        """Return the reward of buying the open product."""
        bought, wanted = self._product(state.asin), self._product(self.goal.asin)
        chosen = [value for _, value in state.options]
        return reward(bought, bought.price(self.seed), chosen, wanted, self.goal)

    @property
    def answer(self) -> str:
        """The product that the goal was made from, with its code, options and price."""
        right = self._product(self.goal.asin)
        return ", ".join([f"{right.title} [{right.asin}]", *self.goal.options, right.price_tag])

    def _product(self, asin: str) -> Product:
        found = self.store.find(asin)
        assert found is not None, asin
        return found[1]
