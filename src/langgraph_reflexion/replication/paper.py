"""The papers' tables from run folders: each published number, what the rows of a run come to, and the difference.

Imported logs and one's own runs are held against the same numbers. A run fits a number by its environment, agent,
strategy and problems, an imported one by its model, too.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from langgraph_reflexion.experiments.facts import is_oracle
from langgraph_reflexion.experiments.metrics import verdicts
from langgraph_reflexion.experiments.record import holds_run, read_run
from langgraph_reflexion.experiments.report import RunReport, report_run
from langgraph_reflexion.replication.imports import IMPORT, read_import
from langgraph_reflexion.replication.published import Measure, Mismatch, Number, Place, mismatches, published_tables

_LANGUAGES = {"python": "py", "rust": "rs"}


@dataclass(frozen=True)
class PaperRun:
    """A run beside the papers'.

    Attributes:
        name: What it is called in the tables.
        report: Its report.
        matrix: How often the last verdict on a task was right.
        imported: Where it comes from, and what it is; None for one's own.
    """

    name: str
    report: RunReport
    matrix: dict[str, int]
    imported: dict[str, Any] | None

    @property
    def about(self) -> dict[str, str]:
        """What tells which published numbers it fits."""
        settings = self.report.settings
        actor = settings["actor"]
        return {
            "environment": settings["environment"],
            # Native tool calls are another way to write the same actor's actions.
            "actor": "react" if actor == "tools" else actor,
            "strategy": settings["strategy"],
            "model": settings["model"],
            "benchmark": self.imported["benchmark"] if self.imported else _benchmark(settings),
        }

    @property
    def trials(self) -> list[int]:
        """The numbers of its trials."""
        first = self.imported["first_trial"] if self.imported else 1
        return list(range(first, first + len(self.report.solved)))

    def fits(self, run: dict[str, str]) -> bool:
        """Whether a number is about runs like this one: an imported one by its model, too."""
        if self.imported and self.imported["apart"]:
            return False
        about = self.about
        return all(about[key] == value for key, value in run.items() if key != "model" or self.imported)

    def counted(self, measure: Measure, at: Place) -> tuple[int, int] | None:
        """How many of how many, after a trial; None where its rows do not say."""
        if measure != "solved":
            if self.report.settings["evaluator"] != "tests":
                return None
            passed = measure in ("TP", "FP")
            right, wrong = ("true_positive", "false_positive") if passed else ("false_negative", "true_negative")
            of = self.matrix[right] + self.matrix[wrong]
            return (self.matrix[right if measure in ("TP", "FN") else wrong], of) if of else None
        trial = 1 if at == "first" else self.trials[-1] if at == "last" and self.trials else at
        if trial not in self.trials:
            return None
        return self.report.solved[self.trials.index(trial)], self.report.tasks


@dataclass(frozen=True)
class Line:
    """A published number beside a run.

    Attributes:
        number: The number.
        runs: The run, or both where the number is a difference; none where no run fits.
        counted: What the rows come to, written out.
        value: The same in the number's unit.
    """

    number: Number
    runs: tuple[PaperRun, ...] = ()
    counted: str = ""
    value: float | None = None

    @property
    def difference(self) -> float | None:
        """What was counted less what was published."""
        return None if self.value is None else self.value - float(self.number.published)

    @property
    def differs(self) -> bool:
        """Whether that is more than rounding."""
        return self.difference is not None and abs(self.difference) > 0.5 * 10.0**-self.number.digits + 1e-9


@dataclass(frozen=True)
class Paper:
    """The papers' results beside those of run folders.

    Attributes:
        runs: Imported ones first.
        tables: By title, the lines.
        notes: What the import says of itself, and which runs are unfinished.
        mismatches: Where paper, code and log are known to disagree.
    """

    runs: list[PaperRun]
    tables: dict[str, list[Line]]
    notes: list[str]
    mismatches: list[Mismatch]

    def as_json(self) -> dict[str, Any]:
        """All of it as plain JSON."""
        return {
            "runs": [
                {
                    "name": run.name,
                    "solved": run.report.solved,
                    "trials": run.trials,
                    "tasks": run.report.tasks,
                    "imported": run.imported is not None,
                    **run.about,
                    "profile": run.report.settings["profile"],
                    "oracle": is_oracle(run.report.settings),
                    "demo": run.report.demo,
                    "verdicts": run.report.verdicts,
                    "source": run.imported["source"] if run.imported else str(run.report.folder),
                    "notes": run.imported["notes"] if run.imported else [],
                }
                for run in self.runs
            ],
            "tables": [
                {
                    "title": title,
                    "numbers": [
                        {
                            "row": line.number.row,
                            "column": line.number.column,
                            "published": float(line.number.published),
                            "unit": line.number.unit,
                            "source": line.number.source,
                            "runs": [run.name for run in line.runs],
                            "counted": line.counted,
                            "value": line.value,
                            "difference": line.difference,
                            "differs": line.differs,
                        }
                        for line in lines
                    ],
                }
                for title, lines in self.tables.items()
            ],
            "mismatches": [each._asdict() for each in self.mismatches],
            "notes": self.notes,
        }


def compare(folders: Sequence[Path | str]) -> Paper:
    """Hold runs against the papers.

    Args:
        folders: Imports, and run folders.

    Raises:
        ConfigurationError: one of them holds neither.
    """
    runs: list[PaperRun] = []
    own: list[PaperRun] = []
    notes: list[str] = []
    for folder in map(Path, folders):
        if holds_run(folder):
            run = _run(folder, str(folder))
            (runs if run.imported else own).append(run)
            continue
        listed = read_import(folder)
        there = [name for name in listed["runs"] if holds_run(folder / name)]
        runs += [_run(folder / name, name) for name in there]
        notes += [f"{folder / name}: the run is gone" for name in listed["runs"] if name not in there]
        notes += _notes(folder, listed)
    notes += [
        f"{run.name}: {run.report.unfinished} of {run.report.tasks} tasks are unfinished"
        for run in [*runs, *own]
        if run.report.unfinished
    ]
    tables = {
        table.title: [line for number in table.numbers for line in _lines(number, [*runs, *own])]
        for table in published_tables()
    }
    return Paper([*runs, *own], tables, notes, mismatches())


def _run(folder: Path, name: str) -> PaperRun:
    run = read_run(folder)
    # Table 2 is about what was submitted: the last trial of each task.
    submitted = {row["task_id"]: row for row in run.trials}
    return PaperRun(name, report_run(run), verdicts(list(submitted.values())), run.settings.get("imported"))


def _notes(folder: Path, listed: dict[str, Any]) -> list[str]:
    notes = [f"no {part} log was there" for part in listed.get("missing", [])]
    if not listed.get("complete"):
        notes.append(f"{folder / IMPORT}: the import was cut short, import it again")
    return notes


def _lines(number: Number, runs: Sequence[PaperRun]) -> list[Line]:
    lines = [line for run in runs if run.fits(number.run) for line in _beside(number, run, runs)]
    # One's own runs do not stand in for a log that is not there.
    if not any(run.imported for line in lines for run in line.runs):
        lines.insert(0, Line(number))
    return lines


def _beside(number: Number, run: PaperRun, runs: Sequence[PaperRun]) -> list[Line]:
    """A number beside one run, or beside its differences to others of its kind, imported or one's own."""
    counted = run.counted(number.measure, number.at)
    # A number of tasks says nothing of a run that may have had fewer.
    if counted is None or not counted[1] or (number.unit == "tasks" and not run.imported):
        return []
    share, written = Fraction(*counted), f"{counted[0]}/{counted[1]}"
    if number.minus is None:
        return [Line(number, (run,), written, _in_unit(share, counted, number.unit))]
    others = [each for each in runs if each.fits(number.minus) and bool(each.imported) == bool(run.imported)]
    lines = []
    # A run's own earlier trial, where it has it, rather than that of another run.
    for other in [run] if run in others and _earlier(number, run) else others:
        if less := _earlier(number, other):
            value = _in_unit(share - Fraction(*less), counted, number.unit)
            both = (run,) if other is run else (run, other)
            lines.append(Line(number, both, f"{written} - {less[0]}/{less[1]}", value))
    return lines


def _earlier(number: Number, other: PaperRun) -> tuple[int, int] | None:
    """What a difference is to."""
    at = number.minus_at or number.at
    if number.minus_at is None and isinstance(at, int) and other.trials and other.trials[-1] < at:
        at = "last"
    found = other.counted(number.measure, at)
    return found if found and found[1] else None


def _in_unit(share: Fraction, counted: tuple[int, int], unit: str) -> float:
    return float(counted[0] if unit == "tasks" else share * 100 if unit == "%" else share)


def _benchmark(settings: dict[str, Any]) -> str:
    """Which of the papers' problems one's own run is on, as its split and options say; its environment where none."""
    told = " ".join(map(str, [settings.get("split"), *settings["options"].values()])).lower()
    found = re.search(r"humaneval|mbpp|leetcode", told)
    if not found:
        return str(settings["environment"])
    language = str(settings["options"].get("language", "rust" if re.search(r"\brs\b|rust", told) else "python"))
    hardest = "-hardest50" if re.search(r"hard(est)?_?50", told) else ""
    return f"{found[0]}-{_LANGUAGES.get(language, language)}{hardest}"
