"""Snapshots of the lessons of one environment and user, assembled from their records."""

import re
import sqlite3
import uuid
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.memory.effect import effect
from langgraph_reflexion.memory.merges import merged_lessons
from langgraph_reflexion.memory.records import (
    CHANGED_VERDICT,
    PERSON,
    LessonEdit,
    LessonMerge,
    LessonSource,
    LessonUse,
    Record,
)
from langgraph_reflexion.memory.summaries import KNOWN_KEYS, ArchivedLesson, LessonSummary, LessonTally, Tally

RECORDS: dict[str, type[Record]] = {
    each.stored_as: each for each in (LessonSource, LessonUse, LessonEdit, LessonMerge, LessonSummary, ArchivedLesson)
}
"""The kinds of record of which a snapshot is assembled, by the last part of their namespace."""

# By porter's stems, a search for "open" finds "opened" as well.
_TABLE = "CREATE VIRTUAL TABLE lessons USING fts5(id UNINDEXED, about, tokenize='porter unicode61')"
# By id where the score is the same, so that a run finds the same lessons when it is repeated.
_SEARCH = "SELECT id FROM lessons WHERE about MATCH ? ORDER BY bm25(lessons), id"
# Left out of a search, as they would find nearly every lesson.
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
    pending: bool = False
    """Whether a person has to approve it before it is recalled."""

    @property
    def first_source(self) -> LessonSource:
        """The source that stays: the first, but of a lesson that is not pending one that was not under review."""
        for source in self.own_sources:
            if not source.pending:
                return source
        return self.sources[0]

    @property
    def needed_sources(self) -> list[LessonSource]:
        """The sources that say as much as all of them do: the others are only counted."""
        needed = [self.first_source]
        newest = max(self.sources, key=lambda source: source.date)
        # After a changed verdict it counts whether another trial has taught the lesson since.
        withdrawn = any(edit.by == CHANGED_VERDICT for edit in self.edits)
        if withdrawn and newest is not self.first_source:
            needed.append(newest)
        return needed

    @property
    def own_sources(self) -> list[LessonSource]:
        """The sources with its own words, without those of near-duplicates."""
        return [source for source in self.sources if source.lesson == self.id]

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
    def by_person(self) -> bool:
        """Whether a person has written or changed it: then it is never merged into another one."""
        edited = any(edit.by != CHANGED_VERDICT for edit in self.edits)
        return edited or PERSON in self.outcomes

    @property
    def tasks(self) -> set[str]:
        return set(self.tally.tasks)

    @property
    def usefulness(self) -> tuple[bool, bool, bool, float, str]:
        """What it is ranked by where there are too many: the higher, the more useful."""
        # Laplace's rule: a lesson without trials ranks between those that helped and those that did not.
        success = (self.succeeded + 1) / (self.recalled + 2)
        return self.kept, not self.retired, not self.pending, success, self.tally.last

    @property
    def since(self) -> str:
        """The date from which on it could be recalled: that of its first source, or of a later approval."""
        approved = [edit.date for edit in self.edits if edit.approved]
        return max([self.sources[0].date, *approved])

    @property
    def about(self) -> str:
        """The text that it is found by: the tasks that taught it, and its own words."""
        texts = [task_text(each.kind, each.instruction, each.observation) for each in self.sources]
        # Each once: a task may have taught it in several trials.
        tasks = list(dict.fromkeys(texts))
        return "\n".join([*tasks, self.text])


@dataclass
class _Tallies:
    """The tallies of lessons. Those of a summary are shared until they are counted further, as copies take long."""

    found: dict[str, LessonTally] = field(default_factory=dict)
    shared: set[str] = field(default_factory=set)

    def of(self, lesson: str) -> LessonTally:
        """Return the tally of a lesson, to be read."""
        return self.found.get(lesson) or LessonTally()

    def own(self, lesson: str) -> LessonTally:
        """Return the tally of a lesson, to be counted further."""
        tally = self.found.get(lesson)
        if tally is None:
            tally = LessonTally()
        elif lesson in self.shared:
            tally = tally.copied()
        self.found[lesson] = tally
        self.shared.discard(lesson)
        return tally

    def add(self, lesson: str, tally: LessonTally) -> None:
        """Add what a summary has counted."""
        if lesson in self.found:
            self.own(lesson).add(tally)
            return
        self.found[lesson] = tally
        self.shared.add(lesson)


