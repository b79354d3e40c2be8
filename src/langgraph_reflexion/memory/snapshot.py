"""Snapshots of the lessons of one environment and user, assembled from their records."""

import re
import sqlite3
import uuid
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist
from typing import Any

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.memory.records import (
    RECORDS,
    LessonEdit,
    LessonSource,
    LessonSummary,
    LessonTally,
    LessonUse,
    Record,
    Tally,
)

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
    """A lesson with its numbers, and with what the store still has of its sources, trials and edits, oldest first."""

    id: str
    text: str
    sources: list[LessonSource]
    """Those of which there is a record: at least the first."""
    uses: list[LessonUse]
    """The latest trials whose prompts had it."""
    edits: list[LessonEdit]
    tally: LessonTally
    """All sources and trials."""
    expected: float | None = None
    """The success rate expected of its first trials without it; None while there are too few trials."""
    retired: bool = False
    """Whether it is no longer recalled."""
    archived: bool = False
    """Whether it had to make room for others, and is only kept."""
    kept: bool = False
    """Whether a person wants it recalled, whatever the numbers."""

    @property
    def recalled(self) -> int:
        return self.tally.trials

    @property
    def succeeded(self) -> int:
        return self.tally.succeeded

    @property
    def outcomes(self) -> list[str]:
        return self.tally.outcomes

    @property
    def tasks(self) -> set[str]:
        return set(self.tally.tasks)

    @property
    def usefulness(self) -> tuple[bool, bool, float, str]:
        """What it is ranked by where there are too many: the higher, the more useful."""
        # Laplace's rule: a lesson without trials ranks between those that helped and those that did not.
        success = (self.succeeded + 1) / (self.recalled + 2)
        return self.kept, not self.retired, success, self.tally.last

    @property
    def about(self) -> str:
        """The text that it is found by: the tasks that taught it, and its own words."""
        tasks = dict.fromkeys(task_text(each.kind, each.instruction, each.observation) for each in self.sources)
        return "\n".join([*tasks, self.text])


