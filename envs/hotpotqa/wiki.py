"""Environments on a searchable wiki: their tasks, and their pages, offline or live."""

import os
import threading
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from langgraph_reflexion.envs.actions import normalize_action
from langgraph_reflexion.envs.base import Action, Environment, ObservedStep, Task
from langgraph_reflexion.envs.grammar import parse_forms, same_call
from langgraph_reflexion.envs.hotpotqa.corpus import Corpus
from langgraph_reflexion.envs.hotpotqa.episode import WikiEpisode, handed_in
from langgraph_reflexion.envs.hotpotqa.facts import missed_in
from langgraph_reflexion.envs.hotpotqa.grading import normalize
from langgraph_reflexion.envs.hotpotqa.langchain_wikipedia import LangChainPages
from langgraph_reflexion.envs.hotpotqa.mediawiki import WIKIPEDIA, MediaWiki
from langgraph_reflexion.envs.hotpotqa.pages import Page, Pages
from langgraph_reflexion.envs.hotpotqa.questions import Question, read_pages, task_data
from langgraph_reflexion.envs.hotpotqa.world.questions import own_world
from langgraph_reflexion.errors import ConfigurationError, one_of

SOURCES = ("corpus", "wikipedia", "langchain")
"""The sources of pages, the default one first."""
TIMEOUT = 20.0
"""Seconds after which a request to a live wiki fails, unless given."""
_LIVE_ONLY: Mapping[str, Any] = {"api": WIKIPEDIA, "contact": None, "timeout": TIMEOUT}
"""The options that say something of live pages alone, with their defaults."""


