"""Readers' marks: which notes are useful, rated without knowing the variant, and how far two readers agree.

A note is useful if all four questions are answered by yes:

    R1  It is on the task: it speaks of this task's answer or actions.
    R2  It is true: nothing in it contradicts the task, the attempt or the check.
    R3  It finds it: it names the point that the check did not accept.
    R4  It acts: it says a change that would remove that failure, and is not the failed answer again.
"""

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

from tests.support.reflections.read import Failure, read_failures

QUESTIONS = ("R1", "R2", "R3", "R4")

COLUMNS = ("item", "task", "attempt", "check", "note", *QUESTIONS)

Marks = dict[str, dict[str, bool]]
"""The answers to the four questions, by item."""


class Share(NamedTuple):
    """How many notes of a variant got a yes."""

    yes: int
    of: int


def write_sheet(folders: Sequence[Path], sheet: Path, key: Path, seed: int = 0, limit: int | None = None) -> int:
    """Write a sheet to fill in, and its key, which readers do not see. Return the number of notes.

    Of each task only the first failure counts, as the notes on one task are not independent.

    Args:
        folders: The runs, one for each variant.
        sheet: The CSV file for the readers.
        key: The JSON file with the variant of each item.
        seed: Decides the order.
        limit: The number of tasks; by default all that failed in every run.
    """
    notes = {folder.name: first_notes(read_failures(folder)) for folder in folders}
    shared = sorted(set.intersection(*(set(each) for each in notes.values())))
    rng = Random(f"sheet {seed}")
    chosen = rng.sample(shared, min(limit or len(shared), len(shared)))
    items = [(variant, notes[variant][task]) for variant in notes for task in chosen]
    rng.shuffle(items)
    with sheet.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for number, (_, failure) in enumerate(items, 1):
            said = [failure.instruction, failure.answer, failure.check, failure.note]
            writer.writerow([number, *said, "", "", "", ""])
    variants = {str(number): variant for number, (variant, _) in enumerate(items, 1)}
    key.write_text(json.dumps(variants, indent=1))
    return len(items)


def first_notes(failures: Sequence[Failure]) -> dict[str, Failure]:
    """Return the first failure of each task that has a note."""
    found: dict[str, Failure] = {}
    for failure in failures:
        if failure.note:
            found.setdefault(failure.task, failure)
    return found


def read_marks(sheet: Path) -> Marks:
    """Read a sheet that a reader has filled in with y and n.

    Raises:
        ValueError: a mark is missing, or neither y nor n.
    """
    marks: Marks = {}
    with sheet.open(newline="") as file:
        for row in csv.DictReader(file):
            for question in QUESTIONS:
                mark = row[question].strip().lower()
                if mark not in ("y", "n"):
                    raise ValueError(f"{sheet}, item {row['item']}, {question}: write y or n, not {mark!r}")
                marks.setdefault(row["item"], {})[question] = mark == "y"
    return marks


def shares(marks: Marks, variants: dict[str, str]) -> dict[str, dict[str, Share]]:
    """Return for each variant how many notes got a yes to each question, and to all four (`useful`)."""
    found: dict[str, dict[str, Share]] = {}
    for variant in sorted(set(variants.values())):
        of_variant = [marks[item] for item in marks if variants[item] == variant]
        counted = {name: Share(sum(each[name] for each in of_variant), len(of_variant)) for name in QUESTIONS}
        useful = sum(all(each.values()) for each in of_variant)
        found[variant] = {**counted, "useful": Share(useful, len(of_variant))}
    return found


def kappa(first: Sequence[bool], second: Sequence[bool]) -> float | None:
    """Return Cohen's kappa of two readers; None if chance alone makes them agree, as both always said the same."""
    if len(first) != len(second) or not first:
        raise ValueError("two readers have to mark the same items, and at least one")
    count = len(first)
    agreed = sum(one == other for one, other in zip(first, second, strict=True)) / count
    yes = (sum(first) / count) * (sum(second) / count)
    no = (1 - sum(first) / count) * (1 - sum(second) / count)
    by_chance = yes + no
    if by_chance == 1:
        return None
    return (agreed - by_chance) / (1 - by_chance)


def agreement(first: Marks, second: Marks) -> dict[str, float | None]:
    """Return kappa for each question, and for a note's being useful.

    Raises:
        ValueError: the readers marked different items.
    """
    if set(first) != set(second):
        raise ValueError("the two readers marked different items")
    items = sorted(first)
    found = {}
    for name in QUESTIONS:
        found[name] = kappa([first[item][name] for item in items], [second[item][name] for item in items])
    useful = [[all(marks[item].values()) for item in items] for marks in (first, second)]
    found["useful"] = kappa(useful[0], useful[1])
    return found
