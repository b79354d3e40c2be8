"""Answering a question: search a page, look up words in it, finish with an answer (Yao et al. 2023, ReAct)."""

from typing import Annotated, Any

from langchain_core.tools import BaseTool

from langgraph_reflexion.envs.base import Action, Episode, StepResult, action
from langgraph_reflexion.envs.hotpotqa.grading import answered, exact_match
from langgraph_reflexion.envs.hotpotqa.pages import Missing, Page, Pages

Answer = Annotated[str, "the answer: a name, a number, yes or no; nothing else"]

KEPT = 3
"""How many of the last searches a snapshot keeps, the open page among them."""

HANDED_IN = "Your answer is handed in, and the trial is over."
EMPTY = "The page is open, but there is no text on it."
NO_MORE = "No more results."
NO_PAGE = "No page is open to look in: search for one first."
OVER = "The episode is over: no further action is possible."


class HotPotQAEpisode(Episode):
    """One attempt at a question.

    A page stays open until a search finds another; as in ReAct, a search that finds none leaves it open. The
    reward is 0.0 until the right answer is handed in, since what is not answered is not right.

    Args:
        question: What is asked; may be empty where only the tools are wanted.
        gold: The right answer; None where it is not known, so that there is no reward.
        pages: Where pages come from.
    """

    def __init__(self, question: str, gold: str | None, pages: Pages) -> None:
        self.observation = f"Question: {question}"
        self._gold = gold
        self._pages = pages
        self._seen: dict[str, Page | Missing] = {}
        self._open: str | None = None
        self._looked_up = ("", 0)
        self._answer: str | None = None

    def step(self, action: Action) -> StepResult:
        """Take one action; see `Episode.step`."""
        result = super().step(action) if self._answer is None else StepResult(OVER)
        reward = None if self._gold is None else float(exact_match(self._answer, self._gold))
        return StepResult(result.observation, reward, terminated=self._answer is not None)

    @action("search[{entity}]")
    def search(self, entity: Annotated[str, "the exact title of a page: a person, a place, a work, ..."]) -> str:
        """Open the page of that title and read its first sentences; without one, get similar titles."""
        entity = " ".join(entity.split())
        if not entity:
            return self.invalid("search wants the title of a page")
        found = self._find(entity)
        if isinstance(found, Missing):
            return f"Could not find {entity}. Similar: {list(found.similar)}."
        self._open = entity
        self._looked_up = ("", 0)
        return found.opening or EMPTY

    @action("lookup[{string}]")
    def lookup(self, string: Annotated[str, "words to find on the open page"]) -> str:
        """Read the next sentence of the open page that holds these words; repeat it for the one after."""
        words = " ".join(string.split()).casefold()
        if not words:
            return self.invalid("lookup wants words to look for")
        if self._open is None:
            return NO_PAGE
        page = self._seen[self._open]
        assert isinstance(page, Page)
        before, count = self._looked_up
        hits = [s for s in (" ".join(s.split()) for s in page.sentences) if words in s.casefold()]
        count = count + 1 if before == words else 1
        self._looked_up = (words, min(count, len(hits)))
        return f"(Result {count} / {len(hits)}) {hits[count - 1]}" if count <= len(hits) else NO_MORE

    @action("finish[{answer}]")
    def finish(self, answer: Answer) -> str:
        """Hand in the answer to the question and end the trial."""
        if not answered(answer):
            return self.invalid("finish wants an answer")
        self._answer = answer
        return HANDED_IN

    def snapshot(self) -> dict[str, Any] | None:
        """What was found by the last searches, the open page, how far lookups went, and the answer.

        None where pages can be searched again with the same outcome.
        """
        if self._pages.replays:
            return None
        return {
            "seen": [{"entity": entity, **_to_json(found)} for entity, found in self._seen.items()],
            "open": self._open,
            "looked_up": list(self._looked_up),
            "answer": self._answer,
        }

    def resume(self, snapshot: dict[str, Any]) -> None:
        """Go on from a snapshot."""
        self._seen = {entry["entity"]: _from_json(entry) for entry in snapshot["seen"]}
        self._open = snapshot["open"]
        words, count = snapshot["looked_up"]
        self._looked_up = (words, count)
        self._answer = snapshot["answer"]

    def _find(self, entity: str) -> Page | Missing:
        if entity not in self._seen:
            found = self._pages.find(entity)
            surplus = [key for key in self._seen if key != self._open or isinstance(found, Page)]
            for key in surplus[: max(0, len(self._seen) + 1 - KEPT)]:
                del self._seen[key]
            self._seen[entity] = found
        return self._seen[entity]


def search_tools(pages: Pages) -> list[BaseTool]:
    """The three tools for an agent of any kind: `search`, `lookup` and `finish`, over one set of pages.

    They remember the open page; make them anew for every conversation.

    Args:
        pages: Where pages come from, such as `HotPotQA(pages="wikipedia").pages()`.
    """
    return HotPotQAEpisode("", None, pages).tools


def _to_json(found: Page | Missing) -> dict[str, Any]:
    if isinstance(found, Missing):
        return {"similar": list(found.similar)}
    return {"title": found.title, "sentences": list(found.sentences)}


def _from_json(entry: dict[str, Any]) -> Page | Missing:
    if "similar" in entry:
        return Missing(tuple(entry["similar"]))
    return Page(entry["title"], tuple(entry["sentences"]))
