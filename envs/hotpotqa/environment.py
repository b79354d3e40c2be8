"""The HotPotQA environment (Yang et al. 2018): questions that take two pages of a searchable wiki."""

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from langgraph_reflexion.envs.actions import normalize_action
from langgraph_reflexion.envs.base import (
    Action,
    Environment,
    FinishedTrial,
    MemoryMap,
    ObservedStep,
    Review,
    Task,
    choose_split,
)
from langgraph_reflexion.envs.hotpotqa.chain_of_thought import ChainOfThought
from langgraph_reflexion.envs.hotpotqa.corpus import Corpus
from langgraph_reflexion.envs.hotpotqa.episode import HotPotQAEpisode
from langgraph_reflexion.envs.hotpotqa.grading import answered, exact_match, normalize, overlap
from langgraph_reflexion.envs.hotpotqa.langchain_wikipedia import LangChainPages
from langgraph_reflexion.envs.hotpotqa.mediawiki import MediaWiki, api_address
from langgraph_reflexion.envs.hotpotqa.memory_map import make_map
from langgraph_reflexion.envs.hotpotqa.pages import Page, Pages
from langgraph_reflexion.envs.hotpotqa.profiles import PROFILE_OVERRIDES
from langgraph_reflexion.envs.hotpotqa.questions import Question, read_pages, read_questions, task_data
from langgraph_reflexion.envs.hotpotqa.world.questions import TOPIC_SPLITS, own_world, topic_questions
from langgraph_reflexion.errors import ConfigurationError, EnvironmentUnavailable

SOURCES = ("corpus", "wikipedia", "langchain")
"""The sources of pages, the default one first."""


