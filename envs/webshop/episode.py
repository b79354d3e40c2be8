"""Shopping: search for products, click through their pages, choose options, and buy one."""

from typing import Annotated, Any

from langgraph_reflexion.envs.base import Action, Episode, StepResult, action
from langgraph_reflexion.envs.webshop.pages import Page
from langgraph_reflexion.envs.webshop.rendering import RENDERINGS, Rendering
from langgraph_reflexion.envs.webshop.shop import Shop
from langgraph_reflexion.envs.webshop.state import State, clean_query, clickable, clicked, find, searched

LISTED = 60
"""How many things that can be clicked are named at most: some products come in hundreds of sizes."""
INVALID = "Invalid action!"
"""All that ReAct's agents are told of an action that is not possible."""
NO_WORDS = "search wants words to look for"
OVER = "The episode is over: no further action is possible."


class WebShopEpisode(Episode):
    """One attempt to buy what an instruction asks for.

    The reward is 0.0 until something is bought, which ends the episode.

    Args:
        shop: Where pages come from.
        rendering: How they are written.
        strict: Whether it is as unforgiving as in ReAct and Reflexion: names are to be written exactly, there is no
            way to the next page of results or back from it, and an action that is not possible is not explained.
        state: Where the shopper stands.
        reward: What the purchase was worth, if there was one.
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
        """Take one action; see `Episode.step`."""
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
            return self._refused(NO_WORDS)
        return self._rendering.page(self._go(searched(cleaned)))

    @action("click[{element}]")
    def click(
        self, element: Annotated[str, "what to click, as it is written on the page: a button, a product, an option"]
    ) -> str:
        """Click a button, the code of a product, or the value of an option on this page."""
        page = self._open()
        found = find(page, self.state, element, exact=self._strict)
        if found is None or (self._strict and self.state.page == "results" and found.text in ("Next >", "< Prev")):
            return self._refused(f"there is no {' '.join(element.split())!r:.200} to click on this page")
        page = self._go(clicked(self.state, found))
        if found.kind == "option" and self._rendering.chosen:
            return self._rendering.chosen(found.text)
        return self._rendering.page(page)

    def invalid(self, why: str) -> str:
        """The observation for an action that is not allowed."""
        return INVALID if self._strict else super().invalid(why)

    def snapshot(self) -> dict[str, Any] | None:
        """Where the shopper stands, and what a purchase was worth; None where pages stay as they are."""
        if self._shop.replays:
            return None
        return {"state": self.state.to_json(), "reward": self._reward}

    def _go(self, state: State) -> Page:
        """Go to the page of a state; without a page one stays where one is."""
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
        elements = [f"[{node.text}]" for node in nodes[:LISTED]] + ["..."] * (len(nodes) > LISTED)
        possible = f"You can click {', '.join(elements)}" if nodes else "You can search: search[{query}]"
        return f"Invalid action: {why}. {possible}."
