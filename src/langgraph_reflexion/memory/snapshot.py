"""Snapshots of the lessons of one environment and user, assembled from their records."""

import re
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist
from typing import Any

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.memory.records import LessonEdit, LessonSource, LessonUse, Record

MIN_TRIALS = 10
"""Minimum number of first trials with a lesson, and of others without it, before it can be retired."""

ALPHA = 0.01
"""Significance level of the test by which a lesson is retired."""

_TABLE = "CREATE VIRTUAL TABLE lessons USING fts5(id UNINDEXED, about, tokenize='porter unicode61')"
_SEARCH = "SELECT id FROM lessons WHERE about MATCH ? ORDER BY bm25(lessons), id"
_FUNCTION_WORDS = (
    "a an and are as at be but by for if in into is it no not of on or such that the their then there these they "
    "this to was will with"
)


@dataclass
class Lesson:
    """A lesson with its sources, the trials whose prompts had it, and a person's edits, each oldest first."""

    id: str
    text: str
    sources: list[LessonSource]
    uses: list[LessonUse]
    edits: list[LessonEdit]
    expected: float | None = None
    """The success rate expected of its first trials without it; None while there are too few trials."""
    retired: bool = False
    """Whether it is no longer recalled."""

    @property
    def recalled(self) -> int:
        return len(self.uses)

    @property
    def succeeded(self) -> int:
        return sum(use.success for use in self.uses)

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
    """The lessons of a namespace, with their numbers and edits applied.

    Attributes:
        records: All records, by kind and key.
        lessons: The lessons by id, retired ones included.
        uses: All recorded trials, oldest first.
    """

    def __init__(self, records: Mapping[str, Mapping[str, Record]]) -> None:
        self.records = records
        by_kind: dict[str, list[Any]] = {kind: list(found.values()) for kind, found in records.items()}
        self.uses: list[LessonUse] = sorted(by_kind["uses"], key=lambda use: (use.date, use.run, use.trial))
        sources: defaultdict[str, list[LessonSource]] = defaultdict(list)
        uses: defaultdict[str, list[LessonUse]] = defaultdict(list)
        edits: defaultdict[str, list[LessonEdit]] = defaultdict(list)
        for source in sorted(by_kind["sources"], key=lambda source: (source.date, source.key)):
            sources[source.lesson].append(source)
        for use in self.uses:
            for key in use.lessons:
                uses[key].append(use)
        for edit in sorted(by_kind["edits"], key=lambda edit: (edit.date, edit.key)):
            edits[edit.lesson].append(edit)
        self.lessons = {
            key: Lesson(key, sources[key][0].text, sources[key], uses[key], edits[key]) for key in sorted(sources)
        }
        for lesson in self.lessons.values():
            lesson.expected, lesson.retired = effect(lesson.uses, self.uses)
            for edit in lesson.edits:  # a person's word counts, whatever the numbers
                lesson.text = lesson.text if edit.text is None else edit.text
                lesson.retired = lesson.retired if edit.retired is None else edit.retired

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


def effect(uses: Iterable[LessonUse], all_uses: Iterable[LessonUse]) -> tuple[float | None, bool]:
    """Return the success rate expected without a lesson, None for too few trials, and whether to retire the lesson.

    Only first trials count: later ones belong to tasks that have failed already. Trials are compared by kind of task,
    so that a lesson is not retired for being recalled where tasks are hard. It is retired where the test of Cochran,
    Mantel and Haenszel gives so few successes a probability below `ALPHA`.
    """
    mine, played = (Counter(use.kind for use in each if use.trial == 1) for each in (uses, all_uses))
    mine_won, won = (Counter(use.kind for use in each if use.trial == 1 and use.success) for each in (uses, all_uses))
    kinds = [kind for kind, count in mine.items() if played[kind] > count]
    trials, others = sum(mine[kind] for kind in kinds), sum(played[kind] - mine[kind] for kind in kinds)
    if min(trials, others) < MIN_TRIALS:
        return None, False
    expected = by_chance = variance = 0.0
    for kind in kinds:
        with_it, without, total = mine[kind], played[kind] - mine[kind], played[kind]
        expected += with_it * (won[kind] - mine_won[kind]) / without
        by_chance += with_it * won[kind] / total
        variance += with_it * without * won[kind] * (total - won[kind]) / (total**2 * (total - 1))
    fewer = by_chance - sum(mine_won[kind] for kind in kinds) - 0.5
    return expected / trials, fewer > NormalDist().inv_cdf(1 - ALPHA) * sqrt(variance) and variance > 0