class HotPotQA(Environment):
    """Questions that are answered with `search`, `lookup` and `finish`, and graded by exact match.

    Args:
        pages: The source of pages: `corpus` (those that came with the questions, offline), `wikipedia` (live pages)
            or `langchain` (live pages through langchain-community's tool). Results from different sources are not
            comparable.
        path: A file of questions, HotPotQA's or the hub's, which becomes the default split `path`.
        seed: The seed of the generated questions and pages of the split `own`.
        corpus: A file of pages for `corpus` instead of those that came with the questions: JSON Lines with a `title`,
            and a `text` or a list of `sentences`.
        language: The language of the live Wikipedia.
        api: The URL of another wiki's API; takes precedence over `language`.
        contact: An e-mail or web address for the user agent. Wikimedia asks for one, and may block clients without.
        timeout: Seconds after which a request fails: without data, and for a whole response.

    Raises:
        ConfigurationError: an option is invalid, or conflicts with another.
        EnvironmentUnavailable: `langchain` without langchain-community.
    """

    name = "hotpotqa"
    reply_tokens = 1024
    splits: tuple[str, ...] = ("own", *TOPIC_SPLITS)
    episode = HotPotQAEpisode
    variants = ("cot", "cot-gt")
    profile_overrides = PROFILE_OVERRIDES

    def __init__(
        self,
        pages: str = SOURCES[0],
        path: str | os.PathLike[str] | None = None,
        seed: int = 0,
        corpus: str | os.PathLike[str] | None = None,
        language: str = "en",
        api: str | None = None,
        contact: str | None = None,
        timeout: float = 20.0,
    ) -> None:
        if pages not in SOURCES:
            raise ConfigurationError(f"HotPotQA has no pages {pages!r}: choose one of {', '.join(SOURCES)}")
        if corpus is not None and pages != "corpus":
            raise ConfigurationError(f"corpus= goes with pages='corpus', and pages is {pages!r}")
        self.seed = seed
        self.path = None if path is None else Path(path).expanduser().resolve()
        self.corpus = None if corpus is None else Path(corpus).expanduser().resolve()
        self.blocking = pages != "corpus" or path is not None or corpus is not None
        if path is not None:
            self.splits = ("path", *type(self).splits)
        self._questions: list[Question] | None = None
        self._corpora: dict[tuple[str, int], Corpus] = {}
        # Episodes start in threads, but a large file is read once.
        self._lock = threading.RLock()
        self._wiki: Pages | None = None
        if pages != "corpus":
            wiki = MediaWiki(api or api_address(language), contact, timeout)
            self._wiki = wiki if pages == "wikipedia" else LangChainPages(wiki)

    def tasks(self, split: str | None = None, limit: int | None = None) -> Sequence[Task]:
        chosen = choose_split(self, split)
        questions = self._from_path() if chosen == "path" else _own_questions(chosen, self.seed)
        return [self._task(chosen, question) for question in questions[:limit]]

    def start(self, task: Task) -> HotPotQAEpisode:
        data = task_data(task)
        return HotPotQAEpisode(data["question"], data["answer"], self.pages(task))

    def restore(self, task: Task, snapshot: dict[str, Any]) -> HotPotQAEpisode:
        episode = self.start(task)
        episode.resume(snapshot)
        return episode

    def pages(self, task: Task | None = None) -> Pages:
        """Return the pages that a task's episodes search.

        Args:
            task: The task; the first of the default split if None.

        Raises:
            ConfigurationError: this is not a HotPotQA task, or its questions came without pages.
            EnvironmentUnavailable: the pages cannot be read or cached.
        """
        if self._wiki is not None:
            return self._wiki
        if self.corpus is not None:
            return self._corpus("corpus", 0)
        return self._corpus_of(task or self.tasks(limit=1)[0])

    def context(self, task: Task) -> str:
        """Return the paragraphs that answer a task, in order, from those that came with the questions.

        Raises:
            ConfigurationError: this is not a HotPotQA task, or its questions came without pages.
            EnvironmentUnavailable: a page did not come with the questions (in `fullwiki`, some are missing).
        """
        corpus, paragraphs = self._corpus_of(task), []
        for title in task_data(task)["supporting"] or [""]:
            page = corpus.page(title)
            if page is None:
                raise EnvironmentUnavailable(
                    f"the page {title!r}, which answers {task['id']}, did not come with the questions: use the file "
                    "of the distractor setting"
                )
            paragraphs.append(f"{page.title}: {' '.join(page.text.split())}")
        return "\n\n".join(paragraphs)

    def variant(self, name: str) -> ChainOfThought:
        """Return the questions without tools: `cot` from memory, `cot-gt` from the supporting paragraphs."""
        if name not in self.variants:
            raise ConfigurationError(f"HotPotQA has no variant {name!r}: choose one of {', '.join(self.variants)}")
        return ChainOfThought(self, name, self.context if name == "cot-gt" else None)

    def equivalent(self, one: Action, other: Action) -> bool:
        """Return whether two actions mean the same; answers are compared as the official grading does."""
        if one["name"] == other["name"] == "finish":
            return normalize(str(one["args"].get("answer"))) == normalize(str(other["args"].get("answer")))
        return super().equivalent(one, other)

    def review(self, task: Task, trial: FinishedTrial) -> Review:
        """Return exact match, F1, precision and recall of the answer; all are 0 without an answer."""
        answers = (str(a["args"].get("answer") or "") for a in trial["actions"] if a["name"] == "finish")
        answer, gold = next(filter(answered, answers), None), task_data(task)["answer"]
        return Review(measures={"exact_match": float(exact_match(answer, gold)), **overlap(answer, gold)._asdict()})

    def memory_map(
        self, task: Task, opening: str, steps: Sequence[ObservedStep], known: Mapping[str, Any]
    ) -> MemoryMap:
        return make_map(steps, known)

    def parse(self, text: str) -> Action | None:
        """Read an action written as text, with the blanks and the full stop that models add."""
        return super().parse(normalize_action(text))

    def close(self) -> None:
        """Close corpora and connections; new episodes open them again."""
        with self._lock:
            while self._corpora:
                self._corpora.popitem()[1].close()
        if self._wiki is not None:
            self._wiki.close()

    def _task(self, split: str, question: Question) -> Task:
        data: dict[str, Any] = {
            # Questions about shared topics use the pages of the same country.
            "split": "own" if split in TOPIC_SPLITS else split,
            "question": question.text,
            "answer": question.answer,
            "type": question.type,
            "level": question.level,
            "supporting": list(question.supporting),
        }
        if data["split"] == "own":
            data["seed"] = self.seed
        # No kind: the agent has to find out the question's type, and all examples fit.
        return Task(id=question.id, instruction=f"Question: {question.text}", data=data)

    def _from_path(self) -> list[Question]:
        with self._lock:
            if self._questions is None:
                # Their pages are in the corpus.
                self._questions = [replace(question, pages=()) for question in read_questions(self._file())]
            return self._questions

    def _file(self) -> Path:
        if self.path is None:
            raise ConfigurationError("this task's question is from a file: give it as path=")
        return self.path

    def _corpus_of(self, task: Task) -> Corpus:
        data = task_data(task)
        return self._corpus(data["split"], data.get("seed", 0))

    def _corpus(self, name: str, seed: int) -> Corpus:
        with self._lock:
            if (name, seed) not in self._corpora:
                self._corpora[name, seed] = self._open(name, seed)
            return self._corpora[name, seed]

    def _open(self, name: str, seed: int) -> Corpus:
        if name == "own":
            return Corpus.in_memory(own_world(seed).pages)
        path = self.corpus if name == "corpus" and self.corpus else self._file()
        corpus = Corpus.cached(path, partial(read_pages if name == "corpus" else _paragraphs, path))
        if not len(corpus):
            corpus.close()
            raise ConfigurationError(f"{path} contains no pages: give some as corpus=, or use pages='wikipedia'")
        return corpus


def _own_questions(split: str, seed: int) -> Sequence[Question]:
    return topic_questions(split, seed) if split in TOPIC_SPLITS else own_world(seed).questions


def _paragraphs(path: Path) -> Iterator[Page]:
    for question in read_questions(path):
        yield from question.pages
