"""What evaluators say of recorded trials, compared with the truth: counts, a table, a paired test, and the errors."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langgraph_reflexion.lab.experiments.metrics import kind_of_verdict
from langgraph_reflexion.lab.experiments.statistics import SignTest, p_clause, sign_test, wilson
from langgraph_reflexion.lab.experiments.tables import Table
from langgraph_reflexion.models.recorded import NO_USAGE, Usage, reused_tokens
from langgraph_reflexion.support.text import count

SHOWN = 10
"""Errors of an evaluator that are printed; JSON has all."""

KINDS = {
    "true_positive": "right accepted",
    "false_negative": "right rejected",
    "false_positive": "wrong accepted",
    "true_negative": "wrong rejected",
}
"""The kinds of verdicts, in the words of the table."""


@dataclass(frozen=True)
class Judgement:
    """What an evaluator says of a recorded trial."""

    task: str
    trial: int
    truth: bool
    """Whether the trial has truly solved its task."""
    verdict: bool | None
    """None if a fault has prevented it."""
    score: float | None = None
    feedback: str = ""
    unverified: bool = False
    fault: str = ""
    notes: Sequence[str] = ()

    @property
    def says_something(self) -> bool:
        """Whether there is a verdict on what could be checked."""
        return self.verdict is not None and not self.unverified

    @property
    def is_error(self) -> bool:
        """Whether the verdict is wrong; one that is unverified is not."""
        return self.says_something and self.verdict != self.truth

    @property
    def in_words(self) -> str:
        """The error in a few words."""
        if self.verdict:
            return "accepted, and is wrong"
        return "rejected, and is right"


@dataclass
class JudgeReport:
    """What an evaluator says of all recorded trials whose truth is known."""

    name: str
    judgements: list[Judgement] = field(default_factory=list)
    usage: Usage = field(default_factory=lambda: NO_USAGE)

    @property
    def counts(self) -> dict[str, int]:
        """Right and wrong verdicts, by the names of `KINDS`."""
        counts = dict.fromkeys(KINDS, 0)
        for each in self.judgements:
            # What could not be checked is counted apart.
            if not each.says_something:
                continue
            kind = kind_of_verdict(each.verdict, each.truth)
            if kind:
                counts[kind] += 1
        return counts

    @property
    def errors(self) -> list[Judgement]:
        """The wrong verdicts."""
        return [each for each in self.judgements if each.is_error]

    @property
    def faults(self) -> int:
        """The number of trials without a verdict."""
        return sum(bool(each.fault) for each in self.judgements)

    @property
    def unverified(self) -> int:
        """The number of trials of which nothing could be checked."""
        return sum(each.unverified for each in self.judgements)

    def as_json(self) -> dict[str, Any]:
        """Return everything as plain data."""
        shown: dict[str, Any] = {"evaluator": self.name}
        shown.update(self.counts)
        shown["unverified"] = self.unverified
        shown["faults"] = self.faults
        shown.update(self.usage)
        shown["judgements"] = [vars(each) for each in self.judgements]
        return shown


@dataclass(frozen=True)
class Judged:
    """The reports of one evaluator or two on the same trials."""

    folder: Path
    reports: Sequence[JudgeReport]
    unknown: int
    """The number of trials that are left out, as their truth is not known."""
    tasks: Sequence[str] = ()
    """All tasks of the run, in their order."""

    @property
    def test(self) -> SignTest | None:
        """The paired comparison of two evaluators, by their right verdicts; None for one."""
        if len(self.reports) != 2:
            return None
        differences: dict[str, int] = {}
        one, other = self.reports
        for first, second in zip(one.judgements, other.judgements, strict=True):
            # What a fault has prevented, or what could not be checked, says nothing about an evaluator.
            if not (first.says_something and second.says_something):
                continue
            difference = int(second.is_error) - int(first.is_error)
            differences[first.task] = differences.get(first.task, 0) + difference
        return sign_test(differences.values())

    def tables(self) -> list[Table]:
        """Return the table of the evaluators' verdicts."""
        head = ["verdicts"]
        head += [report.name for report in self.reports]
        rows: list[list[str]] = []
        for kind, words in KINDS.items():
            row = [words]
            for report in self.reports:
                row.append(_share_of_truth(report.counts, kind))
            rows.append(row)
        for words, number in _OTHER_NUMBERS.items():
            values = [number(report) for report in self.reports]
            if not any(values):
                continue
            row = [words]
            row += [f"{value:,.10g}" for value in values]
            rows.append(row)
        title = "Verdicts on recorded trials, as shares of the right ones and of the wrong ones, with 95% intervals"
        return [Table(title, head, rows, str(self.folder))]

    def words(self) -> list[str]:
        """Return what is said below the table, line by line: what is left out, the paired test, and the errors."""
        lines: list[str] = []
        if self.unknown:
            lines.append(f"Left out: {count(self.unknown, 'trial')} whose truth is not known.")
        test = self.test
        if test and test.tasks:
            one, other = (report.name for report in self.reports)
            lines.append(
                f"On {test.wins} of {count(test.tasks, 'task')} {one} is right more often, on {test.losses} {other} "
                f"(sign test, {p_clause(test.p)})."
            )
        for report in self.reports:
            faults = [each.fault for each in report.judgements if each.fault]
            if faults:
                lines.append(f"{report.name} has no verdict on {count(len(faults), 'trial')}: {faults[0]}")
            lines += _errors_in_words(report, self.folder, self.tasks)
        return lines

    def as_json(self) -> dict[str, Any]:
        """Return everything as plain data."""
        paired = None
        test = self.test
        if test:
            paired = test._asdict()
        return {
            "dir": str(self.folder),
            "unknown": self.unknown,
            "reports": [report.as_json() for report in self.reports],
            "paired": paired,
        }


