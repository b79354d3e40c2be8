"""HotPotQA (Yang et al. 2018): questions that take two pages, on pages that can be searched."""

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from langgraph_reflexion.envs.actions import tidy
from langgraph_reflexion.envs.base import (
    Action,
    Environment,
    FinishedTrial,
    MemoryMap,
    Review,
    Seen,
    Task,
    choose_split,
)
from langgraph_reflexion.envs.hotpotqa.answering import Answering
from langgraph_reflexion.envs.hotpotqa.asking import own_world
from langgraph_reflexion.envs.hotpotqa.corpus import Corpus
from langgraph_reflexion.envs.hotpotqa.episode import HotPotQAEpisode
from langgraph_reflexion.envs.hotpotqa.grading import answered, exact_match, normalize, overlap
from langgraph_reflexion.envs.hotpotqa.mediawiki import MediaWiki, api_address
from langgraph_reflexion.envs.hotpotqa.memory_map import draw
from langgraph_reflexion.envs.hotpotqa.pages import Page, Pages
from langgraph_reflexion.envs.hotpotqa.query_run import QueryRunPages
from langgraph_reflexion.envs.hotpotqa.questions import Question, read_pages, read_questions, task_data
from langgraph_reflexion.envs.hotpotqa.topics import TOPIC_SPLITS, topic_questions
from langgraph_reflexion.envs.hotpotqa.transport import Transport
from langgraph_reflexion.errors import ConfigurationError, EnvironmentUnavailable

SOURCES = ("corpus", "wikipedia", "langchain")
"""Where pages can come from, the default one first."""


