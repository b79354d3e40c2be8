"""A reader of questions from files, in HotPotQA's own form or that of the Hugging Face hub.

HotPotQA's files are JSON lists; `datasets` writes the hub's form as JSON Lines (`dataset.to_json("q.jsonl")`). Either
form is read from either kind of file, gzipped or not.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, StringConstraints, ValidationError, field_validator

from langgraph_reflexion.envs.base import Task
from langgraph_reflexion.envs.hotpotqa.pages import Page
from langgraph_reflexion.errors import ConfigurationError, explain
from langgraph_reflexion.support.files import Row, read_rows


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its answer and pages.

    Attributes:
        id: Its id.
        text: The question.
        answer: The right answer.
        supporting: The titles of the pages that answer it, in order.
        pages: The pages that came with it, distractors included.
    """

    id: str
    text: str
    answer: str
    supporting: tuple[str, ...] = ()
    pages: tuple[Page, ...] = ()


Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
"""Words of a question or an answer."""


class _Entry(BaseModel):
    id: str | int | None = None
    question: Words
    answer: Words
    supporting_facts: list[tuple[str, int]] = []
    context: list[tuple[str, list[str]]] = []

    @field_validator("supporting_facts", "context", mode="before")
    @classmethod
    def _pairs(cls, value: Any) -> Any:
        # The hub has a pair of lists instead of a list of pairs.
        if isinstance(value, dict):
            titles = value.get("title")
            others = value.get("sentences", value.get("sent_id"))
            if not isinstance(titles, list) or not isinstance(others, list):
                raise ValueError("must be lists of titles and of what belongs to them")
            return list(zip(titles, others, strict=True))
        return value or []


def task_data(task: Task) -> dict[str, Any]:
    """Return the data of a task.

    Raises:
        ConfigurationError: the task has none.
    """
    match data := task.get("data") or {}:
        case {"split": "own" | "path", "question": str(), "answer": str(), "supporting": [*_]}:
            # The seed chooses the pages; nothing else may.
            if isinstance(data.get("seed", 0), int):
                return data
    raise ConfigurationError(f"the task {task['id']!r} is neither a question nor a claim with its answer")


def read_questions(path: Path, parse: Callable[[Row], Question] | None = None) -> Iterator[Question]:
    """Yield the questions of a JSON or JSON Lines file, in order.

    Args:
        path: The file.
        parse: Makes a question of an entry, HotPotQA's unless given. Without an id, it gets its number.

    Raises:
        ConfigurationError: an entry is not a question with an answer; the message names it.
    """
    parse = parse or _question
    seen: set[str] = set()
    for number, (place, row) in enumerate(read_rows(path), 1):
        try:
            question = parse(row)
        except ValidationError as error:
            raise ConfigurationError(f"{place}: {explain(error)}") from error
        if not question.id:
            question = replace(question, id=str(number))
        if question.id in seen:
            raise ConfigurationError(f"{place}: another entry has the id {question.id!r}")
        seen.add(question.id)
        yield question


def _question(row: Row) -> Question:
    entry = _Entry.model_validate(row)
    id_ = ""
    # The official name, then the hub's. An id may be 0.
    key = row.get("_id") or entry.id
    if key is not None:
        id_ = str(key)
    # Each title once, though several of its sentences may support the answer.
    supporting = dict.fromkeys(title for title, _ in entry.supporting_facts)
    pages = [Page(title, tuple(sentences)) for title, sentences in entry.context]
    return Question(id_, entry.question, entry.answer, tuple(supporting), tuple(pages))


def read_pages(path: Path) -> Iterator[Page]:
    """Yield the pages of a JSON Lines file, each with a `title`, and `text` or a list of `sentences`.

    Raises:
        ConfigurationError: an entry is not a page; the message names it.
    """
    for place, entry in read_rows(path):
        match entry:
            case {"title": str(title), "sentences": [*sentences]} if all(isinstance(each, str) for each in sentences):
                yield Page(title, tuple(sentences))
            case {"title": str(title), "text": str(text)}:
                yield Page.from_text(title, text)
            case _:
                raise ConfigurationError(f"{place}: a page needs a 'title', and a 'text' or a list of 'sentences'")