_OTHER_NUMBERS: Mapping[str, Callable[[JudgeReport], float]] = {
    "unverified": lambda report: report.unverified,
    "faults, without a verdict": lambda report: report.faults,
    "model calls": lambda report: report.usage["llm_calls"],
    "calls out of the cache": lambda report: report.usage["cached_calls"],
    "input tokens": lambda report: report.usage["input_tokens"],
    "output tokens": lambda report: report.usage["output_tokens"],
    "tokens out of the cache": lambda report: reused_tokens(report.usage),
    "cost": lambda report: report.usage["cost"],
}
"""The rows below the verdicts, if an evaluator has any."""


def _share_of_truth(counts: Mapping[str, int], kind: str) -> str:
    """Return the number of verdicts of a kind, as a share of the trials with the same truth, with its interval."""
    same_truth = counts["false_positive"] + counts["true_negative"]
    if kind in ("true_positive", "false_negative"):
        same_truth = counts["true_positive"] + counts["false_negative"]
    if not same_truth:
        return f"{counts[kind]}"
    share = counts[kind] / same_truth
    low, high = wilson(counts[kind], same_truth)
    return f"{counts[kind]} of {same_truth} {share:>5.0%} {100 * low:.0f}-{100 * high:.0f}"


def _errors_in_words(report: JudgeReport, folder: Path, tasks: Sequence[str]) -> list[str]:
    """Return the first errors of an evaluator, each with the command that shows the trial."""
    if not report.errors:
        return []
    lines = [f"Errors of {report.name}:"]
    for each in report.errors[:SHOWN]:
        where = f"{shlex.quote(str(folder))} {_named(each.task, tasks)} --trial {each.trial}"
        lines.append(f"  {each.in_words}: langgraph-reflexion show {where}")
    more = len(report.errors) - SHOWN
    if more > 0:
        lines.append(f"  and {more} more: --json has all")
    return lines


def _named(task: str, tasks: Sequence[str]) -> str:
    """Return what names a task on the command line: its id, or its number if the id is not a plain word."""
    if task.isprintable() and not task.startswith("-"):
        return shlex.quote(task)
    return str(tasks.index(task) + 1)
