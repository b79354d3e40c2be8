"""A reader of questions from files, in HotPotQA's own form or that of the Hugging Face hub.

HotPotQA's files are JSON lists; `datasets` writes the hub's form as JSON Lines (`dataset.to_json("q.jsonl")`). Either
form is read from either kind of file.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from langgraph_reflexion.envs.base import Task
from langgraph_reflexion.envs.hotpotqa.pages import Page
from langgraph_reflexion.errors import ConfigurationError, EnvironmentUnavailable


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its answer and pages."""

    id: str
    text: str
    answer: str
    type: str = ""
    """`bridge`, `comparison` or ""."""
    level: str = ""
    """`easy`, `medium`, `hard` or ""."""
    supporting: tuple[str, ...] = ()
    """The titles of the pages that answer it, in order."""
    pages: tuple[Page, ...] = ()
    """The pages that came with it, distractors included."""


def task_data(task: Task) -> dict[str, Any]:
    """Return the data of a task.

    Raises:
        ConfigurationError: this is not a HotPotQA task.
    """
    match data := task.get("data") or {}:
        case {"split": "own" | "path", "question": str(), "answer": str(), "supporting": [*_]}:
            return data
    raise ConfigurationError(f"the task {task['id']!r} is not a HotPotQA task")


def read_questions(path: Path) -> Iterator[Question]:
    """Yield the questions of a JSON or JSON Lines file, in order.

    Raises:
        EnvironmentUnavailable: the file cannot be read.
        ConfigurationError: an entry is not a question with an answer; the message names it.
    """
    seen = set()
    for place, entry in _entries(path):
        question = _question(entry, place)
        if question.id in seen:
            raise ConfigurationError(f"{place}: another question has the id {question.id!r}")
        seen.add(question.id)
        yield question


def read_pages(path: Path) -> Iterator[Page]:
    """Yield the pages of a JSON Lines file, each with a `title`, and `text` or a list of `sentences`.

    Raises:
        EnvironmentUnavailable: the file cannot be read.
        ConfigurationError: an entry is not a page; the message names it.
    """
    for place, entry in _entries(path):
        match entry:
            case {"title": str(title), "sentences": [*sentences]} if _texts(sentences):
                yield Page(title, tuple(sentences))
            case {"title": str(title), "text": str(text)}:
                yield Page.from_text(title, text)
            case _:
                raise ConfigurationError(f"{place}: a page needs a 'title', and a 'text' or a list of 'sentences'")


def _entries(path: Path) -> Iterator[tuple[str, Any]]:
    try:
        if path.is_dir():
            raise EnvironmentUnavailable(f"{path} is a folder: give a file, such as hotpot_dev_distractor_v1.json")
        with path.open("rb") as file:
            head = file.read(4)
        if head == b"PAR1":
            raise ConfigurationError(f"{path} is a Parquet file: write JSON with datasets.Dataset.to_json(...)")
        with path.open(encoding="utf-8-sig") as lines:
            first = next((line for line in lines if line.strip()), "")
            whole = first.lstrip().startswith("[")
            rest = chain([first], lines)
            yield from _whole(path, "".join(rest)) if whole else _by_line(path)
    except OSError as error:
        raise EnvironmentUnavailable(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{path} is not JSON: {error}") from error


def _whole(path: Path, text: str) -> Iterator[tuple[str, Any]]:
    try:
        entries = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{path} is not JSON: {error}") from error
    for number, entry in enumerate(entries, 1):
        yield f"{path}, entry {number}", entry


def _by_line(path: Path) -> Iterator[tuple[str, Any]]:
    with path.open(encoding="utf-8-sig") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                try:
                    yield f"{path}, line {number}", json.loads(line)
                except (ValueError, RecursionError) as error:
                    raise ConfigurationError(f"{path}, line {number}: not JSON: {error}") from error


def _question(entry: Any, place: str) -> Question:
    if not isinstance(entry, dict):
        raise ConfigurationError(f"{place}: a question must be an object")
    for key in ("question", "answer"):
        if key not in entry:
            raise ConfigurationError(f"{place} has no {key!r}: without it, a question cannot be graded")
        if not isinstance(entry[key], str) or not entry[key].strip():
            raise ConfigurationError(f"{place}: {key!r} must be text")
    facts, context = entry.get("supporting_facts") or [], entry.get("context") or []
    # The hub has pairs of lists instead of lists of pairs.
    if isinstance(facts, dict):
        facts = _zipped(facts, "title", "sent_id", place)
    if isinstance(context, dict):
        context = _zipped(context, "title", "sentences", place)
    for key, pairs in (("supporting_facts", facts), ("context", context)):
        if not isinstance(pairs, list):
            raise ConfigurationError(f"{place}, {key}: must be a list, not {type(pairs).__name__}")
    titles = [_pair(fact, f"{place}, supporting_facts")[0] for fact in facts]
    pages = [_pair(paragraph, f"{place}, context") for paragraph in context]
    if not all(isinstance(sentences, list) and _texts(sentences) for _, sentences in pages):
        raise ConfigurationError(f"{place}, context: a paragraph must be a title and a list of sentences")
    return Question(
        id=str(
            next((entry[key] for key in ("_id", "id") if entry.get(key) not in (None, "")), place.rpartition(" ")[2])
        ),
        text=entry["question"].strip(),
        answer=entry["answer"].strip(),
        type=str(entry.get("type") or ""),
        level=str(entry.get("level") or ""),
        supporting=tuple(dict.fromkeys(titles)),
        pages=tuple(Page(title, tuple(sentences)) for title, sentences in pages),
    )


def _zipped(columns: dict[str, Any], first: str, second: str, place: str) -> list[tuple[Any, Any]]:
    try:
        return list(zip(columns[first], columns[second], strict=True))
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigurationError(f"{place}: {first!r} and {second!r} must be lists of equal length") from error


def _pair(value: Any, place: str) -> tuple[str, Any]:
    match value:
        case [str(title), other]:
            return title, other
    raise ConfigurationError(f"{place}: {value!r:.60} is not a pair that begins with a title")


def _texts(values: list[Any]) -> bool:
    return all(isinstance(value, str) for value in values)
