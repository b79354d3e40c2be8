"""Tidying up: records of lessons are added up in a summary, and the least useful lessons go into the archive."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from langgraph_reflexion.memory.duplicates import repeated
from langgraph_reflexion.memory.records import KNOWN_MERGES, LessonMerge, LessonSource, LessonUse, Record, now
from langgraph_reflexion.memory.snapshot import Lesson, LessonSnapshot
from langgraph_reflexion.memory.summaries import KNOWN_KEYS, ArchivedLesson, LessonSummary, LessonTally


@dataclass(frozen=True)
class Removal:
    """A record that is to be removed."""

    kind: str
    key: str


@dataclass(frozen=True)
class Tidied:
    """What tidying up changes in a store."""

    put: list[Record]
    removed: list[Removal]


def tidied(
    snapshot: LessonSnapshot,
    kept: Iterable[Lesson],
    beyond: Iterable[Lesson],
    archived: Mapping[str, ArchivedLesson],
    restored: ArchivedLesson | None,
) -> Tidied:
    """Return what tidying up changes.

    Args:
        snapshot: All lessons, without the archive.
        kept: The lessons for which there is room.
        beyond: The others, which are archived.
        archived: Those of `beyond` that the archive has already, by id.
        restored: The archived lesson that is to be recalled again.
    """
    summary = snapshot.summary(now())
    live = {lesson.id: lesson for lesson in kept}
    put: list[Record] = []
    # Lessons of an earlier version, which did not look for near-duplicates.
    put += merges(repeated(snapshot, set(live)))
    for lesson in beyond:
        put.append(_to_archive(lesson, summary, archived.get(lesson.id)))
    removed = _outdated(snapshot, live) + _old_merges(snapshot)
    tallies = {key: tally for key, tally in summary.lessons.items() if key in live}
    counted = set(summary.counted)
    if restored:
        put.append(restored.source)
        # Its tally, added below, has counted this source already.
        counted.add(restored.source.key)
        # A copy, as it may be the very tally of the summary before.
        tally = tallies.get(restored.lesson, LessonTally()).copied()
        tally.add(restored.tally)
        tallies[restored.lesson] = tally
        removed.append(Removal(ArchivedLesson.stored_as, restored.key))
    update = {"lessons": tallies, "counted": sorted(counted), "removed": _removed_keys(snapshot, removed)}
    put.append(summary.model_copy(update=update))
    return Tidied(put, removed)


def merges(into: Mapping[str, str]) -> list[LessonMerge]:
    """Return the records which say that lessons are merged, each into the one that is left."""
    date = now()
    return [LessonMerge(lesson=lesson, into=left, date=date) for lesson, left in into.items()]


def _to_archive(lesson: Lesson, summary: LessonSummary, before: ArchivedLesson | None) -> ArchivedLesson:
    tally = LessonTally()
    # It had been archived, and was taught again: the summary has counted only what came since.
    if before:
        tally.add(before.tally)
    tally.add(summary.lessons.get(lesson.id, LessonTally()))
    return ArchivedLesson(lesson=lesson.id, date=summary.date, source=lesson.first_source, tally=tally)


def _outdated(snapshot: LessonSnapshot, live: Mapping[str, Lesson]) -> list[Removal]:
    """Remove what the summary before has counted, and the sources of lessons that are archived.

    Of each other lesson the first source stays, which has its text, and what else says whether it is recalled.
    """
    # What the new summary alone has counted stays until the next one: should another process overwrite the new
    # summary with its own, the records are there to be counted again.
    counted: set[str] = set()
    summaries = list(snapshot.superseded)
    if snapshot.own:
        counted.update(snapshot.own.counted)
        summaries.append(snapshot.own.key)
    removed: list[Removal] = []
    for key in summaries:
        removed.append(Removal(LessonSummary.stored_as, key))
    for key in snapshot.records["uses"]:
        if key in counted:
            removed.append(Removal(LessonUse.stored_as, key))
    needed: set[LessonSource] = set()
    for lesson in live.values():
        needed.update(lesson.needed_sources)
    for key, source in snapshot.records["sources"].items():
        if not isinstance(source, LessonSource):
            continue
        is_archived = snapshot.id_of(source.lesson) not in live
        is_spare = key in counted and source not in needed
        if is_archived or is_spare:
            removed.append(Removal(LessonSource.stored_as, key))
    return removed


def _old_merges(snapshot: LessonSnapshot) -> list[Removal]:
    """Remove the merges of lessons of which nothing is left, but for the latest."""
    needed = set()
    for source in snapshot.records["sources"].values():
        if isinstance(source, LessonSource):
            needed.add(source.lesson)
    # A summary that was imported keeps the ids that it came with.
    for summary in snapshot.records["summaries"].values():
        if isinstance(summary, LessonSummary) and summary.foreign:
            needed.update(summary.lessons)
    spare = []
    for merge in snapshot.records["merges"].values():
        if isinstance(merge, LessonMerge) and merge.lesson not in needed:
            spare.append(merge)
    spare.sort(key=lambda merge: (merge.date, merge.lesson), reverse=True)
    return [Removal(LessonMerge.stored_as, merge.key) for merge in spare[KNOWN_MERGES:]]


def _removed_keys(snapshot: LessonSnapshot, removed: Iterable[Removal]) -> list[str]:
    """Return the keys of the latest sources and uses that were removed, before and now."""
    keys: list[str] = []
    if snapshot.own:
        keys.extend(snapshot.own.removed)
        present = set(snapshot.records["sources"]) | set(snapshot.records["uses"])
        # Removed by another process, whose summary this process or a third one has replaced.
        keys += [key for key in snapshot.own.counted if key not in present]
    for removal in removed:
        if removal.kind in (LessonSource.stored_as, LessonUse.stored_as):
            keys.append(removal.key)
    return list(dict.fromkeys(keys))[-KNOWN_KEYS:]