class LessonSnapshot:
    """The lessons of a namespace, with their numbers and edits applied.

    Attributes:
        records: All records, by kind and key; of its own summaries the latest.
        own: The latest summary of this namespace; None before the first.
        counted: The keys of the sources and uses that are in a summary.
        superseded: The keys of earlier ones, which a process that was late has left.
        lessons: The lessons by id, retired ones included.
        uses: The latest trials, oldest first.
        trials: All trials, counted.
    """

    def __init__(self, records: Mapping[str, Mapping[str, Record]]) -> None:
        by_kind: dict[str, dict[str, Any]] = {kind: dict(records.get(kind, {})) for kind in RECORDS}
        self.records: Mapping[str, Mapping[str, Record]] = by_kind
        summaries: list[LessonSummary] = list(by_kind["summaries"].values())
        own = [each for each in summaries if not each.foreign]
        self.own = max(own, key=lambda summary: summary.generation, default=None)
        self.superseded = [each.key for each in own if each is not self.own]
        latest = [each for each in summaries if each.foreign or each is self.own]
        by_kind["summaries"] = {each.key: each for each in latest}
        self.uses: list[LessonUse] = sorted(by_kind["uses"].values(), key=lambda use: (use.date, use.run, use.trial))
        self.trials = Tally()
        self._tallies: defaultdict[str, LessonTally] = defaultdict(LessonTally)
        self.counted = {key for summary in latest for key in (*summary.counted, *summary.removed)}
        self._add_up(latest)
        self.lessons = self._assembled(by_kind)
        for lesson in self.lessons.values():
            lesson.expected, lesson.retired = effect(lesson.tally, self.trials)
            for edit in lesson.edits:  # a person's word counts, whatever the numbers
                lesson.text = lesson.text if edit.text is None else edit.text
                lesson.retired = lesson.retired if edit.retired is None else edit.retired
                lesson.kept = lesson.kept if edit.retired is None else not edit.retired
            lesson.retired = lesson.retired or lesson.archived

    @property
    def live(self) -> list[Lesson]:
        """The lessons that are not archived."""
        return [lesson for lesson in self.lessons.values() if not lesson.archived]

    def summary(self, date: str) -> LessonSummary:
        """Return the next generation of the summary: this namespace's own records, added up, with this date."""
        before = self.own
        trials, tallies = Tally(), defaultdict[str, LessonTally](LessonTally)
        if before:
            trials.add(before.trials)
            for key, tally in before.lessons.items():
                tallies[key].add(tally)
        self._count_records(trials, tallies)
        return LessonSummary(
            origin=before.origin if before else uuid.uuid4().hex,
            generation=before.generation + 1 if before else 1,
            date=date,
            trials=trials,
            lessons=dict(sorted(tallies.items())),
            counted=sorted([*self.records["sources"], *self.records["uses"]]),
        )

    def _add_up(self, summaries: Iterable[LessonSummary]) -> None:
        for summary in summaries:
            self.trials.add(summary.trials)
            for key, tally in summary.lessons.items():
                self._tallies[key].add(tally)
        self._count_records(self.trials, self._tallies)

    def _count_records(self, trials: Tally, tallies: Mapping[str, LessonTally]) -> None:
        """Count the sources and uses that are not in a summary."""
        sources: Mapping[str, Any] = self.records["sources"]
        for key, source in sorted(sources.items(), key=_by_date):
            if key not in self.counted:
                tallies[source.lesson].teach(source)
        uses: Mapping[str, Any] = self.records["uses"]
        for key, use in uses.items():
            if key in self.counted:
                continue
            trials.count(use)
            for lesson in use.lessons:
                tallies[lesson].count(use)

    def _assembled(self, records: Mapping[str, Mapping[str, Any]]) -> dict[str, Lesson]:
        sources: defaultdict[str, list[LessonSource]] = defaultdict(list)
        uses: defaultdict[str, list[LessonUse]] = defaultdict(list)
        edits: defaultdict[str, list[LessonEdit]] = defaultdict(list)
        for _, source in sorted(records["sources"].items(), key=_by_date):
            sources[source.lesson].append(source)
        for use in self.uses:
            for key in use.lessons:
                uses[key].append(use)
        for _, edit in sorted(records["edits"].items(), key=_by_date):
            edits[edit.lesson].append(edit)
        found = {}
        for key, of in sources.items():
            found[key] = Lesson(key, of[0].text, of, uses[key], edits[key], self._tallies[key])
        for key, each in records["archived"].items():
            if key not in found:
                tally = LessonTally()
                tally.add(each.tally)
                tally.add(self._tallies[key])
                old = Lesson(key, each.source.text, [each.source], uses[key], edits[key], tally, archived=True)
                found[key] = old
        return dict(sorted(found.items()))

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
            index.executemany("INSERT INTO lessons VALUES (?, ?)", ((each.id, each.about) for each in self.live))
            return [key for (key,) in index.execute(_SEARCH, [wanted])] if wanted else []


def _by_date(item: tuple[str, Any]) -> tuple[str, str]:
    """Sort records by their date, and those of one date by their key."""
    key, record = item
    return record.date, str(key)


def task_text(kind: str, instruction: str, observation: str) -> str:
    """Return the text that a task is searched by: its kind, instruction and first observation."""
    return "\n".join(filter(None, [kind, "" if instruction in observation else instruction, observation]))


def _won(tally: Tally) -> Counter[str]:
    """Return the first trials that succeeded, by kind, within what is possible: an imported file may say anything."""
    return Counter({kind: min(max(tally.first_succeeded.get(kind, 0), 0), of) for kind, of in tally.first.items()})


def effect(tally: Tally, all_trials: Tally) -> tuple[float | None, bool]:
    """Return the success rate expected without a lesson, None for too few trials, and whether to retire the lesson.

    Only first trials count: later ones belong to tasks that have failed already. Trials are compared by kind of task,
    so that a lesson is not retired for being recalled where tasks are hard. It is retired where the test of Cochran,
    Mantel and Haenszel gives so few successes a probability below `ALPHA`.
    """
    if sum(tally.first.values()) < MIN_TRIALS:
        return None, False
    mine, played = Counter(tally.first), Counter(all_trials.first)
    mine_won, won = _won(tally), _won(all_trials)
    kinds = [kind for kind, count in mine.items() if count and played[kind] > count]
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
