"""Which lessons are one by now: the records of merges, followed to the lesson that is left."""

from collections.abc import Mapping
from typing import Any

from langgraph_reflexion.memory.records import PERSON


def merged_lessons(records: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Return the ids of lessons that were merged, each with the id of the lesson that is left.

    A lesson that a person has written or changed stands alone, and so does one whose other lesson is gone, as into
    the archive.

    Args:
        records: The records of lessons, by kind and key.
    """
    into: dict[str, str] = {}
    for merge in records["merges"].values():
        into[merge.lesson] = merge.into
    # Without merges, sources and summaries need not be read.
    if not into:
        return into
    # A person may have changed the lesson since it was merged, so the record of the merge is no longer followed.
    for lesson in _by_people(records):
        into.pop(lesson, None)
    present = {source.lesson for source in records["sources"].values()}
    ends = {lesson: _last_of(into, lesson) for lesson in into}
    # In a circle, the lesson that all agree on ends at itself, and is the one that is left.
    return {lesson: end for lesson, end in ends.items() if end != lesson and end in present}


def _by_people(records: Mapping[str, Mapping[str, Any]]) -> set[str]:
    """Return the ids of the lessons that people have written or changed."""
    found = {edit.lesson for edit in records["edits"].values()}
    for source in records["sources"].values():
        if source.outcome == PERSON:
            found.add(source.lesson)
    # Sources that were added up are gone.
    for summary in records["summaries"].values():
        for lesson, tally in summary.lessons.items():
            if PERSON in tally.outcomes:
                found.add(lesson)
    return found


def _last_of(into: Mapping[str, str], lesson: str) -> str:
    """Follow the merges of a lesson to their end."""
    path = [lesson]
    while path[-1] in into:
        following = into[path[-1]]
        if following in path:
            # Processes that knew nothing of each other have merged these in a circle: all of them agree on one.
            circle = path[path.index(following) :]
            return min(circle)
        path.append(following)
    return path[-1]