class WikiEnvironment(Environment):
    """Questions or claims that are settled with `search`, `lookup` and `finish`, and graded by exact match.

    Args:
        pages: The source of pages: `corpus` (those that came with the questions, offline), `wikipedia` (live pages)
            or `langchain` (live pages through langchain-community's tool). Results from different sources are not
            comparable.
        path: A file of questions or claims in the official form, which becomes the default split `path`.
        seed: The seed of the generated tasks and pages.
        corpus: A file of pages for `corpus` instead of those that came with the questions: JSON Lines with a `title`,
            and a `text` or a list of `sentences`.
        api: The URL of the live wiki's API; the English Wikipedia's by default.
        contact: An e-mail or web address for the user agent. Wikimedia asks for one, and may block clients without.
        timeout: Seconds after which a request fails: without data, and for a whole response.

    Raises:
        ConfigurationError: an option is invalid, or conflicts with another.
        EnvironmentUnavailable: `langchain` without langchain-community.
    """

    episode: ClassVar[type[WikiEpisode]] = WikiEpisode

    def __init__(
        self,
        pages: str = SOURCES[0],
        path: str | os.PathLike[str] | None = None,
        seed: int = 0,
        corpus: str | os.PathLike[str] | None = None,
        api: str = WIKIPEDIA,
        contact: str | None = None,
        timeout: float = TIMEOUT,
    ) -> None:
        one_of("pages", pages, SOURCES)
        if corpus is not None and pages != "corpus":
            raise ConfigurationError(f"corpus= goes with pages='corpus', and pages is {pages!r}")
        if pages == "corpus":
            # An empty contact is none.
            _expect_defaults(api=api, contact=contact or None, timeout=timeout)
        self.seed = seed
        self.path: Path | None = None
        if path is not None:
            self.path = Path(path).expanduser().resolve()
            self.splits = ("path", *type(self).splits)
        self.corpus: Path | None = None
        if corpus is not None:
            self.corpus = Path(corpus).expanduser().resolve()
        # The generated pages are in memory.
        self.blocking = pages != "corpus" or path is not None or corpus is not None
        self._questions: list[Question] | None = None
        self._corpora: dict[Path | int, Corpus] = {}
        # Episodes start in threads, but a large file is read once.
        self._lock = threading.RLock()
        self._wiki: Pages | None = None
        if pages == "wikipedia":
            self._wiki = MediaWiki(api, contact, timeout)
        elif pages == "langchain":
            self._wiki = LangChainPages(MediaWiki(api, contact, timeout))

    @abstractmethod
    def read(self, path: Path) -> Iterable[Question]:
        """Yield the questions of a file, with the pages that came with them; see `read_questions`."""

    @abstractmethod
    def own(self, split: str) -> Sequence[Question]:
        """Return the generated questions of a split."""

    def tasks(self, split: str | None = None, limit: int | None = None) -> Sequence[Task]:
        chosen = self.choose_split(split)
        questions: Sequence[Question]
        if chosen == "path":
            questions = self._from_path()
        else:
            questions = self.own(chosen)
        return [self._task(chosen, question) for question in questions[:limit]]

    def start(self, task: Task) -> WikiEpisode:
        data = task_data(task)
        # The answer may be unknown, as in Studio.
        gold = data["answer"] or None
        return self.episode(data["question"], gold, self.pages(task))

    def restore(self, task: Task, snapshot: dict[str, Any]) -> WikiEpisode:
        episode = self.start(task)
        episode.resume(snapshot)
        return episode

    def pages(self, task: Task) -> Pages:
        """Return the pages that a task's episodes search.

        Raises:
            ConfigurationError: this is not a task of a wiki, or its questions came without pages.
            EnvironmentUnavailable: the pages cannot be read or cached.
        """
        return self._wiki or self._corpus(task, self.corpus)

    def answer(self, task: Task) -> str:
        return str(task_data(task)["answer"])

    def equivalent(self, one: Action, other: Action) -> bool:
        """Return whether two actions mean the same; answers are compared as the official grading does."""
        if one["name"] == other["name"] == "finish":
            this = normalize(str(one["args"].get("answer")))
            that = normalize(str(other["args"].get("answer")))
            return this == that
        return same_call(one, other)

    def final_answer(self, task: Task, action: Action) -> str | None:
        """Return the answer that an action hands in, in small letters; see `SupportsFinalAnswer`."""
        answer = handed_in([action])
        if answer is None:
            return None
        return " ".join(answer.split()).casefold()

    def trial_facts(self, task: Task, opening: str, steps: Sequence[ObservedStep]) -> list[str]:
        return missed_in(steps)

    def parse(self, text: str) -> Action | None:
        """Read an action written as text, with the blanks and the full stop that models add."""
        return parse_forms(self.actions(), normalize_action(text))

    def close(self) -> None:
        """Close corpora and connections; new episodes open them again."""
        with self._lock:
            while self._corpora:
                _, corpus = self._corpora.popitem()
                corpus.close()
        if self._wiki is not None:
            self._wiki.close()

    def _task(self, split: str, question: Question) -> Task:
        data: dict[str, Any] = {
            "split": "path",
            "question": question.text,
            "answer": question.answer,
            "supporting": list(question.supporting),
        }
        if split != "path":
            # All generated tasks use the pages of one country.
            data["split"] = "own"
            data["seed"] = self.seed
        # No kind: the agent has to find out the question's type, and all examples fit.
        return Task(id=question.id, instruction=f"{self.episode.label}: {question.text}", data=data)

    def _from_path(self) -> list[Question]:
        with self._lock:
            if self._questions is None:
                # Their pages are in the corpus.
                self._questions = [replace(question, pages=()) for question in self.read(self._file())]
            if not self._questions:
                raise ConfigurationError(f"{self.path} contains no tasks")
            return self._questions

    def _file(self) -> Path:
        if self.path is None:
            raise ConfigurationError("this task's question is from a file: give it as path=")
        return self.path

    def _corpus(self, task: Task, file: Path | None = None) -> Corpus:
        """Return the pages in a file, or those that came with a task's question."""
        data = task_data(task)
        source: Path | int = data.get("seed", 0)
        if file is not None:
            source = file
        elif data["split"] == "path":
            source = self._file()
        with self._lock:
            if source not in self._corpora:
                self._corpora[source] = self._open(source)
            return self._corpora[source]

    def _open(self, source: Path | int) -> Corpus:
        if not isinstance(source, Path):
            return Corpus.in_memory(own_world(source).pages)
        read = self._paragraphs
        if source == self.corpus:
            read = read_pages
        corpus = Corpus.cached(source, partial(read, source))
        if not len(corpus):
            corpus.close()
            raise ConfigurationError(f"{source} contains no pages: give some as corpus=, or use pages='wikipedia'")
        return corpus

    def _paragraphs(self, path: Path) -> Iterable[Page]:
        for question in self.read(path):
            yield from question.pages


def _expect_defaults(**options: Any) -> None:
    """Refuse the options of live pages where there are none.

    Raises:
        ConfigurationError: one differs from its default.
    """
    for name, value in options.items():
        if value != _LIVE_ONLY[name]:
            raise ConfigurationError(
                f"{name}= goes with live pages, and pages is 'corpus': leave it out, or give pages='wikipedia' or "
                "'langchain'"
            )
