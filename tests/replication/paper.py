"""The papers' tables from run folders: each published number, the runs' own, and the difference.

Imported logs and your own runs are compared with the same numbers. A run fits a number by its environment, actor,
strategy and problems, an imported one by its model, too.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.lab.experiments.metrics import confusion
from langgraph_reflexion.lab.experiments.provenance import is_oracle
from langgraph_reflexion.lab.experiments.report import RunReport, report_run
from langgraph_reflexion.lab.experiments.run_files import RUN
from langgraph_reflexion.lab.experiments.runs import Run, holds_run, read_runs
from langgraph_reflexion.support.files import own_table
from tests.replication.imports import missing_parts


@dataclass(frozen=True)
class Number:
    """A published number."""

    row: str
    column: str
    published: str
    """The number as printed."""
    unit: Literal["%", "share", "tasks"]
    source: str
    """The table or section where it is printed."""
    run: dict[str, str]
    """The settings of the runs that it is about."""
    measure: Literal["solved", "TP", "FN", "FP", "TN"] = "solved"
    """`solved`; or, as in Table 2 of the NeurIPS version, the share of programs that are right (TP) and wrong (FP) if
    the self-written tests passed, and right (FN) and wrong (TN) if they failed."""
    at: int | Literal["first", "last"] = "last"
    """The trial after which it is counted."""
    minus: dict[str, str] | None = None
    """The runs that it is a difference to, if it is one."""
    minus_at: int | Literal["first", "last"] | None = None
    """The trial of these; by default the same one, or their last if that is earlier."""

    @property
    def digits(self) -> int:
        return len(self.published.partition(".")[2])


def published() -> dict[str, Any]:
    """Return `published.toml`: the papers' tables, and where paper, code and log disagree."""
    return own_table(__file__, "published.toml")


def published_tables() -> dict[str, list[Number]]:
    """Return the published numbers, by the titles of their tables."""
    tables = {}
    for table in published()["table"]:
        common = {key: table[key] for key in ("environment", "model") if key in table}
        tables[table["title"]] = [
            Number(
                **{"source": table.get("source")}
                | number
                | {key: number[key] | common for key in ("run", "minus") if key in number}
            )
            for number in table["numbers"]
        ]
    return tables


@dataclass(frozen=True)
class PaperRun:
    """A run that is compared with the papers."""

    name: str
    report: RunReport
    matrix: dict[str, int]
    """The confusion counts of the last verdict on each task."""
    imported: dict[str, Any] | None
    """Its origin; None for your own run."""

    @property
    def about(self) -> dict[str, str]:
        """The settings by which it fits published numbers."""
        settings = self.report.settings
        return {
            "environment": settings["environment"],
            # Native tool calls are another format of the same actor's actions.
            "actor": "react" if settings["actor"] == "tools" else settings["actor"],
            "strategy": settings["strategy"],
            "model": settings["model"],
            "benchmark": self.imported["benchmark"] if self.imported else _benchmark(settings),
        }

    @property
    def trials(self) -> list[int]:
        first = self.imported["first_trial"] if self.imported else 1
        return list(range(first, first + len(self.report.solved)))

    def fits(self, run: dict[str, str]) -> bool:
        """Return whether a number is about runs like this one."""
        if self.imported and self.imported["excluded"]:
            return False
        about = self.about
        return all(about[key] == value for key, value in run.items() if key != "model" or self.imported)

    def counted(self, measure: str, at: int | str) -> tuple[int, int] | None:
        """Return a count and its total after a trial; None if the rows do not say."""
        if measure == "solved":
            trial = 1 if at == "first" else self.trials[-1] if at == "last" and self.trials else at
            if trial not in self.trials or not self.report.tasks:
                return None
            return self.report.solved[self.trials.index(trial)], self.report.tasks
        if self.report.settings["evaluator"] != "tests":
            return None
        passed = measure in ("TP", "FP")
        right, wrong = ("true_positive", "false_positive") if passed else ("false_negative", "true_negative")
        total = self.matrix[right] + self.matrix[wrong]
        return (self.matrix[right if measure in ("TP", "FN") else wrong], total) if total else None

    def as_json(self) -> dict[str, Any]:
        settings = self.report.settings
        return {
            "name": self.name,
            "solved": self.report.solved,
            "trials": self.trials,
            "tasks": self.report.tasks,
            "imported": self.imported is not None,
            **self.about,
            "profile": settings["profile"],
            "oracle": is_oracle(settings),
            "demo": self.report.demo,
            "verdicts": self.report.verdicts,
            "source": self.imported["source"] if self.imported else str(self.report.folder),
            "notes": self.imported["notes"] if self.imported else [],
        }