class LessonSnapshot:
    """The lessons of a namespace, with their numbers and edits applied.

    Attributes:
        records: All records, by kind and key; of its own summaries the latest.
        own: The latest summary of this namespace; None before the first.
        counted: The keys of the sources and uses that are in a summary.
        superseded: The keys of earlier ones, which a process that was late has left.
        merged: The ids of lessons that were merged, each with the id of the lesson that is left.
        lessons: The lessons by id, retired ones included.
        uses: The latest trials, oldest first.
        trials: All trials, counted.
    """

    def __init__(self, records: Mapping[str, Mapping[str, Record]]) -> None:
        # Of records by kind, no type checker knows the types.
        by_kind: dict[str, dict[str, Any]] = {}
        for kind in RECORDS:
            by_kind[kind] = dict(records.get(kind, {}))
        self.own = _latest_own(by_kind["summaries"].values())
        self.superseded: list[str] = []
        for key, summary in list(by_kind["summaries"].items()):
            # A later generation of this namespace's summary has counted what the earlier ones have. One that was
            # imported counts beside it.
            if summary is not self.own and not summary.foreign:
                self.superseded.append(key)
                del by_kind["summaries"][key]
        self.records: Mapping[str, Mapping[str, Record]] = by_kind
        self.uses: list[LessonUse] = sorted(by_kind["uses"].values(), key=_by_date_and_run)
        self.counted: set[str] = set()
        # Before anything is counted: the numbers of merged lessons belong to the lesson that is left.
        self.merged = merged_lessons(by_kind)
        self.trials = Tally()
        self._tallies = _Tallies()
        for summary in by_kind["summaries"].values():
            self.counted.update(summary.counted)
            # A node that was run again may have written these anew.
            self.counted.update(summary.removed)
            self._add_summary(summary, self.trials, self._tallies)
        self._count_records(self.trials, self._tallies)
        self.lessons = self._assembled(by_kind)
        for lesson in self.lessons.values():
            lesson.expected, lesson.retired = effect(lesson.tally, self.trials)
            _apply_edits(lesson)
            # After the edits: they do not bring back an archived lesson, which has to be restored or taught again.
            if lesson.archived:
                lesson.retired = True

    def id_of(self, lesson: str) -> str:
        """Return the id by which a lesson is found: another one's if it was merged."""
        return self.merged.get(lesson, lesson)

    @property
    def live(self) -> list[Lesson]:
        """The lessons that are not archived."""
        return [lesson for lesson in self.lessons.values() if not lesson.archived]

    @property
    def has_forgotten(self) -> bool:
        """Whether more records were counted and removed than have their keys in the summary."""
        return self.own is not None and len(self.own.removed) >= KNOWN_KEYS

    def split_by_use(self, room: int) -> tuple[list[Lesson], list[Lesson]]:
        """Return the lessons for which there is room, and the least useful others.

        The newest tenth stays: it has hardly been tried. What waits for a person takes no room from what is recalled.
        """
        # What nobody has approved is not tried at all.
        tried = [lesson for lesson in self.live if not lesson.pending]
        by_age = sorted(tried, key=lambda lesson: (lesson.since, lesson.id), reverse=True)
        tenth = max(1, room // 10)
        newest = {lesson.id for lesson in by_age[:tenth]}

        def rank(lesson: Lesson) -> tuple[Any, ...]:
            stays = lesson.kept or lesson.id in newest
            # By id at last, so that all processes archive the same of two lessons that are equally useful.
            return stays, lesson.usefulness, lesson.id

        ranked = sorted(self.live, key=rank, reverse=True)
        return ranked[:room], ranked[room:]

    def summary(self, date: str) -> LessonSummary:
        """Return the next generation of the summary: this namespace's own records, added up, with this date."""
        trials = Tally()
        tallies = _Tallies()
        origin = uuid.uuid4().hex
        generation = 1
        if self.own:
            origin = self.own.origin
            generation = self.own.generation + 1
            self._add_summary(self.own, trials, tallies)
        self._count_records(trials, tallies)
        # Also what earlier summaries have counted and the store still has: it must not be counted again.
        counted = sorted([*self.records["sources"], *self.records["uses"]])
        return LessonSummary(
            origin=origin,
            generation=generation,
            date=date,
            trials=trials,
            lessons=dict(sorted(tallies.found.items())),
            counted=counted,
        )

    def _count_records(self, trials: Tally, tallies: _Tallies) -> None:
        """Count the sources and uses that are not in a summary."""
        sources: Mapping[str, Any] = self.records["sources"]
        # Of all tasks that taught a lesson the latest are kept, so their order matters.
        for key, source in sorted(sources.items(), key=_by_date):
            if key not in self.counted:
                tallies.own(self.id_of(source.lesson)).teach(source)
        uses: Mapping[str, Any] = self.records["uses"]
        for key, use in uses.items():
            if key in self.counted:
                continue
            trials.count(use)
            for lesson in self._shown(use):
                tallies.own(lesson).count(use)

    def _add_summary(self, summary: LessonSummary, trials: Tally, tallies: _Tallies) -> None:
        """Add what a summary has counted."""
        trials.add(summary.trials)
        for lesson, tally in summary.lessons.items():
            tallies.add(self.id_of(lesson), tally)

    def _shown(self, use: LessonUse) -> list[str]:
        """Return the ids of the lessons in a trial's prompt; of lessons that are one by now, that one once."""
        shown = [self.id_of(lesson) for lesson in use.lessons]
        return list(dict.fromkeys(shown))

    def _assembled(self, records: Mapping[str, Mapping[str, Any]]) -> dict[str, Lesson]:
        """Return the lessons by id, each with its records."""
        found: dict[str, Lesson] = {}
        by_date = [source for _, source in sorted(records["sources"].items(), key=_by_date)]
        # Those with the lesson's own words before those of merged ones.
        by_date.sort(key=lambda source: source.lesson in self.merged)
        for source in by_date:
            key = self.id_of(source.lesson)
            if key not in found:
                # The first source has the lesson's text.
                found[key] = Lesson(key, source.text, [], [], [], self._tallies.of(key))
            found[key].sources.append(source)
        for key, old in records["archived"].items():
            # One that was taught again is no longer in the archive.
            if key not in found:
                found[key] = self._from_archive(key, old)
        for use in self.uses:
            for key in self._shown(use):
                if key in found:
                    found[key].uses.append(use)
        for _, edit in sorted(records["edits"].items(), key=_by_date):
            if edit.lesson in found:
                found[edit.lesson].edits.append(edit)
        return dict(sorted(found.items()))

    def _from_archive(self, key: str, old: ArchivedLesson) -> Lesson:
        # Trials may have had it since: those that had begun before it was archived.
        tally = LessonTally()
        tally.add(old.tally)
        tally.add(self._tallies.of(key))
        return Lesson(key, old.source.text, [old.source], [], [], tally, archived=True)

    def find(self, lesson: str) -> Lesson:
        """Return the lesson whose id begins with this text, or the one that it was merged into.

        Raises:
            ConfigurationError: there is none, or more than one.
        """
        found = []
        # Every id begins with an empty text, which is nobody's wish.
        if lesson:
            ids = {key: key for key in self.lessons}
            for key, left in self.merged.items():
                # A merged one may be in the archive as well, and is found there.
                ids.setdefault(key, left)
            fitting = {left for key, left in ids.items() if key.startswith(lesson)}
            found = [self.lessons[key] for key in fitting]
        if len(found) != 1:
            number = len(found) or "no"
            raise ConfigurationError(f"{number} lessons have an id that begins with {lesson!r}")
        return found[0]

    def search(self, query: str) -> list[str]:
        """Return the ids of the lessons that share words with a query, the best match by BM25 first."""
        words = dict.fromkeys(re.findall(r"[^\W_]+", query.lower()))
        left_out = _FUNCTION_WORDS.split()
        # Quoted, so that no word is FTS5 syntax.
        quoted = [f'"{word}"' for word in words if word not in left_out]
        if not quoted:
            return []
        rows = [(lesson.id, lesson.about) for lesson in self.live]
        # An index for each search: one that is kept would have to follow what other processes write to the store.
        with closing(sqlite3.connect(":memory:")) as index:
            index.execute(_TABLE)
            index.executemany("INSERT INTO lessons VALUES (?, ?)", rows)
            found = index.execute(_SEARCH, [" OR ".join(quoted)]).fetchall()
        return [key for (key,) in found]


def _latest_own(summaries: Iterable[LessonSummary]) -> LessonSummary | None:
    """Return the latest summary of this namespace, if there is one."""
    own = [summary for summary in summaries if not summary.foreign]
    # Not by date: clocks of machines differ.
    return max(own, key=lambda summary: summary.generation, default=None)


def _by_date(item: tuple[str, Any]) -> tuple[str, str]:
    """Sort records by their date, and those of one date by their key."""
    key, record = item
    return record.date, str(key)


def age(lesson: Lesson) -> tuple[str, str]:
    """Sort lessons by their first source, the oldest first."""
    return lesson.sources[0].date, lesson.id


def _by_date_and_run(use: LessonUse) -> tuple[str, str, int]:
    return use.date, use.run, use.trial


def _apply_edits(lesson: Lesson) -> None:
    """Change a lesson as people have said: their word counts, whatever the numbers."""
    by_numbers = lesson.retired
    # A trial that was not under review has taught it as well, or nobody has decided yet.
    lesson.pending = bool(lesson.sources) and all(source.pending for source in lesson.own_sources)
    for edit in lesson.edits:
        if edit.text is not None:
            lesson.text = edit.text
        if edit.approved is not None:
            lesson.pending = False
            # An approval says nothing about numbers that come later, and so leaves them their word.
            lesson.retired = not edit.approved or (by_numbers and not lesson.kept)
        if edit.retired is None:
            continue
        if edit.by == CHANGED_VERDICT and any(source.date > edit.date for source in lesson.sources):
            # Another trial has taught it since.
            lesson.retired = by_numbers and not lesson.kept
            continue
        if edit.by == CHANGED_VERDICT:
            # Nobody has said that it is wanted: it is again as it was before.
            lesson.retired = edit.retired or (by_numbers and not lesson.kept)
            continue
        lesson.retired = edit.retired
        lesson.kept = not edit.retired


def task_text(kind: str, instruction: str, observation: str) -> str:
    """Return the text that a task is searched by: its kind, instruction and first observation."""
    # The first observation of many environments quotes the task: its words would count twice.
    if instruction in observation:
        instruction = ""
    parts = [kind, instruction, observation]
    return "\n".join(filter(None, parts))
