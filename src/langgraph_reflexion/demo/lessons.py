"""What the reflections in a prompt say about the things of a question; what they say of others is of no use here."""

import re
from dataclasses import dataclass

from langgraph_reflexion.demo.library import closest
from langgraph_reflexion.demo.reading import Target, sentences_of


@dataclass(frozen=True)
class Lessons:
    """The sentences of all reflections in the prompt."""

    sentences: tuple[str, ...]

    @classmethod
    def of(cls, reflections: tuple[str, ...]) -> "Lessons":
        """Read the reflections."""
        return cls(tuple(sentence for text in reflections for sentence in sentences_of(text)))

    def not_yet(self, name: str) -> bool:
        """Whether this is only on the way to the answer."""
        return any("on the way" in sentence for sentence in self._on(name))

    def both(self, name: str) -> bool:
        """Whether both sides are to be read about, this one too."""
        return any("both" in sentence for sentence in self._on(name))

    def bare(self, answer: str) -> bool:
        """Whether this answer is to be handed in bare."""
        return any("nothing else" in sentence for sentence in self._on(answer))

    def word(self, title: str) -> str:
        """The word to look for on a page; empty where there is none."""
        found = (re.search(r"the word \"([^\"]+)\"", sentence) for sentence in self._on(title))
        return next((match[1] for match in found if match), "")

    def title(self, target: Target) -> str | None:
        """The title under which a target's page is found."""
        told = [title for s in self.sentences if "go straight to" in s for title in re.findall(r"search\[(.*?)\]", s)]
        return closest(told, target)

    def wrong(self, target: str) -> list[str]:
        """The answers that were wrong where this was asked about."""
        found = (re.search(r"\"([^\"]*)\" was wrong", sentence) for sentence in self._on(target))
        return [match[1] for match in found if match]

    def _on(self, name: str) -> list[str]:
        return [s for s in self.sentences if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", s)]
