"""Episodes on a wiki: search for a page, look up words on it, finish with an answer (ReAct, Yao et al. 2023)."""

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BaseModel

from langgraph_reflexion.envs.base import Action, Episode, StepResult, action
from langgraph_reflexion.envs.hotpotqa.grading import answered, exact_match
from langgraph_reflexion.envs.hotpotqa.pages import Missing, Page, Pages
from langgraph_reflexion.errors import validated


class _OpenPage(BaseModel):
    title: str
    sentences: tuple[str, ...]


class _Snapshot(BaseModel):
    open: _OpenPage | None
    looked_up: tuple[str, int]
    answer: str | None


Answer = Annotated[str, "the answer: a name, a number, yes or no; nothing else"]

HANDED_IN = "Your answer is handed in, and the trial is over."
EMPTY = "The page is open, but there is no text on it."
NO_MORE = "No more results."
NO_PAGE = "No page is open to look in: search for one first."
OVER = "The episode is over: no further action is possible."


class WikiEpisode(Episode):
    """An attempt at a question or a claim.

    A page stays open until a search finds another one, as in ReAct. Without the right answer, the reward is 0.0.

    Args:
        question: The question.
        gold: The right answer; None if it is unknown, so that there is no reward.
        pages: The source of pages.
    """

    label = "Question"
    """What a task is called in its first observation."""

    def __init__(self, question: str, gold: str | None, pages: Pages) -> None:
        self.observation = f"{self.label}: {question}"
        self._gold = gold
        self._pages = pages
        self._open: Page | None = None
        self._looked_up = ("", 0)
        self._answer: str | None = None

    def step(self, action: Action) -> StepResult:
        result = StepResult(OVER)
        if self._answer is None:
            result = super().step(action)
        reward: float | None = None
        if self._gold is not None:
            reward = float(exact_match(self._answer, self._gold))
        return StepResult(result.observation, reward, terminated=self._answer is not None)

    @action("search[{entity}]")
    def search(self, entity: Annotated[str, "the exact title of a page: a person, a place, a work, ..."]) -> str:
        """Open the page of that title and read its first sentences; without one, get similar titles."""
        entity = " ".join(entity.split())
        if not entity:
            return self.invalid("search needs the title of a page")
        found = self._pages.find(entity)
        if isinstance(found, Missing):
            return f"Could not find {entity}. Similar: {list(found.similar)}."
        self._open = found
        self._looked_up = ("", 0)
        return found.opening or EMPTY

    @action("lookup[{string}]")
    def lookup(self, string: Annotated[str, "words to find on the open page"]) -> str:
        """Read the next sentence of the open page that holds these words; repeat it for the one after."""
        words = " ".join(string.split()).casefold()
        if not words:
            return self.invalid("lookup needs words to look for")
        if self._open is None:
            return NO_PAGE
        hits = []
        for each in self._open.sentences:
            sentence = " ".join(each.split())
            if words in sentence.casefold():
                hits.append(sentence)
        count = 1
        before, count_before = self._looked_up
        if words == before:
            count = count_before + 1
        self._looked_up = (words, min(count, len(hits)))
        if count > len(hits):
            return NO_MORE
        return f"(Result {count} / {len(hits)}) {hits[count - 1]}"

    @action("finish[{answer}]")
    def finish(self, answer: Answer) -> str:
        """Hand in the answer to the question and end the trial."""
        if not answered(answer):
            return self.invalid("finish needs an answer")
        self._answer = answer
        return HANDED_IN

    def snapshot(self) -> dict[str, Any] | None:
        """Return the open page, the position of lookups, and the answer; None if searches are repeatable."""
        if self._pages.replays:
            return None
        page: dict[str, Any] | None = None
        if self._open is not None:
            page = {"title": self._open.title, "sentences": list(self._open.sentences)}
        return {
            "open": page,
            "looked_up": list(self._looked_up),
            "answer": self._answer,
        }

    def resume(self, snapshot: dict[str, Any]) -> None:
        """Restore the state from a snapshot.

        Raises:
            ConfigurationError: it is not a snapshot of such an episode, as in a state that was edited.
        """
        read = validated(_Snapshot, snapshot, "{} in a snapshot of a trial on a wiki")
        if read.open:
            self._open = Page(read.open.title, read.open.sentences)
        self._looked_up = read.looked_up
        self._answer = read.answer


def handed_in(actions: Sequence[Action]) -> str | None:
    """Return the answer that these actions have handed in, or None."""
    for each in actions:
        if each["name"] != "finish":
            continue
        given = each["args"].get("answer")
        # A tool call may give a number, of which 0 is an answer, too.
        answer = ""
        if given is not None:
            answer = str(given)
        # Without one, it did not end the trial.
        if answered(answer):
            return answer
    return None
