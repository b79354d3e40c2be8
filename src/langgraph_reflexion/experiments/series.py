"""Runs that differ in nothing but their seed: one column of a table, one line of a figure."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from string import ascii_uppercase
from typing import Any

from langgraph_reflexion.experiments.facts import code_of, facts
from langgraph_reflexion.experiments.metrics import returned, returned_by_trial
from langgraph_reflexion.experiments.printable import printable
from langgraph_reflexion.experiments.record import Run
from langgraph_reflexion.experiments.report import RunReport, report_run
from langgraph_reflexion.experiments.rows import TrialRow
from langgraph_reflexion.experiments.statistics import Interval, interval
from langgraph_reflexion.settings import RunSettings

Unit = tuple[str, int]
"""The unit of pairing: a task, by its id, under a seed."""

TOLD = (
    *("environment", "split", "options", "model", "reflection_model", "actor", "profile", "evaluator"),
    *("strategy", "prices", "base_url", "imported", "memory_map", "lessons", "recall", "frozen"),
)
"""Settings that `facts` describes, or that no number but money depends on."""

ALIKE = ("seed", "database", "checkpoints", *RunSettings.resumable("free"))
"""Settings in which the runs of a series may differ."""


@dataclass(frozen=True)
class Series:
    """One run, or several that differ in nothing but their seed.

    Attributes:
        label: Names it, briefly.
        runs: The runs, one for each seed.
        report: What they say together.
        apart: Settings that `experiments.facts` does not tell, and in which series beside this one differ, by name.
    """

    label: str
    runs: tuple[Run, ...]
    report: RunReport
    apart: dict[str, str] = field(default_factory=dict)

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that the runs share, besides those of the first."""
        return self.runs[0].settings

    @property
    def name(self) -> str:
        """The shortest name: its letter, where it is one of several."""
        return self.label.split()[0]

    @property
    def facts(self) -> dict[str, str]:
        """The settings that its numbers depend on, by name."""
        if "imported" in self.settings:
            return facts(self.settings) | self.apart
        seeds = [printable(str(run.settings["seed"])) for run in self.runs]
        return (
            facts(self.settings)
            | self.apart
            | {
                "seed": f"seed{'s' * (len(seeds) > 1)} {', '.join(seeds)}",
                "code": code_of(self.runs[0].info),
            }
        )

    def trials_of(self) -> dict[Unit, list[TrialRow]]:
        """The trials of every task and seed, in their order; empty where there is none yet."""
        found: dict[Unit, list[TrialRow]] = {}
        for run in self.runs:
            seed = run.settings["seed"]
            found |= {(task, seed): [] for task in run.info["tasks"]}
            for task, rows in groupby(run.trials, key=lambda row: row["task_id"]):
                found[task, seed] = list(rows)
        return found

    def seen(self) -> set[Unit]:
        """The tasks that had taught a lesson before the run began, by seed."""
        return {(task, run.settings["seed"]) for run in self.runs for task in run.info.get("seen", [])}

    @property
    def unknown(self) -> int:
        """The number of tasks that were answered, and whose truth is not known."""
        answers = [returned(rows) for rows in self.trials_of().values() if rows]
        return sum(
            each["success"] is None and each.get("gradable", True) and each["stop_reason"] not in ("fault", "budget")
            for each in answers
        )

    def intervals(self) -> list[Interval | None]:
        """For each trial the 95 % interval of the share of tasks solved."""
        trials = len(self.report.solved)
        solved: list[dict[str, list[bool]]] = [defaultdict(list) for _ in range(trials)]
        for run in self.runs:
            for trial, answers in enumerate(returned_by_trial(run.trials, trials)):
                right = {row["task_id"]: bool(row["success"]) for row in answers}
                for task in run.gradable:
                    solved[trial][task].append(right.get(task, False))
        return [interval(tasks) for tasks in solved]


def make_series(runs: Sequence[Run], name: Callable[[Run], str] | None = None) -> tuple[Series, ...]:
    """Put runs together that differ in nothing but their seed, in the order of their first ones.

    Args:
        runs: The runs.
        name: What a series is called after its letter, by its first run; its strategy unless given.
    """
    groups: list[list[Run]] = []
    for run in runs:
        for group in groups:
            seeds = [other.settings["seed"] for other in group]
            if _key(group[0]) == _key(run) and run.settings["seed"] not in seeds:
                group.append(run)
                break
        else:
            groups.append([run])
    labels = _labels([name(group[0]) if name else str(group[0].settings["strategy"]) for group in groups])
    apart = _apart([group[0].settings for group in groups])
    return tuple(
        Series(label, tuple(group), report_run(_pooled(group)), differing)
        for label, group, differing in zip(labels, groups, apart, strict=True)
    )


def caption(series: Sequence[Series]) -> str:
    """Describe what the series share and where they differ, in one line."""
    told = [each.facts for each in series]
    names = list(dict.fromkeys(name for each in told for name in each))
    shared = [name for name in names if len({each.get(name) for each in told}) == 1]
    own: dict[str, list[str]] = defaultdict(list)
    for each, facts_of in zip(series, told, strict=True):
        own[", ".join(facts_of[name] for name in names if name in facts_of and name not in shared)].append(each.name)
    parts = [f"{', '.join(who)}: {what}" for what, who in own.items() if what]
    return " · ".join([*(told[0][name] for name in shared), *parts])


def _key(run: Run) -> tuple[dict[str, Any], str]:
    settings = {name: value for name, value in run.settings.items() if name not in ALIKE}
    # Where lessons are kept may differ, and whether there are any may not.
    return settings | {"lessons": bool(settings.get("lessons"))}, code_of(run.info)


def _apart(settings: Sequence[dict[str, Any]]) -> list[dict[str, str]]:
    """Return of each the settings in which it differs from another, and which `facts` does not describe."""
    names = dict.fromkeys(name for each in settings for name in each if name not in (*TOLD, *ALIKE))
    differing = [name for name in names if any(each.get(name) != settings[0].get(name) for each in settings)]
    return [
        {name: printable(f"{name.replace('_', ' ')} {each.get(name)}") for name in differing if name in each}
        for each in settings
    ]


def _pooled(runs: Sequence[Run]) -> Run:
    """Return the runs as one that has every task once for each seed."""
    if len(runs) == 1:
        return runs[0]

    def name(task: str, run: Run) -> str:
        return f"{task} (seed {run.settings['seed']})"

    tasks = [name(task, run) for run in runs for task in run.info["tasks"]]
    errors = {name(task, run): error for run in runs for task, error in run.errors.items()}
    trials = [TrialRow(**{**row, "task_id": name(row["task_id"], run)}) for run in runs for row in run.trials]
    return Run(runs[0].folder, runs[0].info | {"tasks": tasks, "errors": errors}, trials)


def _labels(strategies: Sequence[str]) -> list[str]:
    if len(strategies) == 1:
        return list(strategies)
    # After Z the letters are doubled, so that any number of series has names.
    letters = [ascii_uppercase[i % 26] * (i // 26 + 1) for i in range(len(strategies))]
    return [f"{letter} {strategy}" for letter, strategy in zip(letters, strategies, strict=True)]