@dataclass(frozen=True)
class Line:
    """A published number and a run's."""

    number: Number
    runs: tuple[PaperRun, ...] = ()
    """The run, or both if the number is a difference; empty if no run fits."""
    counted: str = ""
    value: float | None = None
    """What was counted, in the number's unit."""

    @property
    def difference(self) -> float | None:
        return None if self.value is None else self.value - float(self.number.published)

    @property
    def differs(self) -> bool:
        """Whether the difference is more than rounding."""
        return self.difference is not None and abs(self.difference) > 0.5 * 10.0**-self.number.digits + 1e-9

    def as_json(self) -> dict[str, Any]:
        number = self.number
        return {
            **{name: getattr(number, name) for name in ("row", "column", "unit", "source")},
            "published": float(number.published),
            "runs": [run.name for run in self.runs],
            **{name: getattr(self, name) for name in ("counted", "value", "difference", "differs")},
        }


@dataclass(frozen=True)
class Paper:
    """The papers' results and those of run folders, imported ones first."""

    runs: list[PaperRun]
    tables: dict[str, list[Line]]
    """By the titles of the papers' tables."""
    notes: list[str]
    """Unfinished runs, and what an import lacks."""

    def as_json(self) -> dict[str, Any]:
        return {
            "runs": [run.as_json() for run in self.runs],
            "tables": [
                {"title": title, "numbers": [line.as_json() for line in lines]}
                for title, lines in self.tables.items()
            ],
            "mismatches": published()["mismatch"],
            "notes": self.notes,
        }


def compare(folders: Sequence[Path | str]) -> Paper:
    """Compare imports and run folders with the papers.

    Raises:
        ConfigurationError: a folder is neither.
    """
    runs: list[PaperRun] = []
    notes: list[str] = []
    for folder in map(Path, folders):
        single = holds_run(folder)
        if not single and next(folder.glob(f"*/{RUN}"), None) is None:
            raise ConfigurationError(f"{folder} holds neither a run nor an import: the command `import` makes one")
        read, left_out = read_runs([folder])
        found = [_run(run, str(folder) if single else run.folder.name) for run in read]
        runs += found
        notes += left_out
        if not single:
            logs = {run.about["environment"] for run in found if run.imported}
            notes += [f"no {part} log was imported" for part in missing_parts(logs)]
    runs.sort(key=lambda run: not run.imported)
    unfinished = [run for run in runs if run.report.unfinished]
    notes += [f"{run.name}: {run.report.unfinished} of {run.report.tasks} tasks are unfinished" for run in unfinished]
    tables = {
        title: [line for number in numbers for line in _lines(number, runs)]
        for title, numbers in published_tables().items()
    }
    return Paper(runs, tables, notes)


def _run(run: Run, name: str) -> PaperRun:
    # Table 2 is about submissions: the last trial of each task.
    submitted = [rows[-1] for rows in run.tasks.values() if rows]
    return PaperRun(name, report_run(run), confusion(submitted), run.settings.get("imported"))


def _lines(number: Number, runs: Sequence[PaperRun]) -> list[Line]:
    lines = [line for run in runs if run.fits(number.run) for line in _run_lines(number, run, runs)]
    # Your own runs do not replace a missing log.
    if not any(run.imported for line in lines for run in line.runs):
        lines.insert(0, Line(number))
    return lines


def _run_lines(number: Number, run: PaperRun, runs: Sequence[PaperRun]) -> list[Line]:
    """Return a number with one run's, or with its differences to other runs of its kind, imported or your own."""
    counted = run.counted(number.measure, number.at)
    # A number of tasks means nothing for a run that may have had fewer.
    if counted is None or (number.unit == "tasks" and not run.imported):
        return []
    written = f"{counted[0]}/{counted[1]}"
    if number.minus is None:
        return [Line(number, (run,), written, _in_unit(Fraction(*counted), counted, number.unit))]
    others = [each for each in runs if each.fits(number.minus) and bool(each.imported) == bool(run.imported)]
    if run in others and _subtrahend(number, run):
        others = [run]  # its own earlier trial, rather than another run's
    lines = []
    for other in others:
        if less := _subtrahend(number, other):
            value = _in_unit(Fraction(*counted) - Fraction(*less), counted, number.unit)
            both = (run,) if other is run else (run, other)
            lines.append(Line(number, both, f"{written} - {less[0]}/{less[1]}", value))
    return lines


def _subtrahend(number: Number, other: PaperRun) -> tuple[int, int] | None:
    at = number.minus_at or number.at
    if number.minus_at is None and isinstance(at, int) and other.trials and other.trials[-1] < at:
        at = "last"
    return other.counted(number.measure, at)


def _in_unit(share: Fraction, counted: tuple[int, int], unit: str) -> float:
    return float(counted[0] if unit == "tasks" else share * 100 if unit == "%" else share)


def _benchmark(settings: dict[str, Any]) -> str:
    """Return the benchmark of your own run, by its split and options; its environment if they name none."""
    words = " ".join(map(str, [settings.get("split"), *settings["options"].values()])).lower()
    found = re.search(r"humaneval|mbpp|leetcode", words)
    if not found:
        return str(settings["environment"])
    language = settings["options"].get("language", "rust" if re.search(r"\brs\b|rust", words) else "python")
    short = {"python": "py", "rust": "rs"}.get(language, language)
    hardest = "-hardest50" if re.search(r"hard(est)?_?50", words) else ""
    return f"{found[0]}-{short}{hardest}"
