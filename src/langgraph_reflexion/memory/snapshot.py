"""Snapshots of the lessons of one environment and user, assembled from their records."""

import re
import sqlite3
from collections import defaultdict
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.memory.records import LessonEdit, LessonSource, Record

_TABLE = "CREATE VIRTUAL TABLE lessons USING fts5(id UNINDEXED, about, tokenize='porter unicode61')"
_SEARCH = "SELECT id FROM lessons WHERE about MATCH ? ORDER BY bm25(lessons), id"
_FUNCTION_WORDS = (
    "a an and are as at be but by for if in into is it no not of on or such that the their then there these they "
    "this to was will with"
)


@dataclass
class Lesson:
    """A lesson with its sources and a person's decisions, each oldest first."""

    id: str
    text: str
    sources: list[LessonSource]
    edits: list[LessonEdit]

    @property
    def retired(self) -> bool:
        """Whether it is no longer recalled."""
        return bool(self.edits) and self.edits[-1].retired

    @property
    def outcomes(self) -> list[str]:
        return sorted({source.outcome for source in self.sources})

    @property
    def tasks(self) -> set[str]:
        return {source.task for source in self.sources}

    @property
    def about(self) -> str:
        """The text that it is found by: the tasks that taught it, and its own words."""
        tasks = dict.fromkeys(task_text(each.kind, each.instruction, each.observation) for each in self.sources)
        return "\n".join([*tasks, self.text])


class LessonSnapshot:
    """The lessons of a namespace.

    Attributes:
        records: All records, by kind and key.
        lessons: The lessons by id, retired ones included.
    """

    def __init__(self, records: Mapping[str, Mapping[str, Record]]) -> None:
        self.records = records
        by_kind: dict[str, list[Any]] = {kind: list(found.values()) for kind, found in records.items()}
        sources: defaultdict[str, list[LessonSource]] = defaultdict(list)
        edits: defaultdict[str, list[LessonEdit]] = defaultdict(list)
        for source in sorted(by_kind["sources"], key=lambda source: (source.date, source.key)):
            sources[source.lesson].append(source)
        for edit in sorted(by_kind["edits"], key=lambda edit: (edit.date, edit.key)):
            edits[edit.lesson].append(edit)
        self.lessons = {key: Lesson(key, sources[key][0].text, sources[key], edits[key]) for key in sorted(sources)}

    def find(self, lesson: str) -> Lesson:
        """Return the lesson whose id begins with this text.

        Raises:
            ConfigurationError: there is none, or more than one.
        """
        found = [each for key, each in self.lessons.items() if lesson and key.startswith(lesson)]
        if len(found) != 1:
            raise ConfigurationError(f"{len(found) or 'no'} lessons have an id that begins with {lesson!r}")
        return found[0]

    def search(self, query: str) -> list[str]:
        """Return the ids of the lessons that share words with a query, the best match by BM25 first."""
        words = dict.fromkeys(re.findall(r"[^\W_]+", query.lower()))
        # Quoted, so that no word is FTS5 syntax.
        wanted = " OR ".join(f'"{word}"' for word in words if word not in _FUNCTION_WORDS.split())
        with closing(sqlite3.connect(":memory:")) as index:
            index.execute(_TABLE)
            index.executemany(
                "INSERT INTO lessons VALUES (?, ?)", ((key, each.about) for key, each in self.lessons.items())
            )
            return [key for (key,) in index.execute(_SEARCH, [wanted])] if wanted else []


def task_text(kind: str, instruction: str, observation: str) -> str:
    """Return the text that a task is searched by: its kind, instruction and first observation."""
    return "\n".join(filter(None, [kind, "" if instruction in observation else instruction, observation]))
