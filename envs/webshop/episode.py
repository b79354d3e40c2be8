"""WebShop's actions: search for products, click through their pages, choose options, and buy one."""

from typing import Annotated

from langgraph_reflexion.envs.base import Action, Episode, StepResult, action
from langgraph_reflexion.envs.webshop.shop import (
    AFTER,
    BEFORE,
    Node,
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
        self._shop = shop
        self._strict = strict
        self.state = State()
        self._page = shop.page(self.state)
        self.observation = render(self._page)

    def step(self, action: Action) -> StepResult:
        observation = OVER
        if self.state.page != "done":
            observation = super().step(action).observation
        # The action may have ended the episode.
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
        if found is None or self._is_out_of_reach(found):
            name = " ".join(element.split())
            return self._refused(f"there is no {name!r:.200} to click on this page")
        page = self._go(clicked(self.state, found))
        if found.kind == "option":
            return f"You have clicked {found.text}."
        return render(page)

    def invalid(self, why: str) -> str:
        if self._strict:
            return INVALID
        return super().invalid(why)

    def _is_out_of_reach(self, node: Node) -> bool:
        """Return whether a node leads to another page of results, and `strict` has only one."""
        return self._strict and self.state.page == "results" and node.text in (BEFORE, AFTER)

    def _go(self, state: State) -> Page:
        self.state = state
        self._page = self._shop.page(state)
        return self._page

    def _refused(self, why: str) -> str:
        if self._strict:
            return INVALID
        nodes = clickable(shown(self._page))
        # Only the page with the search bar has nothing to click.
        if not nodes:
            return f"Invalid action: {why}. You can search: search[{{query}}]."
        elements = [f"[{node.text}]" for node in nodes[:MAX_LISTED]]
        if len(nodes) > MAX_LISTED:
            elements.append("...")
        return f"Invalid action: {why}. You can click {', '.join(elements)}."