class HotPotQA(Environment):
    """Questions to be answered with `search`, `lookup` and `finish`; graded by exact match.

    Args:
        pages: Where pages come from: `corpus` for those that came with the questions, offline; `wikipedia` for
            the live ones; `langchain` for what langchain-community's tool says of them. Results from different
            sources are not to be compared.
        path: A file of questions, HotPotQA's or the hub's, which then is the split `path`, and the default one.
        seed: Which questions and pages of the project's own, for the split `own`.
        corpus: A file of pages for `corpus` in the place of those that came with the questions: JSON Lines with
            a `title`, and a `text` or a list of `sentences`.
        language: Of which Wikipedia the live pages are.
        api: The address of another wiki's API; goes before `language`.
        contact: An e-mail or web address that is told to the wiki: Wikimedia asks for one, and may block without.
        timeout: After how many seconds of silence a request is given up; so is an answer that takes longer.
        page_chars: How much of a live page is read.

    Raises:
        ConfigurationError: an option is not what it should be, or does not fit another.
        EnvironmentUnavailable: `langchain` without langchain-community.
    """

    name = "hotpotqa"
    splits: tuple[str, ...] = ("own", *TOPIC_SPLITS)
    episode = HotPotQAEpisode
    variants = ("cot", "cot-gt")

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
        page_chars: int = 20_000,
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
        # Episodes start in threads, and a large file is to be read, and its corpus built, once.
        self._lock = threading.RLock()
        self._wiki: Pages | None = None
        if pages != "corpus":
            transport = Transport(api or api_address(language), contact, timeout)
            wiki = MediaWiki(transport, page_chars)
            self._wiki = wiki if pages == "wikipedia" else QueryRunPages(wiki)

    def tasks(self, split: str | None = None, limit: int | None = None) -> Sequence[Task]:
        """The questions of a split as tasks; see `Environment.tasks`."""
        chosen = choose_split(self, split)
        questions = self._from_path() if chosen == "path" else _own_questions(chosen, self.seed)
        return [self._task(chosen, question) for question in questions[:limit]]

    def start(self, task: Task) -> HotPotQAEpisode:
        """Start a fresh episode of a task; see `Environment.start`."""
        data = task_data(task)
        return HotPotQAEpisode(data["question"], data["answer"], self.pages(task))

    def restore(self, task: Task, snapshot: dict[str, Any]) -> HotPotQAEpisode:
        """Bring back an episode over live pages, without a request; see `Environment.restore`."""
        episode = self.start(task)
        episode.resume(snapshot)
        return episode

    def pages(self, task: Task | None = None) -> Pages:
        """The pages that are searched.

        Args:
            task: For which task; for one of the default split unless given.

        Raises:
            ConfigurationError: this is no task of HotPotQA's, or its questions came without pages.
            EnvironmentUnavailable: the pages cannot be read, or not be kept.
        """
        if self._wiki is not None:
            return self._wiki
        if self.corpus is not None:
            return self._corpus("corpus", 0)
        return self._corpus_of(task or self.tasks(limit=1)[0])

    def context(self, task: Task) -> str:
        """The paragraphs that answer a task, each once and in order, for an agent that is given them.

        They are those that came with the questions, wherever else pages come from.

        Raises:
            ConfigurationError: this is no task of HotPotQA's.
            EnvironmentUnavailable: they did not come with the questions (in `fullwiki`, not all do).
        """
        try:
            corpus = self._corpus_of(task)
        except ConfigurationError as error:
            raise EnvironmentUnavailable(
                "the paragraphs that answer the questions did not come with them: cot-gt needs the distractor file"
            ) from error
        told = []
        for title in task_data(task)["supporting"]:
            page = corpus.page(title)
            if page is None:
                raise EnvironmentUnavailable(
                    f"the page {title!r}, which answers {task['id']}, did not come with the questions: the file "
                    "of the distractor setting has it"
                )
            told.append(f"{page.title}: {' '.join(page.text.split())}")
        if not told:
            raise EnvironmentUnavailable(f"it is not known which pages answer {task['id']}: no supporting facts")
        return "\n\n".join(told)

    def variant(self, name: str) -> Answering:
        """The same questions without tools; see `Environment.variant`.

        Args:
            name: `cot` for answers from memory, `cot-gt` for answers from the paragraphs that hold them.
        """
        if name not in self.variants:
            raise ConfigurationError(f"HotPotQA has no variant {name!r}: choose one of {', '.join(self.variants)}")
        return Answering(self, name, self.context if name == "cot-gt" else None)

    def same(self, one: Action, other: Action) -> bool:
        """Whether two actions come to the same; two answers do, where the official grading sees no difference."""
        if one["name"] == other["name"] == "finish":
            return normalize(str(one["args"].get("answer"))) == normalize(str(other["args"].get("answer")))
        return super().same(one, other)

    def review(self, task: Task, trial: FinishedTrial) -> Review:
        """Measure the answer that was handed in: exact match, and F1 with its precision and recall.

        All are 0 where none was.
        """
        said = (str(a["args"].get("answer") or "") for a in trial["actions"] if a["name"] == "finish")
        answer, gold = next(filter(answered, said), None), task_data(task)["answer"]
        return Review(measures={"exact_match": float(exact_match(answer, gold)), **overlap(answer, gold)._asdict()})

    def memory_map(self, task: Task, opening: str, steps: Sequence[Seen], known: Mapping[str, Any]) -> MemoryMap:
        """The pages that were read, what was looked up on them, and titles that there are not.

        See `Environment.memory_map`.
        """
        return draw(steps, known)

    def parse(self, text: str) -> Action | None:
        """Read an action written as text, with blanks round the brackets or a full stop at the end, as models do."""
        return super().parse(tidy(text))

    def close(self) -> None:
        """Close corpora and connections. New episodes open them again."""
        with self._lock:
            while self._corpora:
                self._corpora.popitem()[1].close()
        if self._wiki is not None:
            self._wiki.close()

    def _task(self, split: str, question: Question) -> Task:
        data: dict[str, Any] = {
            # Questions about shared topics are about pages of the same country.
            "split": "own" if split in TOPIC_SPLITS else split,
            "question": question.text,
            "answer": question.answer,
            "type": question.type,
            "level": question.level,
            "supporting": list(question.supporting),
        }
        if data["split"] == "own":
            data["seed"] = self.seed
        # Without a kind: which one a question is, is for the agent to see, and all examples fit.
        return Task(id=question.id, instruction=f"Question: {question.text}", data=data)

    def _from_path(self) -> list[Question]:
        with self._lock:
            if self._questions is None:
                # Their pages are in the corpus, and would fill the memory.
                self._questions = [replace(question, pages=()) for question in read_questions(self._file())]
            return self._questions

    def _file(self) -> Path:
        if self.path is None:
            raise ConfigurationError("this task's question is from a file of your own: give it as path=")
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
            raise ConfigurationError(f"{path} holds no pages: give some as corpus=, or use pages='wikipedia'")
        return corpus


def _own_questions(split: str, seed: int) -> Sequence[Question]:
    return topic_questions(split, seed) if split in TOPIC_SPLITS else own_world(seed).questions


def _paragraphs(path: Path) -> Iterator[Page]:
    for question in read_questions(path):
        yield from question.pages
