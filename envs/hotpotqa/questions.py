"""Questions from files: HotPotQA's own JSON and the form of the Hugging Face hub, read into one.

HotPotQA's files are a JSON list; `datasets` writes the hub's form as JSON, a question to a line
(`dataset.to_json("questions.jsonl")`). Either form is read from either kind of file.
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
    """A question, its answer, and where that stands."""

    id: str
    text: str
    answer: str
    type: str = ""
    """`bridge` or `comparison`, where it is known."""
    level: str = ""
    """`easy`, `medium` or `hard`, where it is known."""
    supporting: tuple[str, ...] = ()
    """The titles of the pages that answer it, each once, in order."""
    pages: tuple[Page, ...] = ()
    """The pages that came with it: those, and others that do not answer it."""


def task_data(task: Task) -> dict[str, Any]:
    """What a task says of its question.

    Raises:
        ConfigurationError: this is no task of HotPotQA's.
    """
    match data := task.get("data") or {}:
        case {"split": "own" | "path", "question": str(), "answer": str(), "supporting": [*_]}:
            return data
    raise ConfigurationError(f"the task {task['id']!r} is none of HotPotQA's")


def read_questions(path: Path) -> Iterator[Question]:
    """The questions of a file, in its order.

    Args:
        path: A JSON list, or JSON Lines; HotPotQA's form or the hub's.

    Raises:
        EnvironmentUnavailable: the file cannot be read.
        ConfigurationError: it does not hold questions with answers; the message says where.
    """
    seen = set()
    for place, entry in _entries(path):
        question = _question(entry, place)
        if question.id in seen:
            raise ConfigurationError(f"{place}: there was a question {question.id!r} before")
        seen.add(question.id)
        yield question


def read_pages(path: Path) -> Iterator[Page]:
    """The pages of a file of JSON Lines, each with a `title`, and `text` or a list of `sentences`.

    Raises:
        EnvironmentUnavailable: the file cannot be read.
        ConfigurationError: it does not hold pages; the message says where.
    """
    for place, entry in _entries(path):
        match entry:
            case {"title": str(title), "sentences": [*sentences]} if _texts(sentences):
                yield Page(title, tuple(sentences))
            case {"title": str(title), "text": str(text)}:
                yield Page.from_text(title, text)
            case _:
                raise ConfigurationError(f"{place}: a page has a 'title' and a 'text', or a list of 'sentences'")


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
        raise ConfigurationError(f"{path} is no JSON: {error}") from error


def _whole(path: Path, text: str) -> Iterator[tuple[str, Any]]:
    try:
        entries = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{path} is no JSON: {error}") from error
    for number, entry in enumerate(entries, 1):
        yield f"{path}, entry {number}", entry


def _by_line(path: Path) -> Iterator[tuple[str, Any]]:
    with path.open(encoding="utf-8-sig") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                try:
                    yield f"{path}, line {number}", json.loads(line)
                except (ValueError, RecursionError) as error:
                    raise ConfigurationError(f"{path}, line {number}: no JSON: {error}") from error


def _question(entry: Any, place: str) -> Question:
    if not isinstance(entry, dict):
        raise ConfigurationError(f"{place}: a question is an object, and this is none")
    for key in ("question", "answer"):
        if key not in entry:
            raise ConfigurationError(f"{place} has no {key!r}: what cannot be graded, as the test set, is of no use")
        if not isinstance(entry[key], str) or not entry[key].strip():
            raise ConfigurationError(f"{place}: {key!r} is no text")
    facts, context = entry.get("supporting_facts") or [], entry.get("context") or []
    # The hub turns lists of pairs into pairs of lists.
    if isinstance(facts, dict):
        facts = _zipped(facts, "title", "sent_id", place)
    if isinstance(context, dict):
        context = _zipped(context, "title", "sentences", place)
    for key, pairs in (("supporting_facts", facts), ("context", context)):
        if not isinstance(pairs, list):
            raise ConfigurationError(f"{place}, {key}: a list is expected, and this is {type(pairs).__name__}")
    titles = [_pair(fact, f"{place}, supporting_facts")[0] for fact in facts]
    pages = [_pair(paragraph, f"{place}, context") for paragraph in context]
    if not all(isinstance(sentences, list) and _texts(sentences) for _, sentences in pages):
        raise ConfigurationError(f"{place}, context: a paragraph is a title and a list of sentences")
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
        raise ConfigurationError(f"{place}: {first!r} and {second!r} are not two lists of one length") from error


def _pair(value: Any, place: str) -> tuple[str, Any]:
    match value:
        case [str(title), other]:
            return title, other
    raise ConfigurationError(f"{place}: {value!r:.60} is no pair that begins with a title")


def _texts(values: list[Any]) -> bool:
    return all(isinstance(value, str) for value in values)
