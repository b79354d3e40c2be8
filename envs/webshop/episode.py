"""WebShop's actions: search for products, click through their pages, choose options, and buy one."""

from typing import Annotated, Any

from langgraph_reflexion.envs.base import Action, Episode, StepResult, action
from langgraph_reflexion.envs.webshop.pages import RENDERINGS, Page, Rendering
from langgraph_reflexion.envs.webshop.shop import Shop
from langgraph_reflexion.envs.webshop.state import State, clean_query, clickable, clicked, find

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
        rendering: The rendering of pages.
        strict: Whether to be as strict as ReAct and Reflexion: names have to match exactly, further pages of results
            are out of reach, and impossible actions are not explained.
        state: The shopper's state; default the first page.
        reward: The reward of the purchase, if there was one.
    """

    def __init__(
        self,
        shop: Shop,
        rendering: Rendering = RENDERINGS["bracketed"],
        strict: bool = False,
        state: State | None = None,
        reward: float | None = None,
    ) -> None:
        self._shop = shop
        self._rendering = rendering
        self._strict = strict
        self.state = state or State()
        self._reward = reward
        self._page: Page | None = None
        self.observation = rendering.page(self._open()) if state is None else ""

    def step(self, action: Action) -> StepResult:
        over = self.state.page == "done"
        observation = OVER if over else super().step(action).observation
        return StepResult(observation, self._reward or 0.0, terminated=self.state.page == "done")

    @action("search[{query}]")
    def search(self, query: Annotated[str, "words that describe the product"]) -> str:
        """Search the shop for products. Only on the first page, where the search bar is."""
        if self.state.page != "search":
            return self._refused("there is no search bar on this page")
        cleaned = clean_query(query)
        if not cleaned:
            return self._refused("search needs words to look for")
        return self._rendering.page(self._go(State("results", cleaned)))

    @action("click[{element}]")
    def click(
        self, element: Annotated[str, "what to click, as it is written on the page: a button, a product, an option"]
    ) -> str:
        """Click a button, the code of a product, or the value of an option on this page."""
        found = find(self._open().nodes, self.state, element, exact=self._strict)
        if found is None or (self._strict and self.state.page == "results" and found.text in ("Next >", "< Prev")):
            return self._refused(f"there is no {' '.join(element.split())!r:.200} to click on this page")
        page = self._go(clicked(self.state, found))
        if found.kind == "option" and self._rendering.chosen:
            return self._rendering.chosen(found.text)
        return self._rendering.page(page)

    def invalid(self, why: str) -> str:
        return INVALID if self._strict else super().invalid(why)

    def snapshot(self) -> dict[str, Any] | None:
        """Return the state and the reward; None if replaying the actions gives the same pages."""
        if self._shop.replays:
            return None
        return {"state": self.state.to_json(), "reward": self._reward}

    def _go(self, state: State) -> Page:
        """Go to the page of a state, or stay if it cannot be fetched."""
        page = self._shop.page(state)
        self.state, self._page, self._reward = state, page, page.reward
        return page

    def _open(self) -> Page:
        if self._page is None:
            self._page = self._shop.page(self.state)
        return self._page

    def _refused(self, why: str) -> str:
        if self._strict:
            return INVALID
        nodes = clickable(self._rendering.shown(self._open()))
        elements = [f"[{node.text}]" for node in nodes[:MAX_LISTED]] + ["..."] * (len(nodes) > MAX_LISTED)
        possible = f"You can click {', '.join(elements)}" if nodes else "You can search: search[{query}]"
        return f"Invalid action: {why}. {possible}."
