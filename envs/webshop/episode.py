"""WebShop's actions: search for products, click through their pages, choose options, and buy one."""

from typing import Annotated

from langgraph_reflexion.envs.base import Action, Episode, StepResult, action
from langgraph_reflexion.envs.webshop.shop import (
    Page,
    Shop,
    State,
    clean_query,
    clickable,
    clicked,
    find,
    render,
    shown,
)

MAX_LISTED = 60
"""Maximum number of clickable elements in an error message: some products have hundreds of sizes."""
INVALID = "Invalid action!"
"""The only feedback on impossible actions that ReAct's agents get."""
OVER = "The episode is over: no further action is possible."


class WebShopEpisode(Episode):
    """One attempt to buy what an instruction asks for.

    The reward is 0.0 until something is bought, which ends the episode.

    Args:
        shop: The source of pages.
        strict: Whether to be as strict as ReAct and Reflexion: names have to match exactly, further pages of results
            are out of reach, and impossible actions are not explained.
    """

    def __init__(self, shop: Shop, strict: bool = False) -> None:
        self._shop, self._strict = shop, strict
        self.state = State()
        self._page = shop.page(self.state)
        self.observation = render(self._page)

    def step(self, action: Action) -> StepResult:
        over = self.state.page == "done"
        observation = OVER if over else super().step(action).observation
        return StepResult(observation, self._page.reward or 0.0, terminated=self.state.page == "done")

    @action("search[{query}]")
    def search(self, query: Annotated[str, "words that describe the product"]) -> str:
        """Search the shop for products. Only on the first page, where the search bar is."""
        if self.state.page != "search":
            return self._refused("there is no search bar on this page")
        cleaned = clean_query(query)
        if not cleaned:
            return self._refused("search needs words to look for")
        return render(self._go(State("results", cleaned)))

    @action("click[{element}]")
    def click(
        self, element: Annotated[str, "what to click, as it is written on the page: a button, a product, an option"]
    ) -> str:
        """Click a button, the code of a product, or the value of an option on this page."""
        found = find(self._page.nodes, self.state, element, exact=self._strict)
        if found is None or (self._strict and self.state.page == "results" and found.text in ("Next >", "< Prev")):
            return self._refused(f"there is no {' '.join(element.split())!r:.200} to click on this page")
        page = self._go(clicked(self.state, found))
        return f"You have clicked {found.text}." if found.kind == "option" else render(page)

    def invalid(self, why: str) -> str:
        return INVALID if self._strict else super().invalid(why)

    def _go(self, state: State) -> Page:
        self.state, self._page = state, self._shop.page(state)
        return self._page

    def _refused(self, why: str) -> str:
        if self._strict:
            return INVALID
        nodes = clickable(shown(self._page))
        elements = [f"[{node.text}]" for node in nodes[:MAX_LISTED]] + ["..."] * (len(nodes) > MAX_LISTED)
        possible = f"You can click {', '.join(elements)}" if nodes else "You can search: search[{query}]"
        return f"Invalid action: {why}. {possible}."
