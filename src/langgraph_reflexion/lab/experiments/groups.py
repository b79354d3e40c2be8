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
    "environment",
    "split",
    "options",
    "model",
    "reflection_model",
    "actor",
    "profile",
    "evaluator",
    "strategy",
    "prices",
    "base_url",
    "imported",
    "memory_map",
    "lessons",
    "recall",
    "frozen",
)
"""Settings that `facts` describes, or that affect nothing but money."""

FREE = frozenset(["seed", "database", "checkpoints", *RunSettings.resumable("free")])
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
        seeds = ", ".join(printable(str(run.settings["seed"])) for run in self.runs)
        shown["seed"] = f"seed {seeds}"
        if len(self.runs) > 1:
            shown["seed"] = f"seeds {seeds}"
        shown["code"] = code_of(self.runs[0].info)
        return shown

    def trials(self) -> dict[TaskSeed, list[TrialRow]]:
        """Return the trials of every task and seed in order; an empty list if there is none yet."""
        found: dict[TaskSeed, list[TrialRow]] = {}
        for run in self.runs:
            seed = run.settings["seed"]
            for task, rows in run.tasks.items():
                found[task, seed] = rows
        return found

    def seen(self) -> set[TaskSeed]:
        """Return the tasks from which lessons had been learned before the run began."""
        found: set[TaskSeed] = set()
        for run in self.runs:
            seed = run.settings["seed"]
            found.update((task, seed) for task in run.info.get("seen", []))
        return found

    @property
    def unknown(self) -> int:
        """Number of answered tasks whose truth is unknown."""
        answers = [final_answer(rows) for rows in self.trials().values() if rows]
        unknown = [answer for answer in answers if _truth_is_unknown(answer)]
        return len(unknown)

    def intervals(self) -> list[Interval | None]:
        """Return, for each trial, the 95% interval of the share of solved tasks."""
        trials = len(self.report.solved)
        # Whether each seed has solved a task, by task, for each trial.
        solved: list[dict[str, list[bool]]] = [defaultdict(list) for _ in range(trials)]
        for run in self.runs:
            answers_of = answers_by_trial(run.tasks.values(), trials)
            for tasks, answers in zip(solved, answers_of, strict=True):
                right = {row["task_id"]: bool(row["success"]) for row in answers}
                for task in run.gradable:
                    tasks[task].append(right.get(task, False))
        return [interval(tasks) for tasks in solved]

    def by_seed(self) -> list[SeedStats]:
        """Return, for each trial that all runs have reached, the statistics over seeds."""
        curves = []
        for run in self.runs:
            report = report_run(run)
            curves.append([report.share(solved) for solved in report.solved])
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
    name = name or _strategy
    together = _alike(runs)
    labels = [printable(name(group[0])) for group in together]
    if len(together) > 1:
        labels = [f"{_letters(number)} {label}" for number, label in enumerate(labels)]
    differences = _differences([group[0].settings for group in together])
    groups = []
    for label, group, differing in zip(labels, together, differences, strict=True):
        report = report_run(_pooled(group))
        groups.append(RunGroup(label, tuple(group), report, differing))
    return tuple(groups)


def _strategy(run: Run) -> str:
    return str(run.settings["strategy"])


def _letters(number: int) -> str:
    """Return the letter of a group: A, B, ...; after Z they are doubled."""
    return ascii_uppercase[number % 26] * (number // 26 + 1)


def _alike(runs: Sequence[Run]) -> list[list[Run]]:
    """Return the runs in groups that differ only in their seed, which is another one for each run of a group."""
    groups: list[list[Run]] = []
    for run in runs:
        for group in groups:
            seeds = [other.settings["seed"] for other in group]
            if _key(group[0]) == _key(run) and run.settings["seed"] not in seeds:
                group.append(run)
                break
        else:
            groups.append([run])
    return groups


def caption(groups: Sequence[RunGroup]) -> str:
    """Describe what the groups share and where they differ, in one line."""
    facts_of = [each.facts for each in groups]
    names: dict[str, None] = {}
    for known in facts_of:
        names.update(dict.fromkeys(known))
    first = facts_of[0]
    shared = [name for name in names if all(known.get(name) == first.get(name) for known in facts_of)]
    groups_by_own: dict[str, list[str]] = defaultdict(list)
    for group, known in zip(groups, facts_of, strict=True):
        own = [known[name] for name in names if name in known and name not in shared]
        groups_by_own[", ".join(own)].append(group.name)
    parts = [first[name] for name in shared]
    for own_facts, who in groups_by_own.items():
        if own_facts:
            parts.append(f"{', '.join(who)}: {own_facts}")
    return BETWEEN.join(parts)


def _key(run: Run) -> tuple[dict[str, Any], str]:
    """Return what runs of one group have in common."""
    settings = {name: value for name, value in run.settings.items() if name not in FREE}
    # The folder of the lessons may differ, but not whether there are any.
    settings["lessons"] = bool(settings.get("lessons"))
    return settings, code_of(run.info)


def _differences(settings: Sequence[dict[str, Any]]) -> list[dict[str, str]]:
    """Return, for each, the settings that differ from another's and that `facts` does not describe."""
    names: dict[str, None] = {}
    for each in settings:
        names.update(dict.fromkeys(each))
    first = settings[0]
    differing = []
    for name in names:
        if name in DESCRIBED or name in FREE:
            continue
        if any(each.get(name) != first.get(name) for each in settings):
            differing.append(name)
    return [_in_words({name: each[name] for name in differing if name in each}) for each in settings]


def _in_words(settings: dict[str, Any]) -> dict[str, str]:
    """Return settings as texts for a reader, by name."""
    return {name: printable(f"{name.replace('_', ' ')} {value}") for name, value in settings.items()}


def _truth_is_unknown(answer: TrialRow) -> bool:
    """Return whether nobody knows if an answer is right, though it could be graded and was not cut short."""
    cut_short = answer["stop_reason"] in ("fault", "budget")
    return answer["success"] is None and answer.get("gradable", True) and not cut_short


def _pooled(runs: Sequence[Run]) -> Run:
    """Return the runs as one that has every task once for each seed."""
    if len(runs) == 1:
        return runs[0]
    tasks: dict[str, list[TrialRow]] = {}
    errors: dict[str, str] = {}
    for run in runs:
        seed = run.settings["seed"]
        tasks.update({f"{task} (seed {seed})": rows for task, rows in run.tasks.items()})
        errors.update({f"{task} (seed {seed})": error for task, error in run.errors.items()})
    info = runs[0].info | {"errors": errors, "stopped_after": None}
    reports = [report_run(run) for run in runs]
    unfinished = any(report.unfinished for report in reports)
    stopped = any(report.stopped for report in reports)
    if stopped and not unfinished:
        # Each seed ends after a trial of its own; the curve goes on to the longest.
        info["stopped_after"] = max(len(report.solved) for report in reports)
    return Run(runs[0].folder, info, tasks)
