"""Groups of runs that differ only in their seed: each is one column of a table and one line of a figure."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from string import ascii_uppercase
from typing import Any

from langgraph_reflexion.lab.experiments.metrics import answers_by_trial, final_answer
from langgraph_reflexion.lab.experiments.provenance import BETWEEN, code_of, facts
from langgraph_reflexion.lab.experiments.record import Run
from langgraph_reflexion.lab.experiments.report import RunReport, report_run
from langgraph_reflexion.lab.experiments.rows import TrialRow
from langgraph_reflexion.lab.experiments.statistics import Interval, SeedStats, interval, seed_stats
from langgraph_reflexion.lab.settings import RunSettings
from langgraph_reflexion.support.text import printable

TaskSeed = tuple[str, int]
"""The unit of pairing: a task's id, and a seed."""

DESCRIBED = (
    *("environment", "split", "options", "model", "reflection_model", "actor", "profile", "evaluator"),
    *("strategy", "prices", "base_url", "imported", "memory_map", "lessons", "recall", "frozen"),
)
"""Settings that `facts` describes, or that affect nothing but money."""

FREE = ("seed", "database", "checkpoints", *RunSettings.resumable("free"))
"""Settings in which the runs of a group may differ."""


@dataclass(frozen=True)
class RunGroup:
    """One run, or several that differ only in their seed."""

    label: str
    """Its name: a letter, if there are several groups, and the strategy."""
    runs: tuple[Run, ...]
    """The runs, one for each seed."""
    report: RunReport
    """The report of all of them together."""
    differences: dict[str, str] = field(default_factory=dict)
    """Settings in which the groups differ and which `experiments.provenance` does not describe."""

    @property
    def settings(self) -> dict[str, Any]:
        return self.runs[0].settings

    @property
    def name(self) -> str:
        """The letter, if it is one of several groups; otherwise the strategy."""
        return self.label.split()[0]

    @property
    def facts(self) -> dict[str, str]:
        """The settings that its numbers depend on, described, by name."""
        shown = facts(self.settings) | self.differences
        if "imported" in self.settings:
            return shown
        seeds = [printable(str(run.settings["seed"])) for run in self.runs]
        shown["seed"] = f"seed{'s' * (len(seeds) > 1)} {', '.join(seeds)}"
        return shown | {"code": code_of(self.runs[0].info)}

    def trials(self) -> dict[TaskSeed, list[TrialRow]]:
        """Return the trials of every task and seed in order; an empty list if there is none yet."""
        return {(task, run.settings["seed"]): rows for run in self.runs for task, rows in run.tasks.items()}

    def seen(self) -> set[TaskSeed]:
        """Return the tasks from which lessons had been learned before the run began."""
        return {(task, run.settings["seed"]) for run in self.runs for task in run.info.get("seen", [])}

    @property
    def unknown(self) -> int:
        """Number of answered tasks whose truth is unknown."""
        answers = [final_answer(rows) for rows in self.trials().values() if rows]
        return sum(
            each["success"] is None and each.get("gradable", True) and each["stop_reason"] not in ("fault", "budget")
            for each in answers
        )

    def intervals(self) -> list[Interval | None]:
        """Return, for each trial, the 95% interval of the share of solved tasks."""
        trials = len(self.report.solved)
        solved: list[dict[str, list[bool]]] = [defaultdict(list) for _ in range(trials)]
        for run in self.runs:
            for trial, answers in enumerate(answers_by_trial(run.tasks.values(), trials)):
                right = {row["task_id"]: bool(row["success"]) for row in answers}
                for task in run.gradable:
                    solved[trial][task].append(right.get(task, False))
        return [interval(tasks) for tasks in solved]

    def by_seed(self) -> list[SeedStats]:
        """Return, for each trial that all runs have reached, the statistics over seeds."""
        reports = map(report_run, self.runs)
        curves = [[report.share(solved) for solved in report.solved] for report in reports]
        return [seed_stats(shares) for shares in zip(*curves, strict=False)]

    def as_json(self) -> dict[str, Any]:
        by_seed = self.by_seed()
        return {
            "label": self.label,
            "runs": [str(run.folder) for run in self.runs],
            "facts": self.facts,
            "solved": self.report.solved,
            "intervals": self.intervals(),
            "tasks": self.report.tasks,
            "tokens": self.report.tokens,
            "over_seeds": {
                "seeds": [run.settings["seed"] for run in self.runs],
                "shares": [each.shares for each in by_seed],
                "mean": [each.mean for each in by_seed],
                "sd": [each.sd for each in by_seed],
            },
        }


def group_runs(runs: Sequence[Run], name: Callable[[Run], str] | None = None) -> tuple[RunGroup, ...]:
    """Group runs that differ only in their seed, each named by its first run (`name`; by default its strategy)."""
    groups: list[list[Run]] = []
    for run in runs:
        for group in groups:
            seeds = [other.settings["seed"] for other in group]
            if _key(group[0]) == _key(run) and run.settings["seed"] not in seeds:
                group.append(run)
                break
        else:
            groups.append([run])
    labels = [printable(name(group[0]) if name else str(group[0].settings["strategy"])) for group in groups]
    if len(groups) > 1:  # after Z the letters are doubled
        labels = [f"{ascii_uppercase[i % 26] * (i // 26 + 1)} {label}" for i, label in enumerate(labels)]
    differences = _differences([group[0].settings for group in groups])
    return tuple(
        RunGroup(label, tuple(group), report_run(_pooled(group)), differing)
        for label, group, differing in zip(labels, groups, differences, strict=True)
    )


def caption(groups: Sequence[RunGroup]) -> str:
    """Describe what the groups share and where they differ, in one line."""
    facts_of = [each.facts for each in groups]
    names = list(dict.fromkeys(name for each in facts_of for name in each))
    shared = [name for name in names if len({each.get(name) for each in facts_of}) == 1]
    own: dict[str, list[str]] = defaultdict(list)
    for group, known in zip(groups, facts_of, strict=True):
        own[", ".join(known[name] for name in names if name in known and name not in shared)].append(group.name)
    parts = [f"{', '.join(who)}: {what}" for what, who in own.items() if what]
    return BETWEEN.join([*(facts_of[0][name] for name in shared), *parts])


def _key(run: Run) -> tuple[dict[str, Any], str]:
    settings = {name: value for name, value in run.settings.items() if name not in FREE}
    # The folder of the lessons may differ, but not whether there are any.
    return settings | {"lessons": bool(settings.get("lessons"))}, code_of(run.info)


def _differences(settings: Sequence[dict[str, Any]]) -> list[dict[str, str]]:
    """Return, for each, the settings that differ from another's and that `facts` does not describe."""
    names = dict.fromkeys(name for each in settings for name in each if name not in (*DESCRIBED, *FREE))
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

    tasks = {name(task, run): rows for run in runs for task, rows in run.tasks.items()}
    errors = {name(task, run): error for run in runs for task, error in run.errors.items()}
    info = runs[0].info | {"errors": errors, "stopped_after": None}
    reports = [report_run(run) for run in runs]
    if any(report.stopped for report in reports) and not any(report.unfinished for report in reports):
        # Each seed ends after a trial of its own; the curve goes on to the longest.
        info["stopped_after"] = max(len(report.solved) for report in reports)
    return Run(runs[0].folder, info, tasks)
